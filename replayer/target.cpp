// SPDX-License-Identifier: MIT
#include "replayer/target.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/beneath.hpp"

namespace lull::replayer {
namespace {

SkipReason reason_of(int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR:
            return SkipReason::kGone;
        case ELOOP:
        case EXDEV:
            return SkipReason::kLink;
        case EACCES:
        case EPERM:
            return SkipReason::kNotAllowed;
        default:
            return SkipReason::kCannotOpen;
    }
}

Refusal refusal_of_errno() {
    const int code = errno;
    return {reason_of(code), code};
}

/// Opens for reading what an O_PATH descriptor stands for: the same inode, whatever its name
/// means by now.
Opened reopen(const Fd& found, int flags) {
    auto fd = fs::reopen(found.get(), flags);
    if (!fd) {
        return Refusal{reason_of(fd.error().code), fd.error().code};
    }
    // Only opening had to be kept from waiting, as on a leased file; reads should wait.
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) & ~O_NONBLOCK);
    return *std::move(fd);
}

std::optional<Refusal> compare(const struct stat& now, const db::File& then) {
    const bool kind_agrees = (then.kind == db::FileKind::kRegular && S_ISREG(now.st_mode)) ||
                             (then.kind == db::FileKind::kDirectory && S_ISDIR(now.st_mode)) ||
                             then.kind == db::FileKind::kInode;
    if (!kind_agrees) {
        return Refusal{SkipReason::kNotRegular, 0};
    }
    bool same = now.st_ino == then.inode;
    if (then.kind == db::FileKind::kRegular) {
        const std::int64_t mtime_ns = now.st_mtim.tv_sec * 1'000'000'000 + now.st_mtim.tv_nsec;
        same = same && static_cast<std::uint64_t>(now.st_size) == then.size &&
               mtime_ns == then.mtime_ns;
    }
    return same ? std::nullopt : std::optional(Refusal{SkipReason::kChanged, 0});
}

std::string join(const std::string& root, const std::string& path) {
    if (path == "/") {
        return root;
    }
    return root == "/" ? path : root + path;
}

/// Whether the path led to this mount and not to one that hides it.
bool is_of(const Fd& root, const fs::Mount& mount) {
    struct statx about {};
    if (::statx(root.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &about) != 0) {
        return false;
    }
    if ((about.stx_mask & STATX_MNT_ID) != 0) {
        return about.stx_mnt_id == mount.id;
    }
    // Before Linux 5.8. (On btrfs the number is that of the subvolume and never agrees.)
    return about.stx_dev_major == mount.major && about.stx_dev_minor == mount.minor;
}

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The kernel's name of a block device, from the line DEVNAME=... of its uevent file.
std::string device_name(const std::string& uevent) {
    constexpr std::string_view kKey = "DEVNAME=";
    const std::size_t at = uevent.find(kKey);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + kKey.size();
    return uevent.substr(begin, uevent.find('\n', begin) - begin);
}

}  // namespace

Opened Target::look_up(const db::File& file) const {
    if (file.kind == db::FileKind::kDevice) {
        return look_up_disk();
    }
    const auto path = fs::path_in_mount(mount_, file.path);
    if (!path) {
        return Refusal{SkipReason::kOutsideMount, 0};
    }
    if (path->find('\0') != std::string::npos) {
        return Refusal{SkipReason::kGone, 0};
    }
    auto found = fs::open_beneath(root_.get(), *path);
    if (!found) {
        return Refusal{reason_of(found.error().code), found.error().code};
    }
    struct stat status {};
    if (::fstat(found->get(), &status) != 0) {
        return refusal_of_errno();
    }
    if (const auto refusal = compare(status, file)) {
        return *refusal;
    }
    return *std::move(found);
}

