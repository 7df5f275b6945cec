// SPDX-License-Identifier: MIT
// `lull collect`: records which pages are read, and by whom, into a trace database.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace lull::collector {

struct CollectOptions {
    std::string database = "/var/lib/lull/lull.db";
    std::vector<std::string> mounts;  ///< a path on each file system to record; empty: all
    std::optional<std::chrono::milliseconds> duration;  ///< longest time; none: no end of its own
    std::string rung;                                   ///< forced rung; empty: the best that works
    std::uint32_t max_blocks = 114688;  ///< 128 KiB blocks kept; 73 bytes of kernel memory each
    std::size_t keep_boots = 20;        ///< runs that stay in the database, the newest
    std::vector<std::string> command;   ///< empty: until the time is over or a signal comes
};

/// The rungs of the ladder, the best first.
const std::vector<std::string>& rung_names();

/// Records until the command and all it started have ended, the time is over, or SIGINT or SIGTERM
/// comes; then writes what was seen. Returns the exit status: that of the command if it ended, 0 if
/// the recording was stopped, 1 if something failed (told on `err`), 2 if nothing was recorded.
int collect(const CollectOptions& options, std::ostream& err);

}  // namespace lull::collector
