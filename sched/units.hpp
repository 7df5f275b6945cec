// SPDX-License-Identifier: MIT
// Time and place as all of sched/ counts them.
#pragma once

#include <cstdint>

namespace lull::sched {

/// On the caller's clock, which never goes back; also a span of time.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kMicrosecond = 1000;
inline constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanoseconds kSecond = 1000 * kMillisecond;
/// A time that does not come.
inline constexpr Nanoseconds kNever = INT64_MAX;

/// 512 bytes, whatever the disk's own block is.
using Sector = std::uint64_t;

}  // namespace lull::sched
