// SPDX-License-Identifier: MIT
// The files that were seen open, what of them was in memory then, and what is at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "collector/mount_table.hpp"
#include "collector/process_table.hpp"
#include "collector/raw_trace.hpp"
#include "collector/resident_blocks.hpp"

namespace lull::collector {

struct SeenFile {
    std::string path;  ///< inside its file system; empty if unknown
    std::uint32_t generation = 0;
    db::FileKind kind = db::FileKind::kRegular;
    bool opened = false;  ///< during the trace; else it was open when that began
    std::uint64_t first_use_ns = 0;
    std::uint32_t user = 0;         ///< as RawBlock::user
    std::vector<BlockMask> before;  ///< in memory when it was first seen
};

class SeenFiles {
  public:
    using Key = std::pair<KernelDevice, std::uint64_t>;

    explicit SeenFiles(std::uint32_t most) : most_(most) {}

    [[nodiscard]] SeenFile* find(KernelDevice device, std::uint64_t inode);
    /// Takes down a file that was not known. `fd` may be an O_PATH descriptor. Null, and a loss,
    /// when there are too many.
    SeenFile* add(KernelDevice device, const struct statx& facts, int fd, const MountTable& mounts);
    [[nodiscard]] std::uint64_t losses() const { return losses_; }

    /// Adds the files and their pages in memory to `trace`, by first use. A file that cannot be
    /// reached by its path or number any more is added without pages.
    void harvest(const MountTable& mounts, std::uint32_t most_blocks, RawTrace& trace) const;

  private:
    std::uint32_t most_;
    std::uint64_t losses_ = 0;
    std::map<Key, SeenFile> files_;
};

/// Adds to `trace` what entered the page cache of the block device itself since `before`.
void harvest_device(KernelDevice device, const std::vector<BlockMask>& before,
                    const std::vector<BlockMask>& now, std::uint64_t first_use_ns,
                    std::uint32_t most_blocks, RawTrace& trace);

}  // namespace lull::collector
