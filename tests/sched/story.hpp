// SPDX-License-Identifier: MIT
// Tells an arbiter a story and checks its decisions: time passes by tick(), nothing else moves it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "sched/arbiter.hpp"

namespace lull::sched {

inline constexpr Nanoseconds kMs = kMillisecond;
inline constexpr Sector kApart = 10'000'000;  ///< far enough for a long seek (5 GB)

/// A disk that seeks: 10 ms for a random request, 100 MB/s.
inline DiskTraits seeking_disk() {
    return {true, 10 * kMs, 5120.0, 1};
}
/// A disk that does not: 100 us and 500 MB/s.
inline DiskTraits flash_disk() {
    return {false, 100 * kMicrosecond, 1024.0, 2};
}

/// Settings in which the gate leaves the IDLE class to the rules of the classes alone.
inline ArbiterSettings open_gate() {
    ArbiterSettings settings;
    settings.disk = seeking_disk();
    settings.gate.rule = GateRule::kOpen;
    return settings;
}

class Story {
  public:
    explicit Story(const ArbiterSettings& settings = open_gate()) : arbiter(settings) {}

    void tick(Nanoseconds time) { now += time; }

    QueueId add(IoClass io_class, int level = 4, GroupId group = ServiceTree::kRoot) {
        QueueOptions options;
        options.io_class = io_class;
        options.level = level;
        options.group = group;
        return arbiter.add_queue(options);
    }
    QueueId best_effort(int level = 4, GroupId group = ServiceTree::kRoot) {
        return add(IoClass::kBestEffort, level, group);
    }
    QueueId async() {
        QueueOptions options;
        options.async = true;
        return arbiter.add_queue(options);
    }

    /// The queue's next request follows its last one, the first lies where nobody else's is.
    void busy(QueueId queue) {
        const auto [place, fresh] = places_.try_emplace(queue, (queue + 1) * kApart);
        busy_at(queue, place->second);
    }
    void busy_at(QueueId queue, Sector sector, bool metadata = false) {
        places_[queue] = sector;
        Work work;
        work.sector = sector;
        work.sectors = kSectors;
        work.metadata = metadata;
        arbiter.has_work(queue, work, now);
    }

    /// What the arbiter wants now. A dispatched queue offers no further request by itself.
    Decision decide() {
        const Decision decision = arbiter.decide(now);
        if (decision.kind == Decision::Kind::kDispatch) {
            classes_[decision.queue] = decision.io_class;
        }
        return decision;
    }
    /// The queue that is dispatched now, if one is.
    std::optional<QueueId> dispatched() {
        const Decision decision = decide();
        if (decision.kind != Decision::Kind::kDispatch) {
            return {};
        }
        return decision.queue;
    }
    /// The time from now at which the arbiter wants to be asked again, if at all.
    std::optional<Nanoseconds> wakes_in() {
        const Decision decision = decide();
        if (decision.kind != Decision::Kind::kWake) {
            return {};
        }
        return decision.at - now;
    }
    bool nothing() { return decide().kind == Decision::Kind::kNothing; }

    /// Its request completes after `service` from now.
    void finish(QueueId queue, Nanoseconds service) {
        tick(service);
        Done done;
        done.sector = places_[queue];
        done.sectors = kSectors;
        done.service = service;
        done.io_class = classes_[queue];
        places_[queue] += kSectors;
        arbiter.done(queue, done, now);
    }
    /// Dispatches the queue's request, which must be the one that is due, and completes it.
    void serve(QueueId queue, Nanoseconds service) {
        ASSERT_EQ(dispatched(), queue) << "at " << now / kMs << " ms";
        finish(queue, service);
    }
    /// Serves the queue, busy without a pause, for as long as it is its turn; the time of it.
    Nanoseconds serve_turn(QueueId queue, Nanoseconds service) {
        const Nanoseconds begun = now;
        while (true) {
            const auto next = dispatched();
            if (next != queue) {
                waiting_ = next;
                return now - begun;
            }
            finish(queue, service);
            busy(queue);
        }
    }
    /// The queue that ended the last serve_turn(): it is in flight.
    std::optional<QueueId> waiting() const { return waiting_; }

    Arbiter arbiter;
    Nanoseconds now = 0;

  private:
    static constexpr std::uint32_t kSectors = 256;
    std::map<QueueId, Sector> places_;
    std::map<QueueId, IoClass> classes_;
    std::optional<QueueId> waiting_;
};

}  // namespace lull::sched
