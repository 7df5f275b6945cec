// SPDX-License-Identifier: MIT
// What a level is worth: its weight in virtual time and the length of its slice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sched/ioprio.hpp"
#include "sched/units.hpp"

namespace lull::sched {

/// In hundredths of a cgroup-v2 weight (1..10000, default 100), so that levels are exact enough
/// beside groups: 100 .. 1'000'000.
using Weight = std::uint32_t;
inline constexpr Weight kLightest = 100;
inline constexpr Weight kDefaultWeight = 10'000;
inline constexpr Weight kHeaviest = 1'000'000;

/// Geometric: each level 1.6 times the next (Goyal 2012). Linear: as the slices (Axboe 2004).
enum class LevelLaw : std::uint8_t { kGeometric, kLinear };

/// 0 <= level < kLevels. Level 4 has the default weight of a group in both laws.
[[nodiscard]] constexpr Weight level_weight(LevelLaw law, int level) {
    // 10'000 x 1.6^(4 - level), rounded.
    constexpr std::array<Weight, kLevels> kGeometric{65'536, 40'960, 25'600, 16'000,
                                                     10'000, 6'250,  3'906,  2'441};
    constexpr Weight kStep = kDefaultWeight / 5;
    return law == LevelLaw::kGeometric
               ? kGeometric[static_cast<std::size_t>(level)]
               : kDefaultWeight + kStep * static_cast<Weight>(kDefaultLevel) -
                     kStep * static_cast<Weight>(level);
}

/// base + base / 5 x (4 - level), as in CFQ 2.6.10..4.20: 180, 160, .. 40 ms at a base of 100 ms.
[[nodiscard]] constexpr Nanoseconds level_slice(int level, Nanoseconds base = 100 * kMillisecond) {
    return base + base / 5 * (kDefaultLevel - level);
}

}  // namespace lull::sched
