// SPDX-License-Identifier: MIT
// Turns what a rung saw (inodes, masks, numbers) into a trace (paths, page ranges, identities) that
// is true after a reboot.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/raw_trace.hpp"
#include "db/trace.hpp"
#include "fs/mounts.hpp"

namespace lull::collector {

/// `boot` gives what is known of the run; its rung, limits and losses are filled in here.
/// `start_ns` is the CLOCK_MONOTONIC time from which first uses are counted. Looks at the files
/// (size, time of change, position on the disk, residency) but reads no data of them.
db::Trace assemble(RawTrace raw, const std::vector<fs::Mount>& mounts, db::Boot boot,
                   std::uint64_t start_ns);

}  // namespace lull::collector
