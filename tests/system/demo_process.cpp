// SPDX-License-Identifier: MIT
#include "tests/system/demo_process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace lull::demo {
namespace {

constexpr auto kTimeout = std::chrono::minutes(10);

// glibc has wrappers for these from 2.36 on, but not in a header that C++ can include.
Fd pidfd_open(pid_t pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
void pidfd_kill(int pidfd) {
    ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
}

sigset_t interrupts() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        sigaddset(&set, signal);
    }
    return set;
}

/// What posix_spawn does in the child before the exec. The two C objects have no owner in libc.
class SpawnSetup {
  public:
    SpawnSetup() {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_init(&attributes_);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    }
    ~SpawnSetup() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;

    Result<pid_t> spawn(std::vector<std::string> argv) const {
        std::vector<char*> pointers;
        std::transform(argv.begin(), argv.end(), std::back_inserter(pointers),
                       [](std::string& word) { return word.data(); });
        pointers.push_back(nullptr);
        pid_t pid = 0;
        if (const int code = posix_spawnp(&pid, pointers[0], &actions_, &attributes_,
                                          pointers.data(), ::environ);
            code != 0) {
            return Error{code, argv[0]};
        }
        return pid;
    }

  private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

}  // namespace

Result<Runner> Runner::make() {
    const sigset_t set = interrupts();
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
        return last_error("sigprocmask");
    }
    Fd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals) {
        return last_error("signalfd");
    }
    return Runner(std::move(signals));
}

Result<void> Runner::wait(int pidfd) {
    pollfd watched[] = {{pidfd, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    constexpr int kMilliseconds = std::chrono::milliseconds(kTimeout).count();
    int ready = 0;
    do {
        ready = ::poll(watched, 2, kMilliseconds);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) {
        return last_error("poll");
    }
    // The signal stays in the descriptor: every later command is refused as well.
    if (watched[1].revents != 0) {
        return Error{EINTR, "stopped by a signal"};
    }
    return ready == 0 ? Result<void>(Error{ETIMEDOUT, "killed"}) : Result<void>();
}

Result<double> Runner::run(const std::vector<std::string>& argv) {
    const auto begin = std::chrono::steady_clock::now();
    const auto pid = SpawnSetup().spawn(argv);
    if (!pid) {
        return pid.error();
    }
    const Fd pidfd = pidfd_open(*pid);
    const auto waited = wait(pidfd.get());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    // The group outlives its leader as long as a member does, so the number is not another's yet:
    // the leader has not been reaped.
    ::kill(-*pid, SIGKILL);
    int status = 0;
    ::waitpid(*pid, &status, 0);
    const std::string name = fmt::format("{}", fmt::join(argv, " "));
    if (!waited) {
        return waited.error().in(name);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Error{0, WIFEXITED(status)
                            ? fmt::format("{}: exit status {}", name, WEXITSTATUS(status))
                            : fmt::format("{}: killed by signal {}", name, WTERMSIG(status))};
    }
    return time.count();
}

void kill_processes_in(const std::string& root) {
    std::vector<Fd> killed;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        std::error_code ignored;
        if (name.find_first_not_of("0123456789") != std::string::npos ||
            std::filesystem::read_symlink(entry.path() / "root", ignored) != root) {
            continue;
        }
        Fd pidfd = pidfd_open(std::stoi(name));
        // Asked again: by now the number could be another process's.
        if (pidfd && std::filesystem::read_symlink(entry.path() / "root", ignored) == root) {
            pidfd_kill(pidfd.get());
            killed.push_back(std::move(pidfd));
        }
    }
    for (const Fd& pidfd : killed) {
        pollfd gone{pidfd.get(), POLLIN, 0};
        while (::poll(&gone, 1, -1) < 0 && errno == EINTR) {
        }
    }
}

}  // namespace lull::demo
