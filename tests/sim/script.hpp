// SPDX-License-Identifier: MIT
// What a foreground does, written down before it runs, so that every rule meets the same work.
//
// A script is a closed loop: each step comes a gap after the one before is over. Only the times of
// the requests depend on the disk and on the background, never the requests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/disk/model.hpp"

namespace lull::sim {

using disk::Nanoseconds;
inline constexpr Nanoseconds kMicrosecond = 1000;
inline constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanoseconds kSecond = 1000 * kMillisecond;

constexpr Nanoseconds microseconds(double count) {
    return static_cast<Nanoseconds>(count * static_cast<double>(kMicrosecond));
}
constexpr Nanoseconds milliseconds(double count) {
    return static_cast<Nanoseconds>(count * static_cast<double>(kMillisecond));
}

/// Reads are always waited for by someone, also readahead.
enum class IoKind : std::uint8_t { kRead, kSyncWrite, kAsyncWrite, kFlush };

/// What a gap is for the account.
enum class GapKind : std::uint8_t {
    kThink,  ///< the program computes: part of its run time, and idle time of the disk
    kQuiet,  ///< the program has nothing to do: not part of its run time, but idle time
    kPause,  ///< between two runs of the experiment: neither; what happens in it does not count
};

struct Step {
    Nanoseconds gap = 0;  ///< from the end of the step before
    GapKind gap_kind = GapKind::kThink;
    IoKind kind = IoKind::kRead;
    bool metadata = false;
    /// The task ends with this step.
    bool exits = false;
    /// The step is over when no more requests of this script than so many are in flight: 0 waits
    /// for all of them, 1 leaves a readahead on its way.
    std::uint8_t leave = 0;
    std::uint32_t task = 0;
    std::uint64_t cgroup = 0;
    std::uint64_t sector = 0;
    std::uint32_t sectors = 0;  ///< 0 only for a flush
};

using Script = std::vector<Step>;

[[nodiscard]] inline disk::Request request_of(const Step& step) {
    const bool flush = step.kind == IoKind::kFlush;
    return {.id = 0,
            .operation = step.kind == IoKind::kRead ? disk::Operation::kRead
                         : flush                    ? disk::Operation::kFlush
                                                    : disk::Operation::kWrite,
            .sector = step.sector,
            .sectors = step.sectors};
}

/// One or more scripts that run side by side.
struct Foreground {
    std::string name;
    std::vector<Script> scripts;
};

}  // namespace lull::sim
