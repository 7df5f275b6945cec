// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <blkid/blkid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.hpp"
#include "fs/mounts.hpp"

namespace lull::fs {
namespace {

// FS_IOC_GETFSUUID and struct fsuuid2 of include/uapi/linux/fs.h, since Linux 6.9 (commit
// 41bcbe59c3b3, "fs: FS_IOC_GETUUID"); older headers lack them.
struct KernelUuid {
    std::uint8_t length = 0;
    std::uint8_t bytes[16] = {};  // NOLINT: the kernel's layout
};
constexpr unsigned long kGetFsUuid = _IOR(0x15, 0, KernelUuid);

/// All zeros: what a file system made without a UUID has; it identifies nothing.
bool is_nil(const KernelUuid& uuid) {
    return std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes),
                       [](std::uint8_t byte) { return byte == 0; });
}

std::string with_dashes(const KernelUuid& uuid) {
    std::string text;
    for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        text += fmt::format("{:02x}", uuid.bytes[i]);
    }
    return text;
}

/// Nothing if the kernel does not tell; empty if the file system has no UUID.
std::optional<std::string> ask_kernel(const Mount& mount) {
    // A dead FUSE server would hold the open for ever, and FUSE has no UUID to give.
    if (mount.fs_type.starts_with("fuse")) {
        return std::nullopt;
    }
    const Fd root(::open(mount.mount_point.c_str(), O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC));
    if (!root) {
        return std::nullopt;
    }
    // Something mounted later may hide this mount: then the answer would be about another one.
    struct statx about {};
    if (::statx(root.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &about) != 0 ||
        (mount.major != 0 &&
         (about.stx_dev_major != mount.major || about.stx_dev_minor != mount.minor))) {
        return std::nullopt;
    }
    KernelUuid uuid;
    if (::ioctl(root.get(), kGetFsUuid, &uuid) != 0 || uuid.length != sizeof(uuid.bytes)) {
        return std::nullopt;
    }
    return is_nil(uuid) ? std::string() : with_dashes(uuid);
}

Result<std::string> ask_blkid(const std::string& device) {
    const std::unique_ptr<blkid_struct_probe, decltype(&blkid_free_probe)> probe(
        blkid_new_probe_from_filename(device.c_str()), &blkid_free_probe);
    if (!probe) {
        return last_error(device);
    }
    blkid_probe_enable_superblocks(probe.get(), 1);
    blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_UUID);
    constexpr int kAmbivalent = -2;
    const int found = blkid_do_safeprobe(probe.get());
    if (found < 0 && found != kAmbivalent) {
        return Error{errno != 0 ? errno : EIO, device};
    }
    const char* uuid = nullptr;
    if (found != 0 || blkid_probe_lookup_value(probe.get(), "UUID", &uuid, nullptr) != 0) {
        return Error{ENODATA, "UUID of " + device};
    }
    return std::string(uuid);
}

}  // namespace

std::string device_node(const Mount& mount) {
    struct stat about {};
    const bool is_node = ::stat(mount.source.c_str(), &about) == 0 && S_ISBLK(about.st_mode) &&
                         (mount.major == 0 || about.st_rdev == ::makedev(mount.major, mount.minor));
    if (is_node) {
        return mount.source;
    }
    const auto link = fmt::format("/sys/dev/block/{}:{}", mount.major, mount.minor);
    std::error_code absent;
    std::string name = std::filesystem::read_symlink(link, absent).filename().string();
    std::replace(name.begin(), name.end(), '!', '/');  // as sysfs spells "cciss/c0d0"
    return absent ? mount.source : "/dev/" + name;
}

Result<std::string> file_system_uuid(const Mount& mount) {
    // A tmpfs and its like are given a random UUID at each mount, which blkid never sees.
    if (!on_block_device(mount)) {
        return Error{ENODATA, "UUID of " + mount.mount_point};
    }
    if (auto uuid = ask_kernel(mount)) {
        if (uuid->empty()) {
            return Error{ENODATA, "UUID of " + mount.mount_point};
        }
        return *std::move(uuid);
    }
    return ask_blkid(device_node(mount));
}

}  // namespace lull::fs
