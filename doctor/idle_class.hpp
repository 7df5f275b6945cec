// SPDX-License-Identifier: MIT
// What the kernel's own idle class (IOPRIO_CLASS_IDLE) is worth on a disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sched/disk/block_device.hpp"
#include "sched/idle_gate.hpp"
#include "sched/units.hpp"

namespace lull::doctor {

enum class IdleWorth : std::uint8_t {
    kNothing,  ///< the scheduler does not know classes
    /// Idle requests wait for all others, each at most `longest_hold`, and so does whoever needs a
    /// page that one of them is to fill.
    kInverts,
    /// Served last, but one request each 200 ms whatever is going on.
    kLeaks,
    kUnknown,  ///< a scheduler that this lull has not heard of
};
[[nodiscard]] std::string_view to_string(IdleWorth worth);

struct IdleClass {
    IdleWorth worth = IdleWorth::kUnknown;
    /// Of kInverts: mq-deadline's prio_aging_expire; none where the kernel has no such bound.
    std::optional<sched::Nanoseconds> longest_hold;
    /// Of kLeaks: part of the disk's time that idle requests get from a busy foreground, at least.
    double leak = 0;
    std::string why;  ///< sentences for a user
};

/// `traits`: measured or assumed, for what leaks.
[[nodiscard]] IdleClass idle_class(const sched::BlockDevice& device, const sched::DiskFacts& facts,
                                   const sched::DiskTraits& traits);

}  // namespace lull::doctor
