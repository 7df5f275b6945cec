// SPDX-License-Identifier: MIT
#include "tests/disk/loop.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "fs/residency.hpp"

namespace lull::disk {
namespace {

constexpr std::uint64_t kPageSize = 4096;

/// A free loop device with `backing` in it. Others look for a free one too, so the race for it is
/// run again until it is won.
Result<std::pair<Fd, std::string>> claim(int backing, const LoopOptions& options) {
    const auto control_path = options.dev_root / "loop-control";
    const Fd control(::open(control_path.c_str(), O_RDWR | O_CLOEXEC));
    if (!control) {
        return last_error(control_path.string());
    }
    loop_config config{};
    config.fd = static_cast<__u32>(backing);
    config.block_size = options.block_size;
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    options.label.copy(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE - 1);
    while (true) {
        const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) {
            return last_error("free loop device");
        }
        std::string name = "loop" + std::to_string(number);
        const auto path = options.dev_root / name;
        Fd device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (!device) {
            return last_error(path.string());
        }
        if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) {
            return std::pair(std::move(device), std::move(name));
        }
        if (errno != EBUSY) {
            return last_error("setting up " + path.string());
        }
    }
}

}  // namespace

Result<LoopDevice> LoopDevice::attach(int backing, const LoopOptions& options) {
    auto claimed = claim(backing, options);
    if (!claimed) {
        return claimed.error();
    }
    auto& [fd, name] = *claimed;
    struct stat facts {};
    loop_info64 info{};
    if (::fstat(fd.get(), &facts) != 0 || ::ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) {
        return last_error(name);
    }
    if ((info.lo_flags & LO_FLAGS_DIRECT_IO) == 0) {
        return Error{EOPNOTSUPP, name + " has no direct I/O on its file"};
    }
    QueueSettings queue(options.sys_root / "block" / name / "queue");
    LoopDevice device(std::move(fd), options.dev_root / name, facts.st_rdev, std::move(queue));
    auto set = device.queue_.set("rotational", options.rotational ? "1" : "0");
    if (set) {
        set = device.queue_.set("read_ahead_kb", std::to_string(options.read_ahead_kb));
    }
    if (set && !options.scheduler.empty()) {
        set = device.queue_.set("scheduler", options.scheduler);
    }
    if (!set) {
        return set.error();
    }
    return device;
}

Result<void> LoopDevice::drop_cache() {
    const Fd alone(::open(path_.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
    if (!alone) {
        return last_error(path_.string() + " is still mounted somewhere");
    }
    std::uint64_t bytes = 0;
    if (::ioctl(fd_.get(), BLKFLSBUF) != 0 || ::ioctl(fd_.get(), BLKGETSIZE64, &bytes) != 0) {
        return last_error("flushing " + path_.string());
    }
    auto left = fs::resident_count(fd_.get(), 0, (bytes + kPageSize - 1) / kPageSize);
    if (!left) {
        return left.error();
    }
    if (*left != 0) {
        return Error{EBUSY, std::to_string(*left) + " pages of " + path_.string() + " stay cached"};
    }
    return {};
}

}  // namespace lull::disk
