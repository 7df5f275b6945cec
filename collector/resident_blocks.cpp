// SPDX-License-Identifier: MIT
#include "collector/resident_blocks.hpp"

#include <algorithm>

#include "collector/raw_trace.hpp"
#include "fs/residency.hpp"

namespace lull::collector {
namespace {

constexpr std::uint64_t kPiece = 4096;  // pages that one mincore is asked about: 16 MiB
constexpr std::uint64_t kParts = 8;

class Blocks {
  public:
    /// Pages must come in order.
    void add(std::uint64_t page) {
        const auto block = static_cast<std::uint32_t>(page / kPagesPerBlock);
        if (blocks_.empty() || blocks_.back().block != block) {
            blocks_.push_back({block, 0});
        }
        blocks_.back().mask |= 1U << page % kPagesPerBlock;
    }
    std::vector<BlockMask> take() { return std::move(blocks_); }

  private:
    std::vector<BlockMask> blocks_;
};

/// Halves the question until the answer is all or nothing.
Result<void> count_range(int fd, std::uint64_t first, std::uint64_t pages, Blocks& blocks) {
    const auto count = fs::resident_count(fd, first, pages);
    if (!count) {
        return count.error();
    }
    if (*count >= pages) {
        for (std::uint64_t page = first; page < first + pages; ++page) {
            blocks.add(page);
        }
        return {};
    }
    const std::uint64_t part = (pages + kParts - 1) / kParts;
    for (std::uint64_t at = first; *count != 0 && at < first + pages; at += part) {
        const std::uint64_t here = std::min(part, first + pages - at);
        if (auto done = count_range(fd, at, here, blocks); !done) {
            return done;
        }
    }
    return {};
}

Result<void> list_range(int fd, std::uint64_t pages, Blocks& blocks) {
    for (std::uint64_t first = 0; first < pages; first += kPiece) {
        const auto resident = fs::resident_pages(fd, first, std::min(kPiece, pages - first));
        if (!resident) {
            return resident.error();
        }
        for (std::uint64_t i = 0; i < resident->size(); ++i) {
            if ((*resident)[i]) {
                blocks.add(first + i);
            }
        }
    }
    return {};
}

}  // namespace

Result<std::vector<BlockMask>> resident_blocks(int fd, std::uint64_t pages) {
    Blocks blocks;
    const auto done =
        fs::counts_cheaply() ? count_range(fd, 0, pages, blocks) : list_range(fd, pages, blocks);
    if (!done) {
        return done.error();
    }
    return blocks.take();
}

std::uint32_t mask_of(const std::vector<BlockMask>& blocks, std::uint32_t block) {
    const auto found = std::lower_bound(
        blocks.begin(), blocks.end(), block,
        [](const BlockMask& have, std::uint32_t wanted) { return have.block < wanted; });
    return found != blocks.end() && found->block == block ? found->mask : 0;
}

}  // namespace lull::collector
