// SPDX-License-Identifier: MIT
#include "tests/system/demo_chroot.hpp"

#include <utility>

#include <sys/mount.h>

#include "tests/system/demo_process.hpp"

namespace lull::demo {

Result<void> ChrootMounts::add(const std::string& source, const std::string& directory,
                               const std::string& type, unsigned long flags) {
    const std::string target = root_ + directory;
    if (::mount(source.c_str(), target.c_str(), type.c_str(), flags, nullptr) != 0) {
        return last_error(target);
    }
    mounted_.push_back(target);
    return {};
}

Result<ChrootMounts> ChrootMounts::make(const std::string& root) {
    ChrootMounts mounts(root);
    for (const auto& added :
         {mounts.add("/dev", "/dev", "", MS_BIND | MS_REC), mounts.add("proc", "/proc", "proc", 0),
          mounts.add("tmpfs", "/tmp", "tmpfs", 0), mounts.add("tmpfs", "/run", "tmpfs", 0)}) {
        if (!added) {
            return added.error();
        }
    }
    return mounts;
}

ChrootMounts::ChrootMounts(ChrootMounts&& other) noexcept
    : root_(std::move(other.root_)), mounted_(std::exchange(other.mounted_, {})) {}

ChrootMounts::~ChrootMounts() {
    if (mounted_.empty()) {
        return;
    }
    kill_processes_in(root_);
    for (; !mounted_.empty(); mounted_.pop_back()) {
        ::umount2(mounted_.back().c_str(), MNT_DETACH);
    }
}

}  // namespace lull::demo
