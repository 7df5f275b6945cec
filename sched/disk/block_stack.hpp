// SPDX-License-Identifier: MIT
// From a path, a mount or a device down to the whole disks that its data lies on: through
// partitions, device mapper, md, btrfs on several devices, and the files of loop devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"
#include "fs/mounts.hpp"
#include "sched/disk/block_device.hpp"

namespace lull::sched {

enum class Layer : std::uint8_t {
    kDisk,
    kPartition,
    kCrypt,      ///< dm-crypt: LUKS and others
    kLvm,        ///< a logical volume, of whatever targets
    kMultipath,  ///< several ways to one disk
    kMapper,     ///< any other device-mapper device: linear, verity, thin, a partition by kpartx
    kRaid,       ///< md
    kLoop,
    kStacked,  ///< lies on others in a way not known here, e.g. bcache
};
[[nodiscard]] std::string_view to_string(Layer layer);

/// A block device and what it lies on.
struct StackNode {
    dev_t number = 0;
    std::string name;  ///< as BlockDevice::name()
    Layer layer = Layer::kDisk;
    /// What its name does not tell: "LUKS2 home", "raid1", the file of a loop device.
    std::string about;
    /// Why the way down ends here although the data lies somewhere else; empty where it does not.
    std::string ends;
    std::vector<StackNode> below;  ///< empty: this is the whole disk, for all that can be known
};

/// ENODEV if there is no such device.
Result<StackNode> stack_of(dev_t number, const SystemRoots& roots = {});

/// The devices that a mounted file system lies on, more than one only on btrfs. ENODEV if it lies
/// on none that can be seen (tmpfs, NFS, overlay).
Result<std::vector<StackNode>> stacks_of(const fs::Mount& mount, const SystemRoots& roots = {});

/// What a user names.
struct Place {
    std::optional<fs::Mount> mount;  ///< of a file or directory; none of a device
    std::vector<StackNode> devices;
};
/// `name`: a file or directory (the file system that it lies on), a node, or the name of a device
/// ("sda1"), tried in this order.
Result<Place> find_place(const std::string& name, const SystemRoots& roots = {});

/// The devices below which there are no others, each once, from left to right.
std::vector<dev_t> disks_below(const std::vector<StackNode>& nodes);

/// All whole disks that have a medium, by name: what lies on no other block device. Without the
/// hidden paths of a multipath NVMe.
Result<std::vector<BlockDevice>> whole_disks(const SystemRoots& roots = {});

}  // namespace lull::sched
