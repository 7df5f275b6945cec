// SPDX-License-Identifier: MIT
// The file systems that are recorded, and where in them a descriptor points.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "base/result.hpp"
#include "collector/raw_trace.hpp"
#include "fs/mounts.hpp"

namespace lull::collector {

class MountTable {
  public:
    /// `scope` as Scope::devices.
    MountTable(std::string mountinfo, std::vector<KernelDevice> scope)
        : mountinfo_(std::move(mountinfo)), scope_(std::move(scope)) {}

    /// Reads the table again. After an error the old one stays.
    Result<void> refresh();
    [[nodiscard]] const std::vector<fs::Mount>& mounts() const { return mounts_; }
    /// The best mount of each file system in scope that can be reached.
    [[nodiscard]] std::vector<const fs::Mount*> recorded() const;
    [[nodiscard]] const fs::Mount* best(KernelDevice device) const {
        return fs::best_mount(mounts_, major_of(device), minor_of(device));
    }

    /// The file system in scope that a file lies on; none if it is out of scope. A subvolume of
    /// btrfs has a number of its own, which the mount (STATX_MNT_ID) leads back.
    std::optional<KernelDevice> device_of(const struct statx& facts);

    /// The path inside its file system of what `fd` is open on, also if it has been deleted; empty
    /// if it cannot be told.
    [[nodiscard]] std::string path_of(int fd, const struct statx& facts) const;

  private:
    [[nodiscard]] bool in_scope(const fs::Mount& mount) const;
    [[nodiscard]] const fs::Mount* by_id(const struct statx& facts) const;

    std::string mountinfo_;
    std::vector<KernelDevice> scope_;
    std::vector<fs::Mount> mounts_;
    std::map<KernelDevice, KernelDevice> device_of_number_;  ///< st_dev -> superblock, in scope
};

}  // namespace lull::collector