// By number, since names of disks are a matter of luck: the name is asked of the kernel, and what
// lies there must have that number.
Opened Target::look_up_disk() const {
    const std::string number = fmt::format("{}:{}", mount_.major, mount_.minor);
    const std::string name =
        device_name(read_text(paths_.sysfs + "/dev/block/" + number + "/uevent"));
    if (name.empty()) {
        return Refusal{SkipReason::kGone, ENODEV};
    }
    Fd found(::open((paths_.dev + "/" + name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!found) {
        return refusal_of_errno();
    }
    struct stat status {};
    if (::fstat(found.get(), &status) != 0) {
        return refusal_of_errno();
    }
    if (!S_ISBLK(status.st_mode) || status.st_rdev != makedev(mount_.major, mount_.minor)) {
        return Refusal{SkipReason::kNotRegular, 0};
    }
    return found;
}

Opened Target::open(const db::File& file) const {
    Opened found = look_up(file);
    if (const Fd* fd = std::get_if<Fd>(&found)) {
        return reopen(*fd, file.kind == db::FileKind::kDirectory ? O_DIRECTORY : 0);
    }
    return found;
}

std::optional<Refusal> Target::check(const db::File& file) const {
    const Opened found = look_up(file);
    const Refusal* refusal = std::get_if<Refusal>(&found);
    return refusal == nullptr ? std::nullopt : std::optional(*refusal);
}

std::optional<Refusal> Target::visit(const db::File& file) const {
    if (file.kind != db::FileKind::kDirectory) {
        return check(file);  // looking it up is all that there is to do
    }
    const Opened opened = open(file);
    if (const Refusal* refusal = std::get_if<Refusal>(&opened)) {
        return *refusal;
    }
    std::array<char, 32768> entries{};
    const int fd = std::get<Fd>(opened).get();
    while (true) {
        const ssize_t got = ::getdents64(fd, entries.data(), entries.size());
        if (got < 0) {
            return Refusal{SkipReason::kReadError, errno};
        }
        if (got == 0) {
            return std::nullopt;
        }
    }
}

std::optional<std::uint64_t> Target::read_cap() const {
    const std::string disk =
        fmt::format("{}/dev/block/{}:{}", paths_.sysfs, mount_.major, mount_.minor);
    std::uint64_t kib = 0;
    for (const char* name : {"read_ahead_kb", "max_sectors_kb"}) {
        for (const char* queue : {"/queue/", "/../queue/"}) {  // a partition's is one level up
            std::uint64_t value = 0;
            if (std::ifstream(disk + queue + name) >> value) {
                kib = std::max(kib, value);
                break;
            }
        }
    }
    return kib == 0 ? std::nullopt : std::optional(kib * 1024);
}

Result<TargetFinder> TargetFinder::open(const SystemPaths& paths) {
    auto mounts = fs::read_mounts(paths.mountinfo);
    if (!mounts) {
        return mounts.error();
    }
    std::error_code error;
    SystemPaths real = paths;
    real.root = std::filesystem::canonical(paths.root, error).string();
    if (error) {
        return Error{error.value(), paths.root};
    }
    return TargetFinder{std::move(real), *std::move(mounts)};
}

const std::string& TargetFinder::uuid_of(const fs::Mount& mount) {
    const auto [place, is_new] = uuids_.try_emplace(Number{mount.major, mount.minor});
    if (is_new) {
        if (auto uuid = fs::file_system_uuid(mount)) {
            place->second = *std::move(uuid);
        }
    }
    return place->second;
}

bool TargetFinder::is_recorded(const fs::Mount& mount, const db::Device& device) {
    if (mount.fs_type != device.fs_type || !fs::at_or_below(mount.mount_point, paths_.root)) {
        return false;
    }
    if (device.fs_uuid.empty()) {
        return mount.major == device.major && mount.minor == device.minor;
    }
    return uuid_of(mount) == device.fs_uuid;
}

const fs::Mount* TargetFinder::preferred(const db::Device& device) {
    const std::string expected = join(paths_.root, device.mount_point);
    const fs::Mount* first = nullptr;
    for (const fs::Mount& mount : mounts_) {
        if (!is_recorded(mount, device)) {
            continue;
        }
        if (mount.mount_point == expected) {
            return &mount;
        }
        first = first == nullptr ? &mount : first;
    }
    return first;
}

Result<Target> TargetFinder::find(const db::Device& device) {
    if (const fs::Mount* chosen = preferred(device)) {
        // Mounts out of bounds stay in the table without a number: they may hide others.
        std::vector<fs::Mount> table = mounts_;
        for (fs::Mount& mount : table) {
            if (!fs::at_or_below(mount.mount_point, paths_.root)) {
                mount.major = mount.minor = 0;
            }
        }
        if (const fs::Mount* best = fs::best_mount(table, chosen->major, chosen->minor)) {
            Fd root(::open(best->mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            if (root && is_of(root, *best)) {
                return Target{*best, std::move(root), paths_};
            }
        }
    }
    return Error{ENODEV, fmt::format("{} file system {} of {} is not mounted", device.fs_type,
                                     device.fs_uuid.empty() ? "without UUID" : device.fs_uuid,
                                     device.mount_point)};
}

}  // namespace lull::replayer
