// SPDX-License-Identifier: MIT
// What every model shares: the line before the drive, its command queue, the passing of time and
// the counters. A drive adds how it serves.
#pragma once

#include <deque>

#include "tests/disk/model.hpp"

namespace lull::disk {

class QueuedModel : public Model {
  public:
    /// `sectors`: what the host sees. `queue_depth` >= 1.
    QueuedModel(std::uint64_t sectors, std::uint32_t queue_depth);

    void submit(const Request& request, Nanoseconds now) final;
    [[nodiscard]] std::optional<Nanoseconds> next_completion() const final;
    std::vector<Completion> advance(Nanoseconds now) final;

    [[nodiscard]] const Counters& counters() const final { return counters_; }
    [[nodiscard]] std::uint64_t sectors() const final { return sectors_; }

  protected:
    struct Finished {
        Request request;
        Nanoseconds at = 0;
    };

    /// A request enters the command queue; at most queue_depth are in it.
    virtual void enter(const Request& request, Nanoseconds now) = 0;
    /// All that could enter at `now` has; begin service if there is anything to serve with.
    virtual void dispatch(Nanoseconds now) = 0;
    /// The earliest completion among the requests in the command queue that are being served.
    [[nodiscard]] virtual std::optional<Nanoseconds> earliest() const = 0;
    /// Removes that request.
    virtual Finished take_earliest() = 0;

    [[nodiscard]] Counters& mutable_counters() { return counters_; }

  private:
    void run_to(Nanoseconds now);
    void finish(const Finished& finished);

    std::uint64_t sectors_;
    std::uint32_t queue_depth_;
    std::uint32_t queued_ = 0;      ///< in the command queue
    std::deque<Request> waiting_;   ///< before it
    std::vector<Completion> done_;  ///< completed, not taken out yet
    Nanoseconds now_ = 0;           ///< the latest time seen; `busy` counts up to here
    Counters counters_;
};

}  // namespace lull::disk
