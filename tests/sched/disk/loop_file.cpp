// SPDX-License-Identifier: MIT
#include "tests/sched/disk/loop_file.hpp"

#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lull::sched {
LoopFile::LoopFile(std::string directory, std::uint64_t bytes) {
    if (directory.empty()) {
        const char* named = std::getenv("TMPDIR");
        directory = named == nullptr ? "/tmp" : named;
    }
    const Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
        error_ = last_error(directory).message();
        return;
    }
    auto loop = disk::LoopDevice::attach(file.get(), {});
    if (!loop) {
        error_ = loop.error().message();
        return;
    }
    loop_.emplace(*std::move(loop));
}

bool LoopFile::make_two_partitions() {
    const auto made = sched::make_two_partitions(loop_->fd());
    if (!made) {
        error_ = made.error().message();
    }
    return made.ok();
}

Result<void> make_two_partitions(int fd) {
    constexpr long long kBytes = 20 << 20;
    constexpr long long kBegin = 1 << 20;
    // A loop device has partitions, and loses them when it is detached, only with this flag.
    loop_info64 info{};
    if (::ioctl(fd, LOOP_GET_STATUS64, &info) != 0) {
        return last_error("loop device");
    }
    info.lo_flags |= LO_FLAGS_PARTSCAN;
    if (::ioctl(fd, LOOP_SET_STATUS64, &info) != 0) {
        return last_error("partitions of a loop device");
    }
    for (int i = 0; i < 2; ++i) {
        blkpg_partition partition{};
        partition.start = kBegin + i * kBytes;
        partition.length = kBytes;
        partition.pno = i + 1;
        blkpg_ioctl_arg argument{BLKPG_ADD_PARTITION, 0, sizeof(partition), &partition};
        if (::ioctl(fd, BLKPG, &argument) != 0) {
            return last_error("adding a partition");
        }
    }
    return {};
}

}  // namespace lull::sched
