// SPDX-License-Identifier: MIT
// What of a file or device is in memory, by 128 KiB block.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace lull::collector {

/// One block with at least one page in memory; bit n of `mask` is page block * 32 + n.
struct BlockMask {
    std::uint32_t block = 0;
    std::uint32_t mask = 0;
};

/// The blocks of the first `pages` pages (which must lie inside the file) that are not wholly out
/// of memory, in order. Where the kernel has cachestat the cost grows with what is in memory, and
/// pages of which only a part was read count (metadata of a file system with blocks of 1 KiB); else
/// it grows with `pages` (35 ns each), and they do not. Errors as fs::resident_pages.
Result<std::vector<BlockMask>> resident_blocks(int fd, std::uint64_t pages);

/// The pages of `blocks` that lie in `block`.
std::uint32_t mask_of(const std::vector<BlockMask>& blocks, std::uint32_t block);

}  // namespace lull::collector
