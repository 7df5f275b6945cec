// SPDX-License-Identifier: MIT
#include "tests/system/lull_process.hpp"

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace lull::test {
namespace {

constexpr int kPatienceMs = 120'000;  // far above what anything takes; only a hang reaches it

/// The program of the build that this test belongs to, two folders up.
std::string program() {
    if (const char* named = std::getenv("LULL_TEST_PROGRAM")) {
        return named;
    }
    std::string path(PATH_MAX, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    for (int i = 0; i < 3; ++i) {
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    return path + "/lull";
}

/// A filter that lets everything pass but the calls in `denied`.
std::vector<sock_filter> filter_of(const LullProcess::Denied& denied) {
    std::vector<sock_filter> filter;
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const unsigned call : denied) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter;
}

struct Start {
    std::vector<char*> argv;
    std::vector<sock_filter> filter;
    int errors = -1;
};

/// In the new process.
[[noreturn]] void become(Start& start) {
    constexpr int kExitCannotStart = 126;
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (::dup2(null, STDIN_FILENO) < 0 || ::dup2(null, STDOUT_FILENO) < 0 ||
        ::dup2(start.errors, STDERR_FILENO) < 0) {
        ::_exit(kExitCannotStart);
    }
    const sock_fprog program{static_cast<unsigned short>(start.filter.size()), start.filter.data()};
    constexpr std::size_t kEmptyFilter = 2;
    if (start.filter.size() > kEmptyFilter &&
        (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)) {
        ::_exit(kExitCannotStart);
    }
    ::execv(start.argv[0], start.argv.data());
    ::_exit(kExitCannotStart);
}

}  // namespace

Result<std::unique_ptr<LullProcess>> LullProcess::start(const std::vector<std::string>& arguments,
                                                        const Denied& denied) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return last_error("pipe");
    }
    Fd reading(ends[0]);
    const Fd writing(ends[1]);
    ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    std::vector<std::string> words{program()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Start start;
    for (std::string& word : words) {
        start.argv.push_back(word.data());
    }
    start.argv.push_back(nullptr);
    start.filter = filter_of(denied);
    start.errors = writing.get();
    const pid_t pid = ::fork();
    if (pid < 0) {
        return last_error("fork");
    }
    if (pid == 0) {
        become(start);
    }
    ::setpgid(pid, pid);  // both do, so that it is done whoever is first
    return std::unique_ptr<LullProcess>(
        new LullProcess(pid, open_process(pid), std::move(reading)));
}

LullProcess::~LullProcess() {
    signal_group(SIGKILL);
    if (!reaped_) {
        ::waitpid(pid_, nullptr, 0);
    }
}

bool LullProcess::read_some() {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(errors_.get(), buffer.data(), buffer.size());
    if (got <= 0) {
        return false;
    }
    printed_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

bool LullProcess::prints(const std::string& text) {
    while (printed_.find(text) == std::string::npos) {
        std::array<pollfd, 2> waiting{{{errors_.get(), POLLIN, 0}, {process_.get(), POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) {
            return false;
        }
        if (!read_some() && waiting[1].revents != 0) {
            return false;
        }
    }
    return true;
}

bool LullProcess::ends_within(int milliseconds) const {
    pollfd waiting{process_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, milliseconds) == 1;
}

int LullProcess::wait() {
    // A pipe that fills up would stop it; what it started may hold the pipe after its end.
    std::array<pollfd, 2> waiting{{{process_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
    while (waiting[0].revents == 0) {
        if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) {
            return -1;
        }
        if (waiting[1].revents != 0 && !read_some()) {
            waiting[1].fd = -1;
        }
    }
    while (read_some()) {
    }
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) {
        return -1;
    }
    reaped_ = true;
    constexpr int kSignalBase = 128;
    return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

void LullProcess::signal(int number) const {
    ::kill(pid_, number);
}

void LullProcess::signal_group(int number) const {
    ::kill(-pid_, number);
}

Result<Meeting> Meeting::make(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) {
        return last_error(path);
    }
    // Open at both ends, so that no opening of the other side waits.
    Fd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!pipe) {
        return last_error(path);
    }
    return Meeting(std::move(pipe));
}

Result<std::string> Meeting::await() {
    std::string line;
    for (;;) {
        pollfd waiting{pipe_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, kPatienceMs) != 1) {
            return Error{ETIMEDOUT, "nobody came to the meeting"};
        }
        char letter = 0;
        if (::read(pipe_.get(), &letter, 1) != 1) {
            return last_error("meeting");
        }
        if (letter == '\n') {
            return line;
        }
        line += letter;
    }
}

void Meeting::proceed() const {
    const char line = '\n';
    static_cast<void>(::write(pipe_.get(), &line, 1) == 1);
}

Fd open_process(pid_t pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool ends(const Fd& process) {
    pollfd waiting{process.get(), POLLIN, 0};
    return ::poll(&waiting, 1, kPatienceMs) == 1;
}

}  // namespace lull::test
