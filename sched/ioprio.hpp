// SPDX-License-Identifier: MIT
// I/O priorities: classes, levels, and the kernel's 16-bit value that holds both. Nothing here asks
// the system; the calls are in sched/ioprio_target.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lull::sched {

/// Numbers are the kernel's. RT is served before BE, and BE before IDLE. None: never set, or reset;
/// see effective_priority().
enum class IoClass { kNone = 0, kRealtime = 1, kBestEffort = 2, kIdle = 3 };

/// The names of util-linux.
[[nodiscard]] constexpr std::string_view to_string(IoClass value) {
    switch (value) {
        case IoClass::kNone:
            return "none";
        case IoClass::kRealtime:
            return "realtime";
        case IoClass::kBestEffort:
            return "best-effort";
        case IoClass::kIdle:
            return "idle";
    }
    return "unknown";
}

/// The class of one of these names, in capitals or not.
[[nodiscard]] std::optional<IoClass> io_class_named(std::string_view name);

inline constexpr int kLevels = 8;        ///< 0 is the highest
inline constexpr int kDefaultLevel = 4;  ///< of nice 0
inline constexpr int kLowestLevel = kLevels - 1;
inline constexpr int kHints = 1024;  ///< Linux 6.5; 0 is none

struct IoPriority {
    IoClass io_class = IoClass::kNone;
    /// 0..7 for RT and BE. IDLE has no levels: it is 7 from the kernel, and written as 7. None has
    /// 0; older kernels (4.13) tell 4 for a thread that never set one.
    int level = 0;
    /// 0..1023, a wish to the disk that changes no order: 1..7 are the limits of a command's
    /// duration (linux/ioprio.h, Linux 6.5).
    int hint = 0;

    bool operator==(const IoPriority&) const = default;
};

/// Whether the kernel takes it: one of the classes, a level and a hint in their ranges, and no
/// level with none.
[[nodiscard]] constexpr bool valid(const IoPriority& priority) {
    const auto number = static_cast<int>(priority.io_class);
    return number >= static_cast<int>(IoClass::kNone) &&
           number <= static_cast<int>(IoClass::kIdle) && priority.level >= 0 &&
           priority.level < kLevels && priority.hint >= 0 && priority.hint < kHints &&
           (priority.io_class != IoClass::kNone || priority.level == 0);
}

/// The class in bits 13..15, the hint in 3..12, the level in 0..2 (linux/ioprio.h). Before Linux
/// 6.5 bits 3..12 had to be 0. Of a valid() priority; the level of IDLE does not count.
[[nodiscard]] constexpr std::uint16_t encode(const IoPriority& priority) {
    const int level = priority.io_class == IoClass::kIdle ? kLowestLevel : priority.level;
    return static_cast<std::uint16_t>(static_cast<unsigned>(priority.io_class) << 13U |
                                      static_cast<unsigned>(priority.hint) << 3U |
                                      static_cast<unsigned>(level));
}

/// Nothing for a class that there is not. IDLE is the same with any level, since tools disagree:
/// ionice sends 24583 (level 7), others 24576 (level 0).
[[nodiscard]] constexpr std::optional<IoPriority> decode(std::uint16_t value) {
    const auto io_class = static_cast<IoClass>(value >> 13U);
    if (io_class > IoClass::kIdle) {
        return std::nullopt;
    }
    const int level = io_class == IoClass::kIdle ? kLowestLevel : value & 7U;
    return IoPriority{io_class, level, static_cast<int>(value >> 3U & 1023U)};
}

/// "idle", "best-effort: prio 4", as ionice of util-linux prints it; ", hint 1" follows where there
/// is one.
[[nodiscard]] std::string describe(const IoPriority& priority);

/// How the CPU is given to a thread (sched(7)). Numbers are the kernel's, without
/// SCHED_RESET_ON_FORK.
enum class CpuPolicy {
    kOther = 0,
    kFifo = 1,
    kRoundRobin = 2,
    kBatch = 3,
    kIdle = 5,
    kDeadline = 6
};

inline constexpr int kLowestNice = -20;  ///< the highest priority
inline constexpr int kHighestNice = 19;

/// (nice + 20) / 5: -20 is 0, 0 is 4, 19 is 7 (Linux 2.6.10). Outside of -20..19 as at its end.
[[nodiscard]] constexpr int level_of_nice(int nice) {
    return (std::clamp(nice, kLowestNice, kHighestNice) - kLowestNice) / 5;
}

/// The class of a thread that never set one (Linux 2.6.26).
[[nodiscard]] constexpr IoClass class_of_policy(CpuPolicy policy) {
    switch (policy) {
        case CpuPolicy::kIdle:
            return IoClass::kIdle;
        case CpuPolicy::kFifo:
        case CpuPolicy::kRoundRobin:
        case CpuPolicy::kDeadline:
            return IoClass::kRealtime;
        case CpuPolicy::kOther:
        case CpuPolicy::kBatch:
            break;
    }
    return IoClass::kBestEffort;
}

/// What counts for a thread's requests: what was `set`, whatever nice and policy are since; what
/// these give if that is none.
[[nodiscard]] constexpr IoPriority effective_priority(const IoPriority& set, CpuPolicy policy,
                                                      int nice) {
    if (set.io_class != IoClass::kNone) {
        return set;
    }
    const IoClass io_class = class_of_policy(policy);
    return {io_class, io_class == IoClass::kIdle ? kLowestLevel : level_of_nice(nice), 0};
}

}  // namespace lull::sched
