// SPDX-License-Identifier: MIT
// Whether a queue that gets a request takes the disk from the queue in service: CFQ 4.20's
// cfq_should_preempt, but with classes before groups, so that an IDLE queue is below everyone and
// RT above everyone whatever the group.
#pragma once

#include <cstdint>
#include <string_view>

#include "sched/ioprio.hpp"

namespace lull::sched {

/// The queue that asks ("new") against the one in service ("current").
struct Contest {
    IoClass new_class = IoClass::kBestEffort;
    IoClass current_class = IoClass::kBestEffort;
    bool new_sync = true;  ///< somebody waits for it
    bool current_sync = true;
    bool within_group = true;  ///< new's group is current's or above it
    bool slice_used = false;   ///< by current
    bool both_seeky = false;
    bool current_empty = false;          ///< no request, none in flight
    bool new_metadata = false;           ///< others may wait for this request
    bool current_metadata = false;       ///< ... and for one of current's
    bool current_worth_waiting = false;  ///< would be waited for when empty
    bool current_awaited = false;        ///< is being waited for
    bool near = false;                   ///< new's request lies close to the head
};

/// In the order in which they are asked; the first that fits decides. The names up to kNo are
/// those that keep the current queue.
enum class Verdict : std::uint8_t {
    kNewIsIdle,        ///< IDLE preempts nobody
    kCurrentIsHigher,  ///< RT is not preempted by what is below it
    kOtherGroup,       ///< groups take turns, they do not preempt each other
    kCurrentIsServed,  ///< nothing special, and current is not being waited for
    kNotNear,          ///< current is waited for, and the request is far
    kCurrentIsIdle,    ///< anybody preempts IDLE
    kHigherClass,      ///< RT over BE
    kSyncOverAsync,    ///< somebody waits for the request, nobody for current's
    kSliceUsed,
    kSeekyBatch,   ///< the seeky are served together
    kMetadata,     ///< others wait for it
    kNotWorthIt,   ///< current is empty and not worth waiting for
    kNearRequest,  ///< current is waited for, and the request costs no seek
};

[[nodiscard]] Verdict contest_verdict(const Contest& contest);

[[nodiscard]] constexpr bool preempts(Verdict verdict) {
    return verdict >= Verdict::kCurrentIsIdle;
}

}  // namespace lull::sched
