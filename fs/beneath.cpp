// SPDX-License-Identifier: MIT
#include "fs/beneath.hpp"

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace lull::fs {
namespace {

/// Part of `path` below `prefix` ("/a/b/c", "/a" -> "b/c"), "." for the prefix itself.
Result<std::string> below(const std::string& path, const std::string& prefix) {
    if (prefix == "/") {
        return path.size() <= 1 ? std::string(".") : path.substr(1);
    }
    if (!at_or_below(path, prefix)) {
        return Error{ENOENT, path + " is not below " + prefix};
    }
    if (path.size() == prefix.size()) {
        return std::string(".");
    }
    return path.substr(prefix.size() + 1);
}

}  // namespace

Result<Fd> open_mount(const Mount& mount) {
    Fd top(::open(mount.mount_point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!top) {
        return last_error(mount.mount_point);
    }
    struct statx facts {};
    if (::statx(top.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &facts) != 0) {
        return last_error(mount.mount_point);
    }
    // On btrfs st_dev is the subvolume's own number and cannot be compared.
    if (mount.fs_type != "btrfs" &&
        (facts.stx_dev_major != mount.major || facts.stx_dev_minor != mount.minor)) {
        return Error{ENODEV, mount.mount_point + " is hidden by another mount"};
    }
    return top;
}

Result<std::string> path_in_mount(const Mount& mount, const std::string& path) {
    return below(path, mount.root);
}

Result<Fd> open_beneath(int top, const std::string& relative) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
    Fd fd(static_cast<int>(::syscall(SYS_openat2, top, relative.c_str(), &how, sizeof(how))));
    if (!fd) {
        return last_error(relative);
    }
    return fd;
}

Result<Fd> reopen(int path_fd, int flags) {
    const std::string link = fmt::format("/proc/self/fd/{}", path_fd);
    flags |= O_RDONLY | O_NONBLOCK | O_CLOEXEC;
    Fd fd(::open(link.c_str(), flags | O_NOATIME));
    if (!fd && errno == EPERM) {  // O_NOATIME is for the owner and root
        fd.reset(::open(link.c_str(), flags));
    }
    if (!fd) {
        return last_error(link);
    }
    return fd;
}

Result<Fd> reopen_regular(int path_fd) {
    struct stat facts {};
    if (::fstat(path_fd, &facts) != 0) {
        return last_error("fstat");
    }
    if (!S_ISREG(facts.st_mode)) {
        return Error{EINVAL, "not a regular file"};
    }
    return reopen(path_fd);
}

Result<Fd> open_by_inode(int top, const std::string& fs_type, std::uint64_t inode,
                         std::uint32_t generation) {
    constexpr int kInodeGeneration = 1;  // FILEID_INO32_GEN, include/linux/exportfs.h
    if (fs_type.rfind("ext", 0) != 0 || inode > std::numeric_limits<std::uint32_t>::max()) {
        return Error{EOPNOTSUPP, "file handles of " + fs_type};
    }
    const std::array<std::uint32_t, 2> numbers{static_cast<std::uint32_t>(inode), generation};
    alignas(file_handle) std::array<std::byte, sizeof(file_handle) + sizeof(numbers)> storage{};
    auto* handle = reinterpret_cast<file_handle*>(storage.data());
    handle->handle_bytes = sizeof(numbers);
    handle->handle_type = kInodeGeneration;
    std::memcpy(handle->f_handle, numbers.data(), sizeof(numbers));
    // The kernel wants a directory or file opened for real, not O_PATH, to name the mount.
    const Fd mount(::openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Fd fd(::open_by_handle_at(mount.get(), handle, O_PATH | O_CLOEXEC));
    if (!fd) {
        return last_error(fmt::format("inode {}", inode));
    }
    return fd;
}

Result<std::string> path_of(int fd, const Mount& mount) {
    std::string path(PATH_MAX, '\0');
    const std::string link = fmt::format("/proc/self/fd/{}", fd);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 0) {
        return last_error(link);
    }
    path.resize(static_cast<std::size_t>(length));
    struct stat facts {};
    if (::fstat(fd, &facts) != 0 || facts.st_nlink == 0) {
        return Error{ENOENT, path};
    }
    auto relative = below(path, mount.mount_point);
    if (!relative) {
        return relative.error();
    }
    const std::string root = mount.root == "/" ? "" : mount.root;
    return root + "/" + *relative;
}

}  // namespace lull::fs
