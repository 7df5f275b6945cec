// SPDX-License-Identifier: MIT
#include "collector/child.hpp"

#include <array>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::collector {
namespace {

constexpr int kExitCannotExecute = 127;
constexpr int kExitSignalBase = 128;

/// In the new process: becomes the command, or tells errno through the pipe.
[[noreturn]] void execute(char* const* arguments, int failure) {
    ::execvp(arguments[0], arguments);
    const int code = errno;
    if (::write(failure, &code, sizeof(code)) < 0) {
        ::_exit(kExitCannotExecute);
    }
    ::_exit(kExitCannotExecute);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& command) {
    std::vector<std::string> copy = command;
    std::vector<char*> arguments;
    arguments.reserve(copy.size() + 1);
    for (std::string& argument : copy) {
        arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    std::array<int, 2> pipe_ends{};
    if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
        return last_error("pipe");
    }
    const Fd failure(pipe_ends[0]);
    Fd failure_writer(pipe_ends[1]);
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
        return last_error("cannot become the reaper of the command's children");
    }
    const pid_t pid = ::fork();
    if (pid < 0) {
        return last_error("fork");
    }
    if (pid == 0) {
        execute(arguments.data(), failure_writer.get());
    }
    failure_writer.reset();
    int code = 0;
    ssize_t told = 0;
    do {  // a signal may come, for which the event loop has handlers that do not restart the call
        told = ::read(failure.get(), &code, sizeof(code));
    } while (told < 0 && errno == EINTR);
    if (told == sizeof(code)) {
        ::waitpid(pid, nullptr, 0);
        return Error{code, "cannot run " + command[0]};
    }
    return Child(pid);
}

bool Child::reap() {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, WNOHANG);
        if (ended == 0) {
            return false;
        }
        if (ended < 0) {
            return errno == ECHILD;
        }
        if (ended == pid_) {
            status_ =
                WIFSIGNALED(status) ? kExitSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
}

void Child::signal(int number) const {
    if (!status_) {
        ::kill(pid_, number);
    }
}

}  // namespace lull::collector
