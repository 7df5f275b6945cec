// SPDX-License-Identifier: MIT
#include "sched/idle_gate.hpp"

#include <algorithm>

namespace lull::sched {

namespace {

constexpr Nanoseconds kCfqGrace = 100 * kMillisecond;  // CFQ_IDLE_GRACE
constexpr Nanoseconds kCfqWindow = 8 * kMillisecond;   // slice_idle
/// Ahead of the head, within what a drive reads ahead by itself: 1 MiB.
constexpr Sector kNear = 2048;
constexpr Nanoseconds kBfqPatience = 200 * kMillisecond;  // BFQ_CL_IDLE_TIMEOUT

}  // namespace

IdleGate::IdleGate(const GateSettings& settings) : settings_(settings), learned_(settings.budget) {}

void IdleGate::disk_changed(const DiskTraits& disk) {
    disk_ = disk;
    disk_.idle_depth = std::max(disk_.idle_depth, 1U);
    learned_.disk_changed(disk_.seeks, disk_.random_service, disk_.ns_per_sector);
}

void IdleGate::foreground_arrived(const ForegroundIo& io, Nanoseconds now) {
    ++counters_.foreground;
    if (io.task != think_task_) {
        think_ = {};
        think_task_ = io.task;
    } else if (const auto& gap = foreground_.gap()) {
        think_.add(now - gap->begin, kCfqWindow);
    }
    if (in_flight_ > 0 && !met_) {
        met_ = true;
        met_at_ = now;
        ++counters_.violations;
    }
    if (const auto gap = foreground_.arrived(io, now)) {
        counters_.gaps += now - gap->begin;
        learned_.gap_ended(*gap, now - gap->begin, now);
    }
    learned_.foreground_arrived(now);
}

void IdleGate::foreground_completed(const ForegroundIo& io, Nanoseconds now) {
    foreground_.completed(io, now);
    counters_.foreground_busy = foreground_.busy();
    learned_.foreground_completed(now);
}

void IdleGate::foreground_lost(std::uint32_t in_flight, Nanoseconds now) {
    foreground_.resynchronise(in_flight, now);
}

void IdleGate::background_sent(Nanoseconds now) {
    if (in_flight_++ == 0) {
        met_ = foreground_.in_flight() > 0;
        met_at_ = now;
    }
    ++counters_.sent;
    last_sent_ = now;
    learned_.background_sent();
}

void IdleGate::background_done(std::uint32_t sectors, Nanoseconds service, Nanoseconds now) {
    if (in_flight_ == 0) {
        return;
    }
    --in_flight_;
    Nanoseconds used = service;
    if (met_) {
        const Nanoseconds rest = std::min(now - met_at_, service);
        counters_.foreground_lost += rest;
        used -= rest;
        met_ = in_flight_ > 0;
    }
    counters_.used += used;
    learned_.background_done(sectors, service, now);
}

/// CFQ waited for the task in service only, and only if it thinks for less than the window on the
/// mean; a task that has just come has no mean yet and is waited for.
Nanoseconds IdleGate::window_of_cfq() const {
    return think_.valid() && think_.mean() > kCfqWindow ? 0 : kCfqWindow;
}

Permission IdleGate::after(Nanoseconds window, Nanoseconds now) const {
    if (foreground_.in_flight() > 0) {
        return {};
    }
    const auto& gap = foreground_.gap();
    if (!gap || now - gap->begin >= window) {
        return {settings_.longest, kNever};
    }
    return {0, gap->begin + window};
}

/// Where the foreground read last there is no way to go for either of us.
bool IdleGate::is_near(const BackgroundWork& work) const {
    const auto& gap = foreground_.gap();
    if (!work.placed || !gap) {
        return false;
    }
    const Sector end = gap->last.sector + gap->last.sectors;
    return work.sector >= end ? work.sector - end <= kNear : false;
}

Permission IdleGate::ask(const BackgroundWork& next, Nanoseconds now) {
    switch (settings_.rule) {
        case GateRule::kOpen:
            return {settings_.longest, kNever};
        case GateRule::kFixed:
            return after(settings_.fixed_window, now);
        case GateRule::kGrace100:
            return after(kCfqGrace, now);
        case GateRule::kWindow8:
            return after(window_of_cfq(), now);
        case GateRule::kBfq200: {
            const Permission permission = after(window_of_cfq(), now);
            if (permission.longest == 0 && now - last_sent_ >= kBfqPatience) {
                return {settings_.longest, kNever};
            }
            return {permission.longest,
                    permission.longest > 0
                        ? kNever
                        : std::min(permission.ask_again, last_sent_ + kBfqPatience)};
        }
        case GateRule::kLearned:
            if (foreground_.in_flight() > 0) {
                return {};
            }
            return learned_.ask(foreground_.gap(), is_near(next), now);
    }
    return {};
}

}  // namespace lull::sched
