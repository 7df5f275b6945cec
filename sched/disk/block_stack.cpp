// SPDX-License-Identifier: MIT
#include "sched/disk/block_stack.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.hpp"
#include "sched/disk/sysfs.hpp"

namespace lull::sched {
namespace {

namespace stdfs = std::filesystem;

// Real stacks have five layers or so; a loop device may be made to lie on itself.
constexpr int kMostLayers = 16;

std::string value_or_empty(const stdfs::path& file) {
    auto value = read_value(file);
    return value ? *std::move(value) : std::string();
}

/// The names in a directory of sysfs, sorted; none if it is not there.
std::vector<std::string> entries(const stdfs::path& directory) {
    std::vector<std::string> names;
    std::error_code code;
    for (stdfs::directory_iterator entry(directory, code), end; !code && entry != end;
         entry.increment(code)) {
        names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// What made a device-mapper device writes its kind in front of the UUID: "CRYPT-LUKS2-...",
/// "LVM-...", "mpath-...", "part1-mpath-...". That of the targets would take an ioctl and tell
/// less.
void describe_mapper(const stdfs::path& directory, StackNode& node) {
    struct Kind {
        std::string_view prefix;
        Layer layer;
        std::string_view words;
    };
    static constexpr std::array kKinds{
        Kind{"CRYPT-LUKS1-", Layer::kCrypt, "LUKS1"},
        Kind{"CRYPT-LUKS2-", Layer::kCrypt, "LUKS2"},
        Kind{"CRYPT-VERITY-", Layer::kMapper, "verity"},
        Kind{"CRYPT-INTEGRITY-", Layer::kMapper, "integrity"},
        Kind{"CRYPT-", Layer::kCrypt, "crypt"},
        Kind{"LVM-", Layer::kLvm, "LVM"},
        Kind{"mpath-", Layer::kMultipath, "multipath"},
    };
    const std::string uuid = value_or_empty(directory / "dm/uuid");
    const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& one) {
        return uuid.starts_with(one.prefix);
    });
    const bool known = kind != kKinds.end();
    node.layer = known ? kind->layer : Layer::kMapper;
    node.about =
        std::string(known ? kind->words : "dm") + " " + value_or_empty(directory / "dm/name");
}

/// Where the file of a loop device lies.
struct Backing {
    std::string path;                  ///< as it was named when it was attached
    std::optional<dev_t> file_system;  ///< none: only the path is known
    std::optional<dev_t> device;       ///< the file is itself a block device
};

/// The kernel knows the file better than its path does, which may be deleted by now or be one of
/// another mount namespace. But it takes the loop device's node to ask.
void ask_loop(const stdfs::path& node, Backing& backing) {
    const Fd device(::open(node.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    loop_info64 info{};
    if (!device || ::ioctl(device.get(), LOOP_GET_STATUS64, &info) != 0) {
        return;
    }
    if (info.lo_device != 0) {
        backing.file_system = static_cast<dev_t>(info.lo_device);
    }
    if (major(info.lo_rdevice) != 0 && info.lo_rdevice != info.lo_device) {
        backing.device = static_cast<dev_t>(info.lo_rdevice);
    }
}

/// Whether the nearest directory above `path` that exists has files of this number: the path may be
/// one of another mount namespace, where it means something else.
bool lies_in(const stdfs::path& path, dev_t file_system) {
    for (auto directory = path.parent_path(); !directory.empty();
         directory = directory.parent_path()) {
        struct stat facts {};
        if (::stat(directory.c_str(), &facts) == 0) {
            return facts.st_dev == file_system;
        }
        if (directory == directory.root_path()) {
            break;
        }
    }
    return false;
}

/// Builds one stack; knows the mounts, which are read once and only if there is a loop device.
class Descent {
  public:
    explicit Descent(const SystemRoots& roots) : roots_(roots) {}

    Result<StackNode> below(const BlockDevice& device, int layers) {
        StackNode node;
        node.number = device.number();
        node.name = device.name();
        const auto& directory = device.directory();
        const auto slaves = entries(directory / "slaves");
        if (layers >= kMostLayers) {
            node.ends = "more layers than are followed";
        } else if (device.partition()) {
            node.layer = Layer::kPartition;
            add(directory.parent_path().filename().string(), layers, node);
        } else if (stdfs::exists(directory / "loop/backing_file")) {
            node.layer = Layer::kLoop;
            add_file(device, layers, node);
        } else {
            describe_stacked(directory, !slaves.empty(), node);
            for (const std::string& slave : slaves) {
                add(slave, layers, node);
            }
        }
        return node;
    }

    Result<std::vector<StackNode>> below(const fs::Mount& mount, int layers) {
        std::vector<StackNode> nodes;
        for (const BlockDevice& device : devices_of(mount)) {
            if (auto node = below(device, layers)) {
                nodes.push_back(*std::move(node));
            }
        }
        if (nodes.empty()) {
            return Error{ENODEV, "no block device is below the " + mount.fs_type + " at " +
                                     mount.mount_point};
        }
        return nodes;
    }

    Result<const std::vector<fs::Mount>*> mounts() {
        if (!mounts_) {
            auto read = fs::read_mounts(roots_.mountinfo.string());
            if (!read) {
                return read.error();
            }
            mounts_ = *std::move(read);
        }
        return &*mounts_;
    }

  private:
    static void describe_stacked(const stdfs::path& directory, bool has_slaves, StackNode& node) {
        if (stdfs::exists(directory / "dm")) {
            describe_mapper(directory, node);
        } else if (stdfs::exists(directory / "md")) {
            node.layer = Layer::kRaid;
            node.about = value_or_empty(directory / "md/level");
        } else if (has_slaves) {
            node.layer = Layer::kStacked;
        }
    }

    void add(const std::string& name, int layers, StackNode& node) {
        // A device that went away between the directory and here is no longer part of the stack.
        if (auto device = BlockDevice::find(name, roots_)) {
            if (auto deeper = below(*device, layers + 1)) {
                node.below.push_back(*std::move(deeper));
            }
        }
    }

    void add_file(const BlockDevice& device, int layers, StackNode& node) {
        Backing backing;
        backing.path = value_or_empty(device.directory() / "loop/backing_file");
        node.about = backing.path;
        ask_loop(device.node(), backing);
        if (!backing.device && backing.path.starts_with("/dev/")) {
            if (auto named = BlockDevice::find(backing.path, roots_)) {
                backing.device = named->number();
            }
        }
        if (backing.device) {
            if (auto below_it = BlockDevice::find(*backing.device, roots_)) {
                add(below_it->name(), layers, node);
                return;
            }
        }
        const auto* const mount = mount_of(backing);
        if (mount == nullptr) {
            node.ends = "the file's file system cannot be seen from here";
            return;
        }
        auto deeper = below(*mount, layers + 1);
        if (deeper) {
            node.below = *std::move(deeper);
        } else {
            node.ends = "the file lies on no block device (" + mount->fs_type + ")";
        }
    }

    /// The mount that shows the file system of a loop device's file.
    const fs::Mount* mount_of(const Backing& backing) {
        const auto table = mounts();
        if (!table) {
            return nullptr;
        }
        if (!backing.file_system) {
            return fs::mount_of(**table, backing.path);
        }
        const auto found =
            std::find_if((*table)->begin(), (*table)->end(), [&](const fs::Mount& mount) {
                return ::makedev(mount.major, mount.minor) == *backing.file_system;
            });
        if (found != (*table)->end()) {
            return &*found;
        }
        // btrfs gives its files numbers that no mount has.
        return lies_in(backing.path, *backing.file_system) ? fs::mount_of(**table, backing.path)
                                                           : nullptr;
    }

    /// The block devices right below a file system.
    [[nodiscard]] std::vector<BlockDevice> devices_of(const fs::Mount& mount) const {
        if (mount.major != 0) {
            auto device = BlockDevice::find(::makedev(mount.major, mount.minor), roots_);
            return device ? std::vector<BlockDevice>{*std::move(device)}
                          : std::vector<BlockDevice>{};
        }
        if (!fs::on_block_device(mount)) {
            return {};
        }
        auto named = BlockDevice::find(mount.source, roots_);
        if (!named) {
            return {};
        }
        return mount.fs_type == "btrfs" ? members_beside(*std::move(named))
                                        : std::vector<BlockDevice>{*std::move(named)};
    }

    /// All devices of the btrfs that `member` is one of.
    [[nodiscard]] std::vector<BlockDevice> members_beside(BlockDevice member) const {
        const auto all = roots_.sys / "fs/btrfs";
        std::string name = member.directory().filename().string();
        for (const std::string& uuid : entries(all)) {
            const auto names = entries(all / uuid / "devices");
            if (std::find(names.begin(), names.end(), name) == names.end()) {
                continue;
            }
            std::vector<BlockDevice> members;
            for (const std::string& one : names) {
                if (auto device = BlockDevice::find(one, roots_)) {
                    members.push_back(*std::move(device));
                }
            }
            return members;
        }
        return {std::move(member)};
    }

    const SystemRoots& roots_;
    std::optional<std::vector<fs::Mount>> mounts_;
};

void collect_disks(const StackNode& node, std::vector<dev_t>& disks) {
    if (node.below.empty()) {
        if (std::find(disks.begin(), disks.end(), node.number) == disks.end()) {
            disks.push_back(node.number);
        }
        return;
    }
    for (const StackNode& deeper : node.below) {
        collect_disks(deeper, disks);
    }
}

Result<Place> place_of_device(const BlockDevice& device, Descent& descent) {
    auto node = descent.below(device, 0);
    if (!node) {
        return node.error();
    }
    return Place{std::nullopt, {*std::move(node)}};
}

Result<Place> place_of_file(const std::string& path, Descent& descent) {
    const auto table = descent.mounts();
    if (!table) {
        return table.error();
    }
    const fs::Mount* mount = fs::mount_of(**table, path);
    if (mount == nullptr) {
        return Error{ENODEV, path + " is on no mounted file system"};
    }
    auto nodes = descent.below(*mount, 0);
    if (!nodes) {
        return nodes.error().in(path);
    }
    return Place{*mount, *std::move(nodes)};
}

}  // namespace

std::string_view to_string(Layer layer) {
    static constexpr std::array<std::string_view, 9> kNames{
        "disk", "partition", "crypt", "lvm", "multipath", "mapper", "raid", "loop", "stacked"};
    return kNames.at(static_cast<std::size_t>(layer));
}

Result<StackNode> stack_of(dev_t number, const SystemRoots& roots) {
    const auto device = BlockDevice::find(number, roots);
    return device ? Descent(roots).below(*device, 0) : device.error();
}

Result<std::vector<StackNode>> stacks_of(const fs::Mount& mount, const SystemRoots& roots) {
    return Descent(roots).below(mount, 0);
}

Result<Place> find_place(const std::string& name, const SystemRoots& roots) {
    Descent descent(roots);
    std::error_code code;
    const auto real = stdfs::canonical(name, code);
    if (!code && !stdfs::is_block_file(real)) {
        return place_of_file(real.string(), descent);
    }
    const auto device = BlockDevice::find(name, roots);
    if (!device) {
        // What is no path either is told as such.
        return code ? Error{code.value(), name} : device.error();
    }
    return place_of_device(*device, descent);
}

std::vector<dev_t> disks_below(const std::vector<StackNode>& nodes) {
    std::vector<dev_t> disks;
    for (const StackNode& node : nodes) {
        collect_disks(node, disks);
    }
    return disks;
}

Result<std::vector<BlockDevice>> whole_disks(const SystemRoots& roots) {
    const auto directory = roots.sys / "block";
    std::error_code code;
    if (!stdfs::is_directory(directory, code)) {
        return Error{ENOENT, directory.string()};
    }
    std::vector<BlockDevice> disks;
    Descent descent(roots);
    for (const std::string& name : entries(directory)) {
        const auto sectors = read_number(directory / name / "size");
        const bool has_medium = sectors && *sectors != 0;
        if (!has_medium || value_or_empty(directory / name / "hidden") == "1") {
            continue;
        }
        auto device = BlockDevice::find(name, roots);
        if (!device) {
            continue;
        }
        const auto node = descent.below(*device, 0);
        if (node && node->below.empty()) {
            disks.push_back(*std::move(device));
        }
    }
    return disks;
}

}  // namespace lull::sched
