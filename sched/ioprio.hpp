// SPDX-License-Identifier: MIT
// The I/O class of a thread (ioprio_set(2)).
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace lull::sched {

/// Numbers are the kernel's.
enum class IoClass { kNone = 0, kRealtime = 1, kBestEffort = 2, kIdle = 3 };

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

/// The class of the calling thread; of the value only the class bits count, since tools disagree
/// about the level that goes with IDLE.
[[nodiscard]] Result<IoClass> io_class();

/// Sets the calling thread's class and reads it back. Threads share nothing: each one that reads
/// has to do it, and before it makes an io_uring, since the ring keeps the I/O context it finds.
[[nodiscard]] Result<IoClass> set_io_class(IoClass wanted);

}  // namespace lull::sched
