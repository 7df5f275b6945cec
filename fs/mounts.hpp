// SPDX-License-Identifier: MIT
// Which file systems are mounted, and who they are. The lowest floor: knows nothing of lull.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace lull::fs {

/// One line of mountinfo (proc(5)), with its octal escapes undone.
struct Mount {
    std::uint32_t major = 0;  ///< of the superblock (s_dev); on btrfs not the st_dev of its files
    std::uint32_t minor = 0;
    std::string root;         ///< which part of the file system is mounted: "/" for all of it
    std::string mount_point;  ///< absolute
    std::string fs_type;
    std::string source;        ///< as given to mount(2), e.g. "/dev/sda1" or "tmpfs"
    std::string options;       ///< per mount, e.g. "rw,relatime"
    std::uint32_t id = 0;      ///< of the mount; given to another one after an unmount
    std::uint32_t parent = 0;  ///< id of the mount it lies on; at the top itself or not listed
};

/// Whether the file system lies on a block device, so that reading its files may read a disk: it
/// has the number of one, or (btrfs and others that take an anonymous number) names one as its
/// source.
bool on_block_device(const Mount& mount);

/// Parses a mountinfo file. Lines that make no sense are an error (EBADMSG), never skipped.
Result<std::vector<Mount>> read_mounts(const std::string& mountinfo = "/proc/self/mountinfo");

/// Whether an absolute `path` is `directory` or lies below it, by their names alone.
bool at_or_below(std::string_view path, std::string_view directory);

/// The mount that `path` (absolute, without links) lies on: the last one mounted at the longest of
/// its parents. Null if there is none.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path);

/// The mount through which files of (major, minor) are best reached: the whole file system rather
/// than a part of it, then the shortest mount point; later mounts that cover a mount point win over
/// those they hide (told by `id` and `parent`, not by the order of lines, which a moved mount
/// breaks). Null if there is none that a path leads to.
const Mount* best_mount(const std::vector<Mount>& mounts, std::uint32_t major, std::uint32_t minor);

/// The node of the block device it lies on: the source, or where that is no node of the same device
/// ("/dev/root" is a name that only the boot loader knew) the one that sysfs gives for its number.
std::string device_node(const Mount& mount);

/// The UUID of the file system, as blkid prints it (lower case, with dashes). Asks the kernel first
/// (FS_IOC_GETFSUUID, Linux 6.9+, no disk I/O), then libblkid on the source device. An error with
/// ENODATA if the file system has none or lies on no block device.
Result<std::string> file_system_uuid(const Mount& mount);

}  // namespace lull::fs
