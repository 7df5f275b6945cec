// SPDX-License-Identifier: MIT
// What several traces together ask for: each file once, each page of it once. Pure.
//
// Open for scoring over several runs: hand in the runs that count, newest first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/trace.hpp"
#include "replayer/skip.hpp"

namespace lull::replayer {

/// Pages of one file with the same first use. Pieces of a file never overlap.
struct Piece {
    std::uint32_t file = 0;  ///< index into Demand::files
    std::uint64_t first_page = 0;
    std::uint64_t pages = 0;
    std::uint64_t first_use_ns = 0;         ///< earliest over the traces, since their starts
    std::optional<std::uint64_t> position;  ///< bytes on the device, of the first page

    [[nodiscard]] std::uint64_t end_page() const { return first_page + pages; }
};

struct Demand {
    std::vector<db::Device> devices;
    std::vector<db::File> files;  ///< File::device is an index into `devices` above
    std::vector<Piece> pieces;    ///< by file, then page; kDirectory and kInode have one, 0 pages
    std::vector<Skip> skips;      ///< what the traces name but cannot be read ahead
};

/// Devices are the same if their UUIDs are, or, without a UUID, type, mount point and number. Files
/// are the same if device, kind, inode, generation, size and time are: a file that changed between
/// two runs is two files, of which at most one will be found. Of several names of an inode the
/// first one counts. Ranges are cut at the recorded end of the file.
[[nodiscard]] Demand make_demand(const std::vector<db::Trace>& traces);

/// "mount point / path" as recorded, for people; the disk's name for kDevice.
[[nodiscard]] std::string display_path(const db::Device& device, const db::File& file);

}  // namespace lull::replayer
