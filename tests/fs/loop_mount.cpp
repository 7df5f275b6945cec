// SPDX-License-Identifier: MIT
#include "tests/fs/loop_mount.hpp"

#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fs/residency.hpp"

namespace lull::test {
namespace {

constexpr off_t kImageSize = 64 << 20;
constexpr std::uint64_t kPage = 4096;

Result<pid_t> spawn(const std::vector<std::string>& arguments, int standard_output) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (standard_output >= 0) {
        posix_spawn_file_actions_adddup2(&actions, standard_output, STDOUT_FILENO);
    }
    pid_t child = 0;
    const int code = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
        return Error{code, arguments[0]};
    }
    return child;
}

Result<void> reap(pid_t child, const std::string& name) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) {
        return last_error(name);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Error{ECHILD, name + " failed"};
    }
    return {};
}

}  // namespace

Result<void> run(const std::vector<std::string>& arguments) {
    const auto child = spawn(arguments, -1);
    return child ? reap(*child, arguments[0]) : Result<void>(child.error());
}

Result<std::string> output_of(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return last_error("pipe");
    }
    const Fd reading(ends[0]);
    Fd writing(ends[1]);
    const auto child = spawn(arguments, writing.get());
    writing.reset();
    if (!child) {
        return child.error();
    }
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(reading.get(), buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (const auto ended = reap(*child, arguments[0]); !ended) {
        return ended.error();
    }
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

Result<std::unique_ptr<LoopMount>> LoopMount::make(const std::vector<std::string>& mkfs_options) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return last_error("a mount namespace");
    }
    std::unique_ptr<LoopMount> made(new LoopMount);
    if (const auto attached = made->attach(); !attached) {
        return attached.error();
    }
    std::vector<std::string> mkfs = {"mkfs.ext4", "-q", "-F"};
    mkfs.insert(mkfs.end(), mkfs_options.begin(), mkfs_options.end());
    mkfs.push_back(made->device_);
    if (const auto formatted = run(mkfs); !formatted) {
        return formatted.error();
    }
    std::string directory = "/tmp/lull-test-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) {
        return last_error(directory);
    }
    made->directory_ = directory;
    if (::mount(made->device_.c_str(), directory.c_str(), "ext4", 0, nullptr) != 0) {
        return last_error("mount " + made->device_);
    }
    made->mounted_ = true;
    return made;
}

Result<void> LoopMount::attach() {
    const Fd image(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!image || ::ftruncate(image.get(), kImageSize) != 0) {
        return last_error("an image in /tmp");
    }
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control) {
        return last_error("/dev/loop-control");
    }
    constexpr int kAttempts = 100;  // another process may take the device that was free
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) {
            return last_error("a free loop device");
        }
        const std::string device = "/dev/loop" + std::to_string(number);
        Fd loop(::open(device.c_str(), O_RDWR | O_CLOEXEC));
        if (!loop) {
            return last_error(device);
        }
        loop_config config{};
        config.fd = static_cast<std::uint32_t>(image.get());
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
        if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) {
            loop_ = std::move(loop);
            device_ = device;
            return {};
        }
        if (errno != EBUSY) {
            return last_error(device);
        }
    }
    return Error{EBUSY, "a free loop device"};
}

LoopMount::~LoopMount() {
    if (mounted_) {
        ::umount2(directory_.c_str(), MNT_DETACH);
    }
    if (!directory_.empty()) {
        ::rmdir(directory_.c_str());
    }
}

Result<void> write_pages(const std::string& path, std::uint64_t first_page, std::uint64_t pages) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    if (!file) {
        return last_error(path);
    }
    const std::string page(kPage, 'x');
    for (std::uint64_t i = first_page; i < first_page + pages; ++i) {
        if (::pwrite(file.get(), page.data(), kPage, static_cast<off_t>(i * kPage)) !=
            static_cast<ssize_t>(kPage)) {
            return last_error(path);
        }
    }
    return ::fsync(file.get()) == 0 ? Result<void>() : last_error(path);
}

Result<void> evict(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) {
        return last_error(path);
    }
    const std::uint64_t pages = (static_cast<std::uint64_t>(about.st_size) + kPage - 1) / kPage;
    // A page that sits in a per-CPU list of this or another CPU is passed over once.
    constexpr int kAttempts = 20;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (::fsync(file.get()) != 0 ||
            ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
            return last_error(path);
        }
        const auto left = fs::resident_count(file.get(), 0, pages);
        if (!left) {
            return left.error();
        }
        if (*left == 0) {
            return {};
        }
        ::sched_yield();
    }
    return Error{EBUSY, path + " stays in memory"};
}

}  // namespace lull::test
