// SPDX-License-Identifier: MIT
// When the IDLE class may go: the gate is open while no foreground request is in flight and the
// idle window since the last has passed. The window comes from a rule; the learned one is lull's
// own, the others are those of the past, for comparison. sched/README.md has the reasoning.
#pragma once

#include <cstdint>

#include "sched/foreground.hpp"
#include "sched/learned_window.hpp"
#include "sched/think_time.hpp"
#include "sched/units.hpp"

namespace lull::sched {

/// What is known of the disk, by measurement.
struct DiskTraits {
    bool seeks = true;  ///< the way to a place costs time: a hard disk, a DVD
    /// A small random read, alone on the disk.
    Nanoseconds random_service = 10 * kMillisecond;
    double ns_per_sector = 5000;  ///< at full speed
    /// IDLE requests in flight at most. On a disk that seeks it should be 1.
    std::uint32_t idle_depth = 1;
};

enum class GateRule : std::uint8_t {
    kLearned,   ///< from the gaps of this foreground, within a budget of its time
    kFixed,     ///< GateSettings::fixed_window
    kGrace100,  ///< 100 ms: CFQ 2.6.13..2.6.24 (CFQ_IDLE_GRACE)
    kWindow8,   ///< 8 ms for a task that thinks shorter on the mean, else none: CFQ 2.6.25+
    kBfq200,    ///< as kWindow8, and one request each 200 ms whatever is going on: BFQ
    kOpen,      ///< always open: only our own classes count
};

struct GateSettings {
    GateRule rule = GateRule::kLearned;
    Nanoseconds fixed_window = 50 * kMillisecond;
    /// The longest request of a rule that does not bound it by itself.
    Nanoseconds longest = 100 * kMillisecond;
    /// Part of the foreground's time that it may lose by us; of the learned rule.
    double budget = 0.01;
};

struct GateCounters {
    std::uint64_t foreground = 0;  ///< requests that arrived
    std::uint64_t sent = 0;        ///< our requests
    /// Foreground arrivals that met one of ours in flight, counted once for each of ours.
    std::uint64_t violations = 0;
    /// What was left of our requests when the foreground met them: the least that it lost.
    Nanoseconds foreground_lost = 0;
    Nanoseconds foreground_busy = 0;
    Nanoseconds gaps = 0;  ///< in which the foreground had nothing in flight
    Nanoseconds used = 0;  ///< of them, by our requests
};

/// Our request that wants to go.
struct BackgroundWork {
    bool placed = false;  ///< `sector` is known
    Sector sector = 0;
    std::uint32_t sectors = 0;
};

class IdleGate {
  public:
    explicit IdleGate(const GateSettings& settings);

    void foreground_arrived(const ForegroundIo& io, Nanoseconds now);
    void foreground_completed(const ForegroundIo& io, Nanoseconds now);
    /// The watch lost events; so many are in flight now.
    void foreground_lost(std::uint32_t in_flight, Nanoseconds now);

    void background_sent(Nanoseconds now);
    /// `service`: from the sending to the completion.
    void background_done(std::uint32_t sectors, Nanoseconds service, Nanoseconds now);
    void disk_changed(const DiskTraits& disk);

    [[nodiscard]] Permission ask(const BackgroundWork& next, Nanoseconds now);

    /// IDLE requests in flight at most.
    [[nodiscard]] std::uint32_t idle_depth() const { return disk_.idle_depth; }
    [[nodiscard]] const GateCounters& counters() const { return counters_; }
    [[nodiscard]] const Foreground& foreground() const { return foreground_; }

  private:
    [[nodiscard]] Nanoseconds window_of_cfq() const;
    [[nodiscard]] Permission after(Nanoseconds window, Nanoseconds now) const;
    [[nodiscard]] bool is_near(const BackgroundWork& work) const;

    GateSettings settings_;
    DiskTraits disk_;
    Foreground foreground_;
    LearnedWindow learned_;
    /// CFQ's view: of the task that was served last, lost when another one comes.
    ThinkTime think_;
    std::uint32_t think_task_ = 0;
    Nanoseconds last_sent_ = 0;
    std::uint32_t in_flight_ = 0;
    bool met_ = false;  ///< the foreground met what is in flight
    Nanoseconds met_at_ = 0;
    GateCounters counters_;
};

}  // namespace lull::sched
