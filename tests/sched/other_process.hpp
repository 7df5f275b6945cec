// SPDX-License-Identifier: MIT
// Processes for the tests of I/O priorities.
#pragma once

#include <array>
#include <climits>
#include <csignal>
#include <functional>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::test {

/// Number of a process and of a group that there cannot be.
inline constexpr int kNobody = INT_MAX;

/// A child that does nothing until it is killed, with the object or with the test. It has done
/// what it was made with when the constructor returns; `pid` is 0 if that failed.
class OtherProcess {
  public:
    /// `prepare` runs in the child, in a process group of its own; false: it cannot be.
    explicit OtherProcess(const std::function<bool()>& prepare = [] { return true; }) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            return;
        }
        const Fd reading(ends[0]);
        Fd writing(ends[1]);
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            ::setpgid(0, 0);
            const char ready = prepare() ? 'y' : 'n';
            // Last, since a change of user clears it.
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent || ::write(writing.get(), &ready, 1) != 1) {
                ::_exit(1);
            }
            for (;;) {
                ::pause();
            }
        }
        writing.reset();
        char ready = 0;
        if (child > 0 && (::read(reading.get(), &ready, 1) != 1 || ready != 'y')) {
            end(child);
            return;
        }
        pid_ = child > 0 ? child : 0;
    }
    ~OtherProcess() {
        if (pid_ > 0) {
            end(pid_);
        }
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    static void end(pid_t pid) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    pid_t pid_ = 0;
};

/// Gives up root for good.
inline bool become_user(uid_t user) {
    return ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
}

}  // namespace lull::test
