// SPDX-License-Identifier: MIT
#include "tests/sim/kernel_rules.hpp"

#include <algorithm>

namespace lull::sim {

void KernelRule::completed(const Io& io, Nanoseconds /*service*/, Nanoseconds now) {
    if (io.background) {
        --background_in_flight_;
        return;
    }
    --foreground_in_flight_;
    foreground_done(io, now);
}

void DeadlineRule::arrived(const Io& io, Nanoseconds /*now*/) {
    queue_.push_back(io.id);
}

Action DeadlineRule::next(const Background& /*background*/, Nanoseconds now) {
    if (!queue_.empty()) {
        const std::uint64_t id = queue_.front();
        queue_.pop_front();
        return send_foreground(id);
    }
    constexpr Nanoseconds kAgingExpire = 10 * kSecond;
    const bool old = now - last_background_ >= kAgingExpire;
    if ((foreground_in_flight() > 0 && !old) || background_in_flight() >= kBacklog) {
        return Action::nothing();
    }
    last_background_ = now;
    return send_background();
}

namespace {

constexpr Nanoseconds kSliceIdle = 8 * kMillisecond;  // both CFQ and BFQ

bool is_noidle(const Io& io) {
    return io.kind != IoKind::kRead;
}

}  // namespace

void BfqRule::arrived(const Io& io, Nanoseconds /*now*/) {
    queue_.push_back({io.id, io.task, !is_noidle(io)});
}

void BfqRule::exited(std::uint32_t task, Nanoseconds /*now*/) {
    if (in_service_ == task) {
        in_service_.reset();
        idle_until_ = 0;
    }
}

void BfqRule::foreground_done(const Io& io, Nanoseconds now) {
    if (in_service_ != io.task) {
        return;
    }
    --in_flight_;
    if (in_flight_ == 0 && idles_) {
        idle_until_ = now + kSliceIdle;
    }
}

Action BfqRule::next(const Background& /*background*/, Nanoseconds now) {
    constexpr Nanoseconds kIdleTimeout = 200 * kMillisecond;
    constexpr Nanoseconds kTimeoutSync = 124 * kMillisecond;
    if (!queue_.empty()) {
        const Waiting first = queue_.front();
        const bool chooses = in_service_ != first.task || now - chosen_at_ >= kTimeoutSync;
        if (chooses && now - last_background_ >= kIdleTimeout && background_in_flight() == 0) {
            last_background_ = now;
            return send_background();
        }
        if (chooses) {
            chosen_at_ = now;
            in_flight_ = in_service_ == first.task ? in_flight_ : 0;
        }
        in_service_ = first.task;
        idles_ = first.idles;
        ++in_flight_;
        queue_.pop_front();
        return send_foreground(first.id);
    }
    if (in_service_ && idles_ && in_flight_ > 0) {
        return Action::nothing();
    }
    if (in_service_ && now < idle_until_) {
        return Action::wake(idle_until_);
    }
    in_service_.reset();
    if (background_in_flight() >= kBacklog) {
        return Action::nothing();
    }
    last_background_ = now;
    return send_background();
}

bool CfqRule::should_idle(const Queue& queue) const {
    if (queue.idle_window && rotational_) {
        return true;
    }
    // The last of its tree: no other queue of its kind has work.
    return std::none_of(order_.begin(), order_.end(), [&](Task task) {
        return queues_.at(task).idle_window == queue.idle_window;
    });
}

/// What a request that arrives tells of its queue: think time, seekiness, and from both the flag.
void CfqRule::update(Queue& queue, const Io& io, Nanoseconds now) const {
    if (queue.last_done >= 0) {
        queue.think.add(now - queue.last_done, kSliceIdle);
    }
    queue.seekiness.add(rotational_, queue.end == 0 ? io.sector : queue.end, io.sector, io.sectors);
    queue.end = io.sector + io.sectors;
    if (queue.seekiness.is_seeky()) {
        queue.idle_window = false;
    } else if (queue.think.valid()) {
        queue.idle_window = queue.think.mean() <= kSliceIdle;
    }
}

bool CfqRule::preempts(const Queue& queue, const Io& io, Nanoseconds now) const {
    const Queue& current = queues_.at(*active_);
    if (slice_end_ && now >= *slice_end_) {
        return true;
    }
    if (!current.idle_window && !queue.idle_window && current.waiting.empty()) {
        return true;
    }
    if (io.metadata && current.metadata_waiting == 0) {
        return true;
    }
    const bool waits = now < idle_until_;
    constexpr std::uint64_t kClose = 8192;
    const std::uint64_t distance = io.sector > head_ ? io.sector - head_ : head_ - io.sector;
    return waits && distance <= kClose;
}

void CfqRule::arrived(const Io& io, Nanoseconds now) {
    Queue& queue = queues_[io.task];
    update(queue, io, now);
    if (queue.waiting.empty() && active_ != io.task) {
        order_.push_back(io.task);
    }
    queue.waiting.push_back(io.id);
    queue.metadata_waiting += io.metadata ? 1 : 0;
    metadata_[io.id] = io.metadata;
    if (active_ && *active_ != io.task && preempts(queue, io, now)) {
        expire();
        order_.remove(io.task);
        order_.push_front(io.task);
    }
}

void CfqRule::exited(std::uint32_t task, Nanoseconds /*now*/) {
    if (active_ == task) {
        expire();
    }
    queues_.erase(task);
}

void CfqRule::expire() {
    if (!queues_.at(*active_).waiting.empty()) {
        order_.push_back(*active_);
    }
    active_.reset();
    idle_until_ = 0;
}

void CfqRule::foreground_done(const Io& io, Nanoseconds now) {
    head_ = io.sector + io.sectors;
    Queue& queue = queues_.at(io.task);
    --queue.in_flight;
    queue.last_done = now;
    if (active_ != io.task) {
        return;
    }
    constexpr Nanoseconds kSlice = 100 * kMillisecond;
    if (!slice_end_) {
        slice_end_ = now + kSlice;
    }
    if (now >= *slice_end_) {
        expire();
        return;
    }
    const bool long_thinker = queue.think.valid() && *slice_end_ - now < queue.think.mean();
    if (rotational_ && queue.waiting.empty() && queue.in_flight == 0 && should_idle(queue) &&
        (queue.idle_window || !is_noidle(io)) && !long_thinker) {
        idle_until_ = now + kSliceIdle;
    }
}

Action CfqRule::next(const Background& /*background*/, Nanoseconds now) {
    while (active_ || !order_.empty()) {
        if (!active_) {
            active_ = order_.front();
            order_.pop_front();
            slice_end_.reset();
            idle_until_ = 0;
        }
        Queue& queue = queues_.at(*active_);
        const bool used = slice_end_ && now >= *slice_end_;
        if (!used && !queue.waiting.empty()) {
            const std::uint64_t id = queue.waiting.front();
            queue.waiting.pop_front();
            ++queue.in_flight;
            const auto metadata = metadata_.find(id);
            queue.metadata_waiting -= metadata->second ? 1 : 0;
            metadata_.erase(metadata);
            idle_until_ = 0;
            return send_foreground(id);
        }
        if (!used && now < idle_until_) {
            return Action::wake(idle_until_);
        }
        if (!used && queue.in_flight > 0 && should_idle(queue)) {
            return Action::nothing();
        }
        expire();
    }
    if (background_in_flight() > 0) {
        return Action::nothing();
    }
    return send_background();
}

std::unique_ptr<Rule> make_kernel_rule(const std::string& name, bool rotational) {
    if (name == "cfq_2_6_35") {
        return std::make_unique<CfqRule>(rotational);
    }
    if (name == "bfq") {
        return std::make_unique<BfqRule>();
    }
    if (name == "mq_deadline") {
        return std::make_unique<DeadlineRule>();
    }
    return nullptr;
}

}  // namespace lull::sim
