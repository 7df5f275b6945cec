// SPDX-License-Identifier: MIT
// Finds the recorded file systems in this system, and opens the recorded files in them: regular
// files, directories and the recorded disks, nothing else, and never through a link.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "db/trace.hpp"
#include "fs/mounts.hpp"
#include "replayer/skip.hpp"

namespace lull::replayer {

/// Where the system is looked at; tests hand in their own.
struct SystemPaths {
    std::string root = "/";  ///< only file systems mounted here or below are replayed
    std::string mountinfo = "/proc/self/mountinfo";
    std::string meminfo = "/proc/meminfo";
    std::string sysfs = "/sys";
    std::string dev = "/dev";
};

/// Why a file was not opened; `code` is the errno behind it, 0 if there is none.
struct Refusal {
    SkipReason reason = SkipReason::kGone;
    int code = 0;
};

using Opened = std::variant<Fd, Refusal>;

/// One recorded file system, found.
class Target {
  public:
    /// `root` is a descriptor of the directory that is mounted at `mount.mount_point`.
    Target(fs::Mount mount, Fd root, SystemPaths paths)
        : mount_(std::move(mount)), root_(std::move(root)), paths_(std::move(paths)) {}

    /// A descriptor for reading, O_NOATIME where that is allowed. A regular file has to have the
    /// recorded inode, size and time, a directory the inode, a disk the number of the mount.
    [[nodiscard]] Opened open(const db::File& file) const;
    /// Looks the file up, as open() does, and compares, but opens nothing for reading.
    [[nodiscard]] std::optional<Refusal> check(const db::File& file) const;
    /// Brings a directory (its entries) or an inode (itself) into memory.
    [[nodiscard]] std::optional<Refusal> visit(const db::File& file) const;

    [[nodiscard]] const fs::Mount& mount() const { return mount_; }
    /// Bytes that the kernel reads ahead in one call on this disk at most: the larger of
    /// read_ahead_kb and max_sectors_kb. Nothing if sysfs does not tell.
    [[nodiscard]] std::optional<std::uint64_t> read_cap() const;

  private:
    [[nodiscard]] Opened look_up(const db::File& file) const;
    [[nodiscard]] Opened look_up_disk() const;

    fs::Mount mount_;
    Fd root_;
    SystemPaths paths_;
};

/// Looks for recorded file systems among those that are mounted.
class TargetFinder {
  public:
    /// Reads the mount table. Errors are those of fs::read_mounts.
    static Result<TargetFinder> open(const SystemPaths& paths);

    /// By UUID; by type and number if the trace has no UUID. Of several file systems with the
    /// same UUID (copies) the one at the recorded mount point below `root`, else the first; of
    /// several mounts of it fs::best_mount. ENODEV if it is not mounted at `root` or below, or
    /// only where another mount hides it.
    [[nodiscard]] Result<Target> find(const db::Device& device);

  private:
    using Number = std::pair<std::uint32_t, std::uint32_t>;

    TargetFinder(SystemPaths paths, std::vector<fs::Mount> mounts)
        : paths_(std::move(paths)), mounts_(std::move(mounts)) {}
    [[nodiscard]] bool is_recorded(const fs::Mount& mount, const db::Device& device);
    /// A mount of the file system to take, to know its number.
    [[nodiscard]] const fs::Mount* preferred(const db::Device& device);
    [[nodiscard]] const std::string& uuid_of(const fs::Mount& mount);

    SystemPaths paths_;
    std::vector<fs::Mount> mounts_;
    std::map<Number, std::string> uuids_;  ///< asked for once; empty if there is none
};

}  // namespace lull::replayer
