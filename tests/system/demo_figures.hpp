// SPDX-License-Identifier: MIT
// What the demo measures, and how.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "db/trace.hpp"

namespace lull::demo {

/// One start of the programs.
struct Start {
    double seconds = 0;  ///< from before the first program to the end of the last
    /// Each program with its seconds, in the order in which they ran.
    std::vector<std::pair<std::string, double>> programs;
    std::uint64_t disk_reads = 0;  ///< requests at the block device
};

/// One round: recorded cold, replayed, started again; all from the same disk.
struct Round {
    Start alone;  ///< cold, nothing recorded
    Start cold;   ///< cold, recorded
    Start after;  ///< cold, after the replay
    Start warm;   ///< once more: what was to be read is in memory
    double replay_seconds = 0;
    double recall = 0;     ///< share of the recorded pages that were in memory after the replay
    double precision = 0;  ///< bytes that the replay read from the disk per byte recorded
    std::string rung;
};

/// What a block device has read so far.
struct DiskReads {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
};

/// From /sys/block/NAME/stat, `device` being /dev/NAME.
Result<DiskReads> disk_reads(const std::string& device, const std::string& sys = "/sys");

/// Reads the file that the programs write, lines "NAME NANOSECONDS" in the order of time: the first
/// gives the begin, each of the others the end of one program. EBADMSG if it is not that.
Result<Start> read_times(const std::string& path);

/// Pages that the trace asks for, and how many of them are in memory now, page by page. Files are
/// looked for below `root`, the metadata on `device`. Files that were deleted before the trace
/// ended are left out, since nobody can ask for them again; a file whose name is not known or that
/// is not there counts as not in memory.
struct Presence {
    std::uint64_t pages = 0;
    std::uint64_t resident = 0;
};
Presence presence(const db::Trace& trace, const std::string& root, const std::string& device);

/// The median of each figure over the rounds (of the lower two middle ones, the lower).
Round median(const std::vector<Round>& rounds);

}  // namespace lull::demo
