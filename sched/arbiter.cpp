// SPDX-License-Identifier: MIT
// What the arbiter is told. What it decides is in arbiter_decide.cpp.
#include "sched/arbiter.hpp"

#include <algorithm>

namespace lull::sched {

namespace {

/// The gate's name for our own RT and BE requests: for the IDLE class they are foreground too. No
/// cgroup has it (the kernel's ids begin with 1).
constexpr std::uint64_t kOwnCgroup = 0;

}  // namespace

Arbiter::Arbiter(const ArbiterSettings& settings) : settings_(settings), gate_(settings.gate) {
    gate_.disk_changed(settings_.disk);
}

GroupId Arbiter::add_group(GroupId parent, Weight weight) {
    return tree_.add_group(parent, weight);
}

void Arbiter::remove_group(GroupId group) {
    tree_.remove(group);
}

QueueId Arbiter::add_queue(const QueueOptions& options) {
    const Nanoseconds base = options.async ? settings_.base_slice_async : settings_.base_slice;
    const bool idle = options.io_class == IoClass::kIdle;
    const int level = idle ? kDefaultLevel : options.level;
    const QueueId queue = tree_.add_queue(
        options.group,
        {options.io_class, options.weight.value_or(level_weight(settings_.level_law, level)),
         level_slice(level, base), options.async ? Workload::kAsync : Workload::kSequential});
    if (queue >= queues_.size()) {
        queues_.resize(std::max<std::size_t>(queue + std::size_t{1}, queues_.size() * 2));
    }
    Queue& made = at(queue);
    made = {};
    made.used = true;
    made.level = static_cast<std::int8_t>(level);
    made.async = options.async;
    made.own_weight = options.weight.has_value();
    return queue;
}

void Arbiter::remove_queue(QueueId queue, Nanoseconds now) {
    no_work(queue, now);
    if (turn_ && turn_->queue == queue) {
        end_turn(now);
    }
    if (idle_turn_ == queue) {
        idle_turn_.reset();
    }
    at(queue).removed = true;
    free_if_gone(queue);
}

void Arbiter::free_if_gone(QueueId queue) {
    if (at(queue).removed && at(queue).in_flight == 0) {
        at(queue).used = false;
        tree_.remove(queue);
    }
}

bool Arbiter::has_queue(QueueId queue) const {
    return queue < queues_.size() && at(queue).used && !at(queue).removed;
}

const QueueCounters& Arbiter::counters(QueueId queue) const {
    return at(queue).counters;
}

void Arbiter::set_priority(QueueId queue, IoClass io_class, int level, Nanoseconds now) {
    if (turn_ && turn_->queue == queue) {
        end_turn(now);
    }
    if (idle_turn_ == queue) {
        idle_turn_.reset();
    }
    Queue& changed = at(queue);
    changed.level = static_cast<std::int8_t>(io_class == IoClass::kIdle ? kDefaultLevel : level);
    tree_.set_class(queue, io_class);
    tree_.set_slice(queue, level_slice(changed.level, changed.async ? settings_.base_slice_async
                                                                    : settings_.base_slice));
    if (!changed.own_weight) {
        tree_.set_weight(queue, level_weight(settings_.level_law, changed.level));
    }
    place(queue);
    if (changed.has_work) {
        contest(queue, now);
    }
}

void Arbiter::set_weight(EntityId entity, Weight weight) {
    if (entity < queues_.size() && at(entity).used) {
        at(entity).own_weight = true;
    }
    tree_.set_weight(entity, weight);
}

/// Where the queue's next request lies counts only while it is one that may cooperate.
void Arbiter::place(QueueId queue) {
    const Queue& placed = at(queue);
    if (placed.has_work && placed.work.placed && settings_.disk.seeks &&
        tree_.io_class(queue) != IoClass::kIdle && tree_.workload(queue) == Workload::kSequential) {
        near_.set(queue, placed.work.sector);
    } else {
        near_.clear(queue);
    }
}

void Arbiter::settle_workload(QueueId queue) {
    const Queue& settled = at(queue);
    const Workload workload = settled.async                  ? Workload::kAsync
                              : settled.seekiness.is_seeky() ? Workload::kSeeky
                                                             : Workload::kSequential;
    if (workload != tree_.workload(queue)) {
        tree_.set_workload(queue, workload);
    }
}

void Arbiter::has_work(QueueId queue, const Work& work, Nanoseconds now) {
    Queue& busy = at(queue);
    if (busy.removed) {
        return;
    }
    const bool woken = !busy.has_work;
    busy.work = work;
    busy.has_work = true;
    if (woken) {
        busy.waits_since = now;
        if (busy.in_flight == 0 && busy.last_done >= 0) {
            busy.think.add(now - busy.last_done, settings_.queue_window);
        }
        if (work.placed && busy.counters.dispatched > 0) {
            busy.seekiness.add(settings_.disk.seeks, busy.end, work.sector, work.sectors);
            settle_workload(queue);
        }
    }
    place(queue);
    if (!tree_.active(queue)) {
        tree_.activate(queue);
    }
    contest(queue, now);
}

void Arbiter::no_work(QueueId queue, Nanoseconds now) {
    Queue& empty = at(queue);
    empty.has_work = false;
    near_.clear(queue);
    if (turn_ && turn_->queue == queue) {
        // Nobody waits for what was taken back.
        if (empty.in_flight == 0) {
            end_turn(now);
        }
    } else if (tree_.active(queue)) {
        tree_.deactivate(queue);
    }
}

void Arbiter::done(QueueId queue, const Done& done, Nanoseconds now) {
    if (queue >= queues_.size() || at(queue).in_flight == 0) {
        return;
    }
    Queue& served = at(queue);
    const std::size_t as = class_index(done.io_class);
    --served.in_flight;
    --in_flight_[as];
    counters_.service[as] += done.service;
    served.last_done = now;
    served.end = head_ = done.sector + done.sectors;
    const bool in_turn = turn_ && turn_->queue == queue;
    // The first request of a turn pays for the seek to the queue's place; the others tell what a
    // request takes.
    if (!in_turn || turn_->done++ > 0) {
        constexpr Nanoseconds kShare = 8;
        served.mean_service +=
            served.mean_service == 0 ? done.service : (done.service - served.mean_service) / kShare;
    }
    if (done.io_class == IoClass::kIdle) {
        gate_.background_done(done.sectors, done.service, now);
        charge(queue, done.service);
        idle_used_ += done.service;
    } else {
        gate_.foreground_completed(own_io(done.sector, done.sectors), now);
    }
    free_if_gone(queue);
}

void Arbiter::charge(QueueId queue, Nanoseconds disk_time) {
    tree_.charge(queue, disk_time);
    at(queue).counters.disk_time += disk_time;
}

ForegroundIo Arbiter::own_io(Sector sector, std::uint32_t sectors) const {
    return {kOwnCgroup, 0, sector, sectors, ForegroundIo::Kind::kRead};
}

void Arbiter::foreground_arrived(const ForegroundIo& io, Nanoseconds now) {
    gate_.foreground_arrived(io, now);
}

void Arbiter::foreground_completed(const ForegroundIo& io, Nanoseconds now) {
    gate_.foreground_completed(io, now);
}

void Arbiter::foreground_lost(std::uint32_t in_flight, Nanoseconds now) {
    gate_.foreground_lost(in_flight + in_flight_[class_index(IoClass::kRealtime)] +
                              in_flight_[class_index(IoClass::kBestEffort)],
                          now);
}

void Arbiter::disk_changed(const DiskTraits& disk, Nanoseconds now) {
    if (turn_) {
        end_turn(now);
    }
    idle_turn_.reset();
    settings_.disk = disk;
    gate_.disk_changed(disk);
    for (QueueId queue = 0; queue < queues_.size(); ++queue) {
        if (at(queue).used) {
            place(queue);
        }
    }
}

}  // namespace lull::sched
