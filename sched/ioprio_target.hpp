// SPDX-License-Identifier: MIT
// Whose I/O priority: ioprio_get(2) and ioprio_set(2).
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.hpp"
#include "sched/ioprio.hpp"

namespace lull::sched {

struct IoTarget {
    /// Numbers are the kernel's.
    enum class Kind {
        kThread = 1,        ///< 0: the caller. A process' number is that of its first thread only
        kProcessGroup = 2,  ///< 0: the caller's
        kUser = 3,          ///< all threads of this real user; 0 is root
    };
    Kind kind = Kind::kThread;
    int id = 0;
};

/// "thread 12", "the caller's process group", "user 0".
[[nodiscard]] std::string describe(const IoTarget& target);

/// Of a thread what was set: class none if nothing was. Of a group or user the highest of what
/// counts for its threads; older kernels (4.13) count BE 4 for none. The highest is the smallest
/// value that the kernel finds, in which a hint outweighs the level. ESRCH: nobody is there.
[[nodiscard]] Result<IoPriority> io_priority(const IoTarget& target);

/// From now on, whatever their nice is; class none makes them follow nice again. Children that
/// are made later inherit it, over exec too, unless it is none. Threads of a process share nothing.
///
/// EINVAL: not valid(), or a hint before Linux 6.5. ESRCH: nobody is there. EPERM: RT without
/// CAP_SYS_ADMIN (or CAP_SYS_NICE, on newer kernels); a thread of another user without
/// CAP_SYS_NICE. With several threads the first error ends it, and those before are set.
[[nodiscard]] Result<void> set_io_priority(const IoTarget& target, const IoPriority& wanted);

/// What counts for the requests of a thread (0: the caller), also if it never set any. ESRCH.
[[nodiscard]] Result<IoPriority> effective_io_priority(pid_t thread);

/// The class of the calling thread.
[[nodiscard]] Result<IoClass> io_class();

/// Sets the calling thread's class, at level 4 where there are levels, and reads it back. Each
/// thread that reads has to do it, and before it makes an io_uring, since the ring keeps the I/O
/// context it finds.
[[nodiscard]] Result<IoClass> set_io_class(IoClass wanted);

}  // namespace lull::sched
