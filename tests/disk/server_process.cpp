// SPDX-License-Identifier: MIT
#include "tests/disk/server_process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/disk/message.hpp"
#include "tests/disk/mount.hpp"

namespace lull::disk {
namespace {

// Where the server finds what it inherits, whatever the numbers are here.
constexpr int kControl = 3;
constexpr int kOwner = 4;
constexpr int kImage = 5;
constexpr int kSpare = 64;  // above the three: a place to keep them while they are sorted

// Exit codes of a child that did not become the server, as a shell has them.
constexpr int kNoNamespace = 126;
constexpr int kNoProgram = 127;

Fd open_pidfd(pid_t pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become_server(char* const* words, std::array<int, 3> inherited, int name_space) {
    ::setsid();
    if (name_space >= 0 && ::setns(name_space, CLONE_NEWNS) != 0) {
        ::_exit(kNoNamespace);
    }
    std::array<int, 3> moved{};
    for (std::size_t index = 0; index < inherited.size(); ++index) {
        moved[index] = ::fcntl(inherited[index], F_DUPFD, kSpare);
    }
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    for (std::size_t index = 0; index < moved.size(); ++index) {
        ::dup2(moved[index], kControl + static_cast<int>(index));
    }
    ::close_range(kImage + 1, ~0U, 0);
    ::execv(words[0], words);
    ::_exit(kNoProgram);
}

}  // namespace

Result<std::filesystem::path> find_server() {
    if (const char* named = std::getenv("LULL_DISK"); named != nullptr) {
        return std::filesystem::path(named);
    }
    std::error_code error;
    auto directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    while (!directory.empty()) {
        auto program = directory / "tests/disk/lull-disk";
        if (std::filesystem::is_regular_file(program, error)) {
            return program;
        }
        if (directory == directory.root_path()) {
            break;
        }
        directory = directory.parent_path();
    }
    return Error{ENOENT, "program lull-disk (name it in LULL_DISK)"};
}

Result<ServerProcess> ServerProcess::start(const ServerProcessOptions& options) {
    auto program = options.program.empty() ? find_server() : options.program;
    if (!program) {
        return program.error();
    }
    const Fd image(::open(options.image.c_str(), O_RDWR | O_CLOEXEC));
    if (!image) {
        return last_error("image " + options.image.string());
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return last_error("socket to the disk server");
    }
    Fd control(ends[0]);
    Fd remote(ends[1]);
    const Fd self = open_pidfd(::getpid());
    if (!self) {
        return last_error("pidfd_open");
    }

    // Another mount namespace is another working directory.
    std::vector<std::string> words{std::filesystem::absolute(*program),
                                   "--profile",
                                   options.profile,
                                   "--image",
                                   "/dev/fd/" + std::to_string(kImage),
                                   "--control-fd",
                                   std::to_string(kControl),
                                   "--owner-fd",
                                   std::to_string(kOwner),
                                   "--queue-depth",
                                   std::to_string(options.queue_depth),
                                   "--seed",
                                   std::to_string(options.seed),
                                   "--no-timing"};
    const auto pointers = pointers_to(words);

    const pid_t pid = ::fork();
    if (pid < 0) {
        return last_error("fork");
    }
    if (pid == 0) {
        become_server(pointers.data(), {remote.get(), self.get(), image.get()},
                      options.mount_namespace);
    }
    Fd process = open_pidfd(pid);
    remote.reset();
    auto ready = receive_message(control.get());
    if (!ready || ready->fds.size() != 2) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        const bool absent = WIFEXITED(status) && WEXITSTATUS(status) == kNoProgram;
        return Error{absent ? ENOENT : EIO, "starting " + words.front()};
    }
    auto page = StatusPage::open(std::move(ready->fds[1]));
    if (!page) {
        return page.error();
    }
    return ServerProcess(pid, std::move(process), std::move(control), std::move(ready->fds[0]),
                         *std::move(page));
}

ServerProcess::~ServerProcess() {
    if (!control_) {
        return;
    }
    static_cast<void>(send_message(control_.get(), {"quit"}));
    // Without a descriptor of it the kernel can let the file go before the server does.
    file_.reset();
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), &info, WEXITED) != 0 &&
           errno == EINTR) {
    }
}

Result<std::vector<std::string>> ServerProcess::order(const std::vector<std::string>& words) {
    if (auto sent = send_message(control_.get(), words); !sent) {
        return sent.error();
    }
    auto answer = receive_message(control_.get());
    if (!answer) {
        return answer.error();
    }
    auto& said = answer->words;
    if (said.size() == 3 && said[0] == "error") {
        return Error{std::stoi(said[1]), said[2]};
    }
    return std::vector<std::string>(said.begin() + 1, said.end());
}

Result<Fd> ServerProcess::open_file() const {
    const auto path = "/proc/self/fd/" + std::to_string(file_.get());
    Fd opened(::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
    if (!opened) {
        return last_error("file of the disk server");
    }
    return opened;
}

std::filesystem::path ServerProcess::status_path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(page_.fd());
}

}  // namespace lull::disk
