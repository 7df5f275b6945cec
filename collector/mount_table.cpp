// SPDX-License-Identifier: MIT
#include "collector/mount_table.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::collector {
namespace {

KernelDevice device_of_mount(const fs::Mount& mount) {
    return kernel_device(mount.major, mount.minor);
}

/// What the kernel calls the file in our view, without its mark of deletion.
std::string name_of(int fd, const struct statx& facts) {
    std::string name(PATH_MAX, '\0');
    const auto link = fmt::format("/proc/self/fd/{}", fd);
    const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
    name.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    constexpr std::string_view kDeleted = " (deleted)";
    if (name.ends_with(kDeleted)) {
        struct stat present {};
        const bool its_own_name =
            ::lstat(name.c_str(), &present) == 0 && present.st_ino == facts.stx_ino;
        if (!its_own_name) {
            name.resize(name.size() - kDeleted.size());
        }
    }
    return name;
}

/// `name`, seen through `mount`, as a path inside the file system.
std::string inside(const fs::Mount& mount, const std::string& name) {
    const std::string point = mount.mount_point == "/" ? "" : mount.mount_point;
    const std::string root = mount.root == "/" ? "" : mount.root;
    if (!name.starts_with(point) || name.size() <= point.size() || name[point.size()] != '/') {
        return name == mount.mount_point ? mount.root : std::string();
    }
    return root + name.substr(point.size());
}

/// The same file, seen through `mount`.
Fd seen_through(const fs::Mount& mount, int fd) {
    alignas(file_handle) std::array<std::byte, sizeof(file_handle) + MAX_HANDLE_SZ> storage{};
    auto* handle = reinterpret_cast<file_handle*>(storage.data());
    handle->handle_bytes = MAX_HANDLE_SZ;
    int mount_id = 0;
    if (::name_to_handle_at(fd, "", handle, &mount_id, AT_EMPTY_PATH) != 0) {
        return Fd();
    }
    const Fd top(::open(mount.mount_point.c_str(),
                        O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOATIME | O_CLOEXEC));
    return Fd(::open_by_handle_at(top.get(), handle, O_PATH | O_CLOEXEC));
}

}  // namespace

Result<void> MountTable::refresh() {
    auto mounts = fs::read_mounts(mountinfo_);
    if (!mounts) {
        return mounts.error();
    }
    mounts_ = *std::move(mounts);
    for (const fs::Mount& mount : mounts_) {
        if (in_scope(mount)) {
            device_of_number_[device_of_mount(mount)] = device_of_mount(mount);
        }
    }
    return {};
}

bool MountTable::in_scope(const fs::Mount& mount) const {
    if (scope_.empty()) {
        return fs::on_block_device(mount);
    }
    return std::find(scope_.begin(), scope_.end(), device_of_mount(mount)) != scope_.end();
}

std::vector<const fs::Mount*> MountTable::recorded() const {
    std::map<KernelDevice, const fs::Mount*> found;
    for (const fs::Mount& mount : mounts_) {
        const KernelDevice device = device_of_mount(mount);
        if (in_scope(mount) && !found.contains(device)) {
            found[device] = best(device);
        }
    }
    std::vector<const fs::Mount*> mounts;
    for (const auto& [device, mount] : found) {
        if (mount != nullptr) {
            mounts.push_back(mount);
        }
    }
    return mounts;
}

const fs::Mount* MountTable::by_id(const struct statx& facts) const {
    if ((facts.stx_mask & STATX_MNT_ID) == 0) {
        return nullptr;
    }
    const auto found = std::find_if(mounts_.begin(), mounts_.end(), [&](const fs::Mount& mount) {
        return mount.id == facts.stx_mnt_id;
    });
    return found == mounts_.end() ? nullptr : &*found;
}

std::optional<KernelDevice> MountTable::device_of(const struct statx& facts) {
    const KernelDevice number = kernel_device(facts.stx_dev_major, facts.stx_dev_minor);
    if (const auto known = device_of_number_.find(number); known != device_of_number_.end()) {
        return known->second;
    }
    const fs::Mount* mount = by_id(facts);
    if (mount == nullptr || !in_scope(*mount)) {
        return std::nullopt;
    }
    device_of_number_[number] = device_of_mount(*mount);
    return device_of_mount(*mount);
}

std::string MountTable::path_of(int fd, const struct statx& facts) const {
    if (const fs::Mount* mount = by_id(facts)) {
        return inside(*mount, name_of(fd, facts));
    }
    // Opened in another mount namespace (a service with a private /tmp has one): the name would be
    // one of that namespace.
    const auto device =
        device_of_number_.find(kernel_device(facts.stx_dev_major, facts.stx_dev_minor));
    const fs::Mount* mount = device == device_of_number_.end() ? nullptr : best(device->second);
    if (mount == nullptr) {
        return {};
    }
    const Fd here = seen_through(*mount, fd);
    return here ? inside(*mount, name_of(here.get(), facts)) : std::string();
}

}  // namespace lull::collector
