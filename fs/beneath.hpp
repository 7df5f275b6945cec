// SPDX-License-Identifier: MIT
// Opens what lies inside one mounted file system, and nothing else: no link is followed, no mount
// point crossed, no device or pipe opened by accident.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "fs/mounts.hpp"

namespace lull::fs {

/// A directory descriptor (O_PATH) of the mount's top. ENODEV if another mount hides it.
Result<Fd> open_mount(const Mount& mount);

/// `path` inside the file system, from '/', as seen through `mount`: relative to its top. ENOENT if
/// the mount shows only a part (Mount::root) in which the path does not lie.
Result<std::string> path_in_mount(const Mount& mount, const std::string& path);

/// Opens `relative` beneath `top` with O_PATH: no symlink in any component, no other mount
/// (openat2). ELOOP and EXDEV tell of those.
Result<Fd> open_beneath(int top, const std::string& relative);

/// Opens for reading what an O_PATH descriptor names, with O_NONBLOCK, and without touching its
/// access time where that is allowed. `flags` are added, e.g. O_DIRECTORY. The caller has made sure
/// that it may be opened: a device or a pipe can act on that.
Result<Fd> reopen(int path_fd, int flags = 0);

/// The same for a regular file; EINVAL if it is none.
Result<Fd> reopen_regular(int path_fd);

/// Finds a file by number when its path is not known or no longer true, and gives an O_PATH
/// descriptor. Only where the file handle is known to be made of inode and generation (ext2, ext3,
/// ext4, with 0 for any generation); EOPNOTSUPP elsewhere, ESTALE if the file is gone.
Result<Fd> open_by_inode(int top, const std::string& fs_type, std::uint64_t inode,
                         std::uint32_t generation);

/// The present path of a descriptor inside its file system, from '/', through `mount`. ENOENT if it
/// has none (deleted) or lies elsewhere.
Result<std::string> path_of(int fd, const Mount& mount);

}  // namespace lull::fs
