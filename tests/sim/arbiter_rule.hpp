// SPDX-License-Identifier: MIT
// The real arbiter of sched/, with the background as its one client: an IDLE queue.
#pragma once

#include <deque>
#include <optional>

#include "sched/arbiter.hpp"
#include "tests/sim/rule.hpp"
#include "tests/sim/simulator.hpp"

namespace lull::sim {

/// What a user of the arbiter would have measured of this disk: a random read of 4 KiB, the rate.
/// The depths are those of facts about such disks: one where it seeks, a few on flash.
[[nodiscard]] sched::DiskTraits traits_of(const DiskOptions& disk);

/// How many sectors fit into the time that a decision allows. Knows the rate; learns from its own
/// completions what the way to a place takes.
class Sizer {
  public:
    explicit Sizer(const sched::DiskTraits& disk) : disk_(disk) {
        way_ = static_cast<double>(disk.random_service);
    }

    /// `follows`: the request begins where the one before it ended, with nothing between them.
    [[nodiscard]] std::uint32_t sectors(Nanoseconds longest, bool follows) const;
    void done(std::uint32_t sectors, Nanoseconds service, bool followed);

  private:
    sched::DiskTraits disk_;
    double way_ = 0;        ///< to a place, on the mean
    double following_ = 0;  ///< the same where there is no way
};

struct ArbiterOptions {
    sched::GateSettings gate;
    sched::DiskTraits disk;
    /// Of a background request at most.
    std::uint32_t sectors = Background::kLongest;
    /// How long the news of a foreground request is on its way to the arbiter.
    Nanoseconds lag = 0;
};

class ArbiterRule final : public PassThrough {
  public:
    explicit ArbiterRule(const ArbiterOptions& options);

    [[nodiscard]] const sched::Arbiter& arbiter() const { return arbiter_; }

  protected:
    void foreground_arrived(const Io& io, Nanoseconds now) override;
    void foreground_completed(const Io& io, Nanoseconds now) override;
    void background_done(const Io& io, Nanoseconds service, Nanoseconds now) override;
    Action decide(const Background& background, Nanoseconds now) override;

  private:
    struct News {
        Nanoseconds at = 0;
        bool arrival = false;
        sched::ForegroundIo io;
    };
    void tell(const Io& io, bool arrival, Nanoseconds now);
    void deliver(Nanoseconds now);

    ArbiterOptions options_;
    sched::Arbiter arbiter_;
    sched::QueueId queue_ = 0;
    bool offered_ = false;  ///< the arbiter knows of a request that waits
    Sizer sizer_;
    std::uint64_t end_ = 0;      ///< of our last request
    bool undisturbed_ = false;   ///< nobody else used the disk since it was sent
    std::deque<bool> followed_;  ///< of our requests in flight
    std::deque<News> news_;
};

}  // namespace lull::sim
