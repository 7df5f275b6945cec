// SPDX-License-Identifier: MIT
#include "sched/ioprio.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace lull::sched {
namespace {

// From the kernel's include/uapi/linux/ioprio.h, which some versions write in a C that is not C++.
constexpr int kWhoProcess = 1;
constexpr unsigned kClassShift = 13;
constexpr unsigned kClassMask = 7;

}  // namespace

Result<IoClass> io_class() {
    const long value = ::syscall(SYS_ioprio_get, kWhoProcess, 0);
    if (value < 0) {
        return last_error("ioprio_get");
    }
    return static_cast<IoClass>(static_cast<unsigned long>(value) >> kClassShift & kClassMask);
}

Result<IoClass> set_io_class(IoClass wanted) {
    const unsigned value = static_cast<unsigned>(wanted) << kClassShift;
    if (::syscall(SYS_ioprio_set, kWhoProcess, 0, value) != 0) {
        return last_error("ioprio_set");
    }
    return io_class();
}

}  // namespace lull::sched
