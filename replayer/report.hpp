// SPDX-License-Identifier: MIT
// What a replay did, and how it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "replayer/account.hpp"
#include "replayer/demand.hpp"
#include "replayer/plan.hpp"

namespace lull::replayer {

/// One recorded file system.
struct DiskReport {
    db::Device device;        ///< as recorded
    std::string mount_point;  ///< where it is mounted now; empty if it is not
    Tally tally;
    double seconds = 0;         ///< reading, with opening and looking things up
    std::vector<Chunk> chunks;  ///< in order; filled only for a dry run
};

struct ReplayReport {
    bool dry_run = false;
    std::size_t databases = 0;          ///< used
    std::vector<std::string> warnings;  ///< a database left out, a class not set, a stop
    std::string engine;                 ///< "io_uring", "threads"; empty for a dry run
    std::uint32_t depth = 0;
    std::optional<std::string> io_class;  ///< read back; nothing if that failed
    std::uint64_t budget_bytes = 0;       ///< at most this was to be read
    bool stopped = false;                 ///< by a signal
    std::vector<DiskReport> disks;
    SkipList skips;  ///< of all disks, and what the traces could not name
    Demand demand;   ///< what the chunks refer to; filled only for a dry run

    [[nodiscard]] Tally total() const;
    [[nodiscard]] double seconds() const;
};

/// At most 80 columns. Of each reason for skipping the number of files, bytes and the first names;
/// for a dry run also the plan, a line a read.
void write_text(const ReplayReport& report, std::ostream& out);

/// One JSON object, valid UTF-8; sizes in bytes. A path that is not UTF-8 has U+FFFD for its bad
/// bytes and comes with "path_hex". All skipped files are listed.
void write_json(const ReplayReport& report, std::ostream& out);

}  // namespace lull::replayer
