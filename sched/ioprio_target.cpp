// SPDX-License-Identifier: MIT
#include "sched/ioprio_target.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lull::sched {
namespace {

/// Why nothing was found or done, and what helps; empty where the words of errno say it all.
std::string remedy(int code, const IoTarget& target, const IoPriority* wanted) {
    switch (code) {
        case ESRCH:
            return target.kind == IoTarget::Kind::kThread ? "it may have ended"
                                                          : "it has no process, or none is left";
        case EINVAL:
            return wanted != nullptr && wanted->hint != 0 ? "hints need Linux 6.5" : "";
        case EPERM:
            if (wanted == nullptr) {
                return "a security module forbids it";
            }
            return wanted->io_class == IoClass::kRealtime
                       ? "realtime is for root, or with CAP_SYS_NICE (older kernels: "
                         "CAP_SYS_ADMIN); best-effort 0 is the highest for others"
                       : "threads of another user are for root, or with CAP_SYS_NICE";
        case ENOSYS:
            return "the kernel was built without I/O priorities (CONFIG_BLOCK)";
        default:
            return {};
    }
}

Error failed(int code, std::string doing, const IoTarget& target, const IoPriority* wanted) {
    doing += " of " + describe(target);
    const std::string help = remedy(code, target, wanted);
    return {code, help.empty() ? doing : fmt::format("{} ({})", doing, help)};
}

std::string what_is_wrong(const IoPriority& priority) {
    if (to_string(priority.io_class) == "unknown") {
        return fmt::format("class {} is none of 0 (none), 1 (realtime), 2 (best-effort), 3 (idle)",
                           static_cast<int>(priority.io_class));
    }
    if (priority.io_class == IoClass::kNone && priority.level != 0) {
        return "class none has no levels";
    }
    return priority.hint < 0 || priority.hint >= kHints
               ? fmt::format("hint {} is not in 0..{}", priority.hint, kHints - 1)
               : fmt::format("level {} is not in 0..{}", priority.level, kLowestLevel);
}

}  // namespace

std::string describe(const IoTarget& target) {
    switch (target.kind) {
        case IoTarget::Kind::kThread:
            return target.id == 0 ? "the calling thread" : fmt::format("thread {}", target.id);
        case IoTarget::Kind::kProcessGroup:
            return target.id == 0 ? "the caller's process group"
                                  : fmt::format("process group {}", target.id);
        case IoTarget::Kind::kUser:
            break;
    }
    return fmt::format("user {}", target.id);
}

Result<IoPriority> io_priority(const IoTarget& target) {
    const long value = ::syscall(SYS_ioprio_get, static_cast<int>(target.kind), target.id);
    const std::string doing = "cannot tell the I/O priority";
    if (value < 0) {
        return failed(errno, doing, target, nullptr);
    }
    const auto priority = decode(static_cast<std::uint16_t>(value));
    if (!priority) {
        return Error{EBADMSG,
                     fmt::format("{} of {}: unknown value {}", doing, describe(target), value)};
    }
    return *priority;
}

Result<void> set_io_priority(const IoTarget& target, const IoPriority& wanted) {
    const std::string doing = "cannot set the I/O priority";
    if (!valid(wanted)) {
        return Error{EINVAL,
                     fmt::format("{} of {} ({})", doing, describe(target), what_is_wrong(wanted))};
    }
    if (::syscall(SYS_ioprio_set, static_cast<int>(target.kind), target.id,
                  static_cast<int>(encode(wanted))) != 0) {
        return failed(errno, doing, target, &wanted);
    }
    return {};
}

Result<IoPriority> effective_io_priority(pid_t thread) {
    const IoTarget target{IoTarget::Kind::kThread, thread};
    auto set = io_priority(target);
    if (!set) {
        return set;
    }
    errno = 0;  // -1 is a nice value like any other
    const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
    if (nice == -1 && errno != 0) {
        return failed(errno, "cannot tell the nice value", target, nullptr);
    }
    const int policy = ::sched_getscheduler(thread);
    if (policy < 0) {
        return failed(errno, "cannot tell the scheduling policy", target, nullptr);
    }
    return effective_priority(*set, static_cast<CpuPolicy>(policy & ~SCHED_RESET_ON_FORK), nice);
}

Result<IoClass> io_class() {
    const auto priority = io_priority({});
    if (!priority) {
        return priority.error();
    }
    return priority->io_class;
}

Result<IoClass> set_io_class(IoClass wanted) {
    const int level = wanted == IoClass::kNone ? 0 : kDefaultLevel;
    if (const auto set = set_io_priority({}, {wanted, level, 0}); !set) {
        return set.error();
    }
    return io_class();
}

}  // namespace lull::sched
