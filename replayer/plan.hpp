// SPDX-License-Identifier: MIT
// The plan: the ordered chunks that a replay will read from one file system. Pure.
//
// Order: time-of-need windows; inside a window metadata of the disk, then directories and inodes,
// then files; inside each of these by position on the disk, and what has no position last, by time
// of need. One window (the default) makes one sorted pass: with nothing else on the disk its total
// time is the smallest, since every further window adds a sweep of the head back to the start.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/demand.hpp"

namespace lull::replayer {

struct PlanOptions {
    std::uint64_t window_ns = 0;             ///< length of a time-of-need window; 0: only one
    std::uint64_t chunk_bytes = 512 * 1024;  ///< longest read, at least a page
    /// Reading through a gap is cheaper than skipping it while gap x ns_per_byte < seek_ns. The
    /// defaults are those of a 7200 rpm disk: half a turn (4.2 ms) and the shortest seek; 100 MB/s.
    std::uint64_t seek_ns = 5'000'000;
    std::uint64_t ns_per_byte = 10;
    /// Bytes read through gaps, at most this part of the demanded bytes; the smallest gaps go
    /// first, since each saves one seek whatever its size. 0.05 keeps half of the 10 % that reading
    /// ahead may read too much for those demanded pages that the next run does not ask for.
    double read_through = 0.05;
    /// Demanded bytes beyond this are left out, what is needed last first.
    std::uint64_t max_bytes = UINT64_MAX;
};

/// One read. Of a directory or an inode: one visit, with no pages.
struct Chunk {
    std::uint32_t file = 0;  ///< index into Demand::files
    std::uint64_t first_page = 0;
    std::uint32_t pages = 0;
    std::uint32_t gap_pages = 0;            ///< of them, pages that nobody demanded
    std::uint64_t first_use_ns = 0;         ///< earliest of its pages
    std::uint64_t window = 0;               ///< index of its time-of-need window
    std::optional<std::uint64_t> position;  ///< bytes on the device

    [[nodiscard]] std::uint64_t end_page() const { return first_page + pages; }
};

struct Plan {
    std::vector<Chunk> chunks;  ///< in the order of reading
    std::uint64_t demanded_pages = 0;
    std::uint64_t gap_pages = 0;
    std::vector<Piece> over_budget;  ///< what max_bytes left out
};

/// The plan for those of `demand`'s files that lie on `device` (an index into Demand::devices).
[[nodiscard]] Plan make_plan(const Demand& demand, std::uint32_t device,
                             const PlanOptions& options = {});

/// Plans only files (`metadata` false), or only what has to be read before files can be opened
/// without seeking (true): pages of the disk, directories, inodes.
[[nodiscard]] Demand only(const Demand& demand, bool metadata);

}  // namespace lull::replayer
