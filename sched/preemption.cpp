// SPDX-License-Identifier: MIT
#include "sched/preemption.hpp"

namespace lull::sched {

Verdict contest_verdict(const Contest& contest) {
    // Between classes, across all groups.
    if (contest.new_class == IoClass::kIdle) {
        return Verdict::kNewIsIdle;
    }
    if (contest.current_class == IoClass::kIdle) {
        return Verdict::kCurrentIsIdle;
    }
    const bool new_realtime = contest.new_class == IoClass::kRealtime;
    const bool current_realtime = contest.current_class == IoClass::kRealtime;
    if (new_realtime != current_realtime) {
        return new_realtime ? Verdict::kHigherClass : Verdict::kCurrentIsHigher;
    }
    if (contest.new_sync && !contest.current_sync) {
        return Verdict::kSyncOverAsync;
    }
    // Between queues of one class.
    if (!contest.within_group) {
        return Verdict::kOtherGroup;
    }
    if (contest.slice_used) {
        return Verdict::kSliceUsed;
    }
    if (contest.both_seeky && contest.current_empty) {
        return Verdict::kSeekyBatch;
    }
    if (contest.new_metadata && !contest.current_metadata) {
        return Verdict::kMetadata;
    }
    if (contest.current_empty && !contest.current_worth_waiting) {
        return Verdict::kNotWorthIt;
    }
    if (!contest.current_awaited) {
        return Verdict::kCurrentIsServed;
    }
    return contest.near ? Verdict::kNearRequest : Verdict::kNotNear;
}

}  // namespace lull::sched
