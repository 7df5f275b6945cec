// SPDX-License-Identifier: MIT
// What is true of a recorded file when the trace ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "fs/extents.hpp"
#include "fs/mounts.hpp"

namespace lull::collector {

/// Looks at the files of one mounted file system.
class FileFacts {
  public:
    explicit FileFacts(const fs::Mount& mount);

    struct Facts {
        bool deleted = true;
        std::string path;  ///< the present one, or the one asked about if there is none
        std::uint64_t size = 0;
        std::int64_t mtime_ns = 0;
        std::vector<fs::Extent> extents;  ///< empty where the file system does not tell
        std::vector<bool> resident;       ///< a flag a page from page 0; only if asked for
    };
    /// `path` is where the file was at its first use; a file that was renamed since is found by its
    /// inode where the file system allows.
    [[nodiscard]] Facts look(const std::string& path, std::uint64_t inode, std::uint32_t generation,
                             bool want_residency) const;

  private:
    [[nodiscard]] Fd find(std::string& path, std::uint64_t inode, std::uint32_t generation) const;

    const fs::Mount& mount_;
    Fd top_;
};

}  // namespace lull::collector
