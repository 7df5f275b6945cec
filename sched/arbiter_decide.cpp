// SPDX-License-Identifier: MIT
// What the arbiter decides. What it is told is in arbiter.cpp.
#include <algorithm>
#include <cstdlib>

#include "sched/arbiter.hpp"

namespace lull::sched {

namespace {

/// A queue that comes back sooner than this is waited for even if another one's request is near:
/// going there and back costs more (two short seeks and half a turn of the disk).
constexpr Nanoseconds kQuickThink = 2 * kMillisecond;

constexpr std::uint32_t kFlashDepth = 32;

Decision wake(Nanoseconds at) {
    return {at == kNever ? Decision::Kind::kNothing : Decision::Kind::kWake, {}, {}, 0, at};
}

}  // namespace

std::uint32_t Arbiter::depth_of(IoClass io_class) const {
    if (io_class == IoClass::kIdle) {
        return std::max(gate_.idle_depth(), 1U);
    }
    if (settings_.max_depth > 0) {
        return settings_.max_depth;
    }
    return settings_.disk.seeks ? 1 : kFlashDepth;
}

bool Arbiter::full(IoClass io_class) const {
    return in_flight_[class_index(io_class)] >= depth_of(io_class);
}

bool Arbiter::above_idle_in_flight() const {
    return in_flight_[class_index(IoClass::kRealtime)] +
               in_flight_[class_index(IoClass::kBestEffort)] >
           0;
}

bool Arbiter::others_wait(QueueId queue) const {
    const IoClass io_class = tree_.io_class(queue);
    return tree_.active_queues(io_class) > (tree_.active(queue) ? 1U : 0U) ||
           (io_class == IoClass::kBestEffort && tree_.busy(IoClass::kRealtime)) ||
           (io_class == IoClass::kRealtime && tree_.busy(IoClass::kBestEffort));
}

/// Whether an empty queue in service is worth waiting for (CFQ's should_idle). Seeky queues are
/// served as one batch: only the last of them is waited for, so that the batch keeps its place.
bool Arbiter::may_wait(QueueId queue) const {
    const Queue& empty = at(queue);
    if (settings_.queue_window == 0 || empty.async || empty.removed || empty.last_done < 0 ||
        (empty.think.valid() && empty.think.mean() > settings_.queue_window)) {
        return false;
    }
    return tree_.workload(queue) != Workload::kSeeky ||
           tree_.active_queues(tree_.io_class(queue), Workload::kSeeky) <= 1;
}

Nanoseconds Arbiter::waits_until() const {
    return at(turn_->queue).last_done + settings_.queue_window;
}

/// The queue that may be served in place of `queue` without a seek. It must not be ahead of its
/// share by more than a slice, or two queues side by side would keep the disk for ever.
std::optional<QueueId> Arbiter::cooperator(QueueId queue) const {
    if (tree_.workload(queue) != Workload::kSequential) {
        return {};
    }
    return near_.find(head_, [&](QueueId other) {
        return other != queue && tree_.io_class(other) == tree_.io_class(queue) &&
               tree_.group(other) == tree_.group(queue) && tree_.lead(other) <= tree_.slice(other);
    });
}

void Arbiter::begin_turn(QueueId queue, Nanoseconds now) {
    turn_ = Turn{queue, now, now + tree_.slice(queue) - at(queue).overrun, 0, 0};
    ++counters_.turns;
}

/// Charges the queue in service for the time in which the disk was kept for it. While the window
/// slid nobody else wanted the disk, so that time costs it nothing.
void Arbiter::end_turn(Nanoseconds now) {
    const Turn turn = *turn_;
    turn_.reset();
    Queue& queue = at(turn.queue);
    Nanoseconds end = now;
    if (!queue.has_work && queue.in_flight == 0 && queue.last_done >= turn.begun) {
        end = std::min(now, queue.last_done + settings_.queue_window);
    }
    const Nanoseconds used = std::max<Nanoseconds>(end - turn.begun, 0);
    queue.counters.disk_time += used;
    // Slices that differ by less than a request would shuffle the order of the queues in each
    // round, and double the longest wait. So a slice of about the right length is charged as a
    // whole one, and what it was too long or too short is made good in the next.
    const Nanoseconds slice = tree_.slice(turn.queue);
    const Nanoseconds owed = used + queue.overrun;
    constexpr Nanoseconds kPart = 16;
    const bool whole = std::abs(owed - slice) <= slice / kPart;
    queue.overrun = whole ? owed - slice : 0;
    tree_.charge(turn.queue, whole ? slice : std::max<Nanoseconds>(owed, 0));
    if (!queue.has_work && tree_.active(turn.queue)) {
        tree_.deactivate(turn.queue);
    }
}

Arbiter::Next Arbiter::next_of_turn(Nanoseconds now) const {
    const Queue& queue = at(turn_->queue);
    if (queue.has_work) {
        // A slice ends where it is nearest to its length in whole requests.
        if (turn_->dispatched > 0 && now + queue.mean_service / 2 >= turn_->end) {
            return Next::kOver;
        }
        return full(tree_.io_class(turn_->queue)) ? Next::kInFlight : Next::kServe;
    }
    if (queue.in_flight > 0) {
        return Next::kInFlight;
    }
    if (!may_wait(turn_->queue)) {
        return Next::kOver;
    }
    const bool quick = queue.think.valid() && queue.think.mean() <= kQuickThink;
    if (!quick && cooperator(turn_->queue)) {
        return Next::kOver;
    }
    // Also when the slice is used up: a queue that leaves the tree in the moment between two
    // requests would lose its place in it, and with it a part of its share (Goyal 2012).
    if (now < waits_until()) {
        return Next::kAwait;
    }
    return others_wait(turn_->queue) ? Next::kOver : Next::kSlide;
}

void Arbiter::contest(QueueId queue, Nanoseconds now) {
    if (!turn_ || turn_->queue == queue || !settings_.disk.seeks) {
        return;
    }
    const QueueId current = turn_->queue;
    const Queue& serving = at(current);
    const Queue& asking = at(queue);
    Contest facts;
    facts.new_class = tree_.io_class(queue);
    facts.current_class = tree_.io_class(current);
    facts.new_sync = !asking.async;
    facts.current_sync = !serving.async;
    facts.within_group = tree_.is_ancestor_or_same(tree_.group(queue), tree_.group(current));
    facts.slice_used = turn_->dispatched > 0 && now >= turn_->end;
    facts.both_seeky =
        tree_.workload(queue) == Workload::kSeeky && tree_.workload(current) == Workload::kSeeky;
    facts.current_empty = !serving.has_work && serving.in_flight == 0;
    facts.new_metadata = asking.work.metadata;
    facts.current_metadata = serving.has_work && serving.work.metadata;
    facts.current_worth_waiting = may_wait(current);
    facts.current_awaited = facts.current_empty && may_wait(current) && now < waits_until();
    facts.near = asking.work.placed &&
                 (asking.work.sector > head_ ? asking.work.sector - head_
                                             : head_ - asking.work.sector) <= NearIndex::kNear;
    if (!preempts(contest_verdict(facts))) {
        return;
    }
    ++counters_.preemptions;
    end_turn(now);
    tree_.to_front(queue);
}

Decision Arbiter::dispatch(QueueId queue, Nanoseconds longest, Nanoseconds now) {
    Queue& served = at(queue);
    const IoClass io_class = tree_.io_class(queue);
    const std::size_t as = class_index(io_class);
    served.has_work = false;
    ++served.in_flight;
    ++in_flight_[as];
    ++served.counters.dispatched;
    ++counters_.dispatched[as];
    near_.clear(queue);
    if (turn_ && turn_->queue == queue) {
        ++turn_->dispatched;
    } else {
        tree_.deactivate(queue);
    }
    if (io_class == IoClass::kIdle) {
        gate_.background_sent(now);
    } else {
        gate_.foreground_arrived(own_io(served.work.sector, served.work.sectors), now);
    }
    return {Decision::Kind::kDispatch, queue, io_class, longest, now};
}

Decision Arbiter::decide(Nanoseconds now) {
    const Nanoseconds starves_at = idle_starves_at();
    if (now >= starves_at) {
        ++counters_.starved;
        if (turn_) {
            end_turn(now);
        }
        return dispatch(*idle_queue(), settings_.disk.random_service, now);
    }
    Decision decision = settings_.disk.seeks ? decide_by_turns(now) : decide_by_requests(now);
    if (decision.kind != Decision::Kind::kDispatch && starves_at != kNever) {
        decision = wake(decision.kind == Decision::Kind::kWake ? std::min(decision.at, starves_at)
                                                               : starves_at);
    }
    return decision;
}

/// When the IDLE queue that is next has waited for too long; kNever without such a policy, and
/// while the class holds all the requests that it may.
Nanoseconds Arbiter::idle_starves_at() {
    if (settings_.starvation_age == kNever || full(IoClass::kIdle)) {
        return kNever;
    }
    const auto queue = idle_queue();
    return queue ? at(*queue).waits_since + settings_.starvation_age : kNever;
}

Decision Arbiter::decide_by_turns(Nanoseconds now) {
    for (;;) {
        std::optional<QueueId> near;
        if (turn_) {
            const QueueId queue = turn_->queue;
            switch (next_of_turn(now)) {
                case Next::kServe:
                    return dispatch(queue, std::max(turn_->end - now, at(queue).mean_service + 1),
                                    now);
                case Next::kInFlight:
                    return {};
                case Next::kAwait:
                    return wake(others_wait(queue) || tree_.busy(IoClass::kIdle) ? waits_until()
                                                                                 : kNever);
                case Next::kSlide:
                    return decide_idle(now);
                case Next::kOver:
                    near = cooperator(queue);
                    end_turn(now);
                    break;
            }
        }
        const IoClass io_class =
            tree_.busy(IoClass::kRealtime) ? IoClass::kRealtime : IoClass::kBestEffort;
        if (!tree_.busy(io_class)) {
            return decide_idle(now);
        }
        if (full(io_class)) {
            return {};
        }
        if (near && tree_.io_class(*near) == io_class) {
            ++counters_.cooperations;
            tree_.to_front(*near);
        }
        begin_turn(*tree_.next(io_class), now);
    }
}

/// On a disk that does not seek there is nothing to gain from serving one queue for long: each
/// request is a turn, charged by its size when it is sent, since those in flight overlap.
Decision Arbiter::decide_by_requests(Nanoseconds now) {
    for (const IoClass io_class : {IoClass::kRealtime, IoClass::kBestEffort}) {
        if (!tree_.busy(io_class)) {
            continue;
        }
        if (full(io_class)) {
            return {};
        }
        const QueueId queue = *tree_.next(io_class);
        charge(queue, cost_of(at(queue).work));
        ++counters_.turns;
        return dispatch(queue, tree_.slice(queue), now);
    }
    return decide_idle(now);
}

Nanoseconds Arbiter::cost_of(const Work& work) const {
    return settings_.disk.random_service +
           static_cast<Nanoseconds>(settings_.disk.ns_per_sector * work.sectors);
}

/// The IDLE queue whose slice it is. The class goes when there is time, so its slices are counted
/// in service, not by the clock.
std::optional<QueueId> Arbiter::idle_queue() {
    if (idle_turn_ && (idle_used_ >= tree_.slice(*idle_turn_) || !at(*idle_turn_).has_work)) {
        idle_turn_.reset();
    }
    if (!idle_turn_ && tree_.busy(IoClass::kIdle)) {
        idle_turn_ = tree_.next(IoClass::kIdle);
        idle_used_ = 0;
    }
    return idle_turn_;
}

Decision Arbiter::decide_idle(Nanoseconds now) {
    if (full(IoClass::kIdle) || above_idle_in_flight()) {
        return {};
    }
    const auto queue = idle_queue();
    if (!queue) {
        return {};
    }
    const Work& work = at(*queue).work;
    const auto permission = gate_.ask({work.placed, work.sector, work.sectors}, now);
    if (permission.longest == 0) {
        return wake(permission.ask_again);
    }
    if (turn_) {
        end_turn(now);
    }
    return dispatch(*queue, permission.longest, now);
}

}  // namespace lull::sched
