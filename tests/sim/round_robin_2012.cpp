// SPDX-License-Identifier: MIT
// CFQ of Linux 3.6 for synchronous sequential readers of one group, low_latency on: the rule that
// the vdisktime series of 2012 was measured against.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "tests/sim/levels.hpp"

namespace lull::sim {

namespace {

using sched::kMillisecond;
using sched::kNever;

constexpr Nanoseconds kSliceIdle = 8 * kMillisecond;
constexpr Nanoseconds kSliceSync = 100 * kMillisecond;
constexpr Nanoseconds kTargetLatency = 300 * kMillisecond;

class RoundRobin final : public ReaderRule {
  public:
    explicit RoundRobin(const std::vector<int>& levels) {
        for (const int level : levels) {
            queues_.push_back({level});
        }
    }
    void has_work(std::size_t reader, std::uint64_t /*sector*/, std::uint32_t /*sectors*/,
                  Nanoseconds now) override {
        Queue& queue = queues_[reader];
        queue.has_work = true;
        if (active_ != reader && !queue.on_tree) {
            add(queue, now);
        }
    }
    void done(std::size_t /*reader*/, std::uint64_t /*sector*/, std::uint32_t /*sectors*/,
              Nanoseconds /*service*/, Nanoseconds now) override {
        // The clock of a slice begins with the first completion.
        if (slice_end_ == kNever) {
            slice_end_ = now + scaled_slice(*active_);
        }
        last_done_ = now;
    }
    Choice choose(Nanoseconds now) override {
        if (active_) {
            Queue& queue = queues_[*active_];
            const bool used = slice_end_ != kNever && now >= slice_end_;
            if (!used && queue.has_work) {
                return send();
            }
            if (!used && now < last_done_ + kSliceIdle) {
                return {{}, std::min(last_done_ + kSliceIdle, slice_end_)};
            }
            expire(now);
        }
        std::size_t best = queues_.size();
        for (std::size_t i = 0; i < queues_.size(); ++i) {
            if (queues_[i].on_tree &&
                (best == queues_.size() || queues_[i].key < queues_[best].key)) {
                best = i;
            }
        }
        if (best == queues_.size()) {
            return {};
        }
        active_ = best;
        begun_ = now;
        queues_[best].on_tree = false;
        slice_end_ = kNever;
        return send();
    }
    [[nodiscard]] Nanoseconds disk_time(std::size_t reader) const override {
        return queues_[reader].disk_time;
    }

  private:
    struct Queue {
        int level = 0;
        bool has_work = false;
        bool on_tree = false;
        Nanoseconds key = 0;
        Nanoseconds residual = 0;
        Nanoseconds disk_time = 0;
    };

    Choice send() {
        queues_[*active_].has_work = false;
        return {active_, kNever};
    }
    /// The lower the level, the later: by 20 ms for each level and each other queue.
    void add(Queue& queue, Nanoseconds now) {
        const auto others = static_cast<Nanoseconds>(queues_.size() - 1);
        const Nanoseconds offset = others * (sched::level_slice(0, kSliceSync) -
                                             sched::level_slice(queue.level, kSliceSync));
        queue.key = now + offset - queue.residual;
        queue.residual = 0;
        queue.on_tree = true;
    }
    void expire(Nanoseconds now) {
        Queue& queue = queues_[*active_];
        queue.residual = slice_end_ == kNever ? 0 : slice_end_ - now;
        queue.disk_time += now - begun_;
        active_.reset();
        if (queue.has_work) {
            add(queue, now);
        }
    }
    /// All busy queues should have their slices within the target latency.
    [[nodiscard]] Nanoseconds scaled_slice(std::size_t reader) const {
        const Nanoseconds slice = sched::level_slice(queues_[reader].level, kSliceSync);
        const Nanoseconds expected = kSliceSync * static_cast<Nanoseconds>(queues_.size());
        if (expected <= kTargetLatency) {
            return slice;
        }
        const Nanoseconds low = std::min(slice, 2 * kSliceIdle * slice / kSliceSync);
        return std::max(slice * kTargetLatency / expected, low);
    }

    std::vector<Queue> queues_;
    std::optional<std::size_t> active_;
    Nanoseconds begun_ = 0;
    Nanoseconds slice_end_ = kNever;
    Nanoseconds last_done_ = 0;
};

}  // namespace

std::unique_ptr<ReaderRule> round_robin_2012(const std::vector<int>& levels) {
    return std::make_unique<RoundRobin>(levels);
}

}  // namespace lull::sim
