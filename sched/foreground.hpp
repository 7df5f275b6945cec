// SPDX-License-Identifier: MIT
// What is known of the I/O that the arbiter does not control, on one disk: how much is in flight,
// when the last of it completed, and what the gaps between were like. Keyed on the disk and on the
// cgroups of the foreground, never on a process: a find that starts a new cat for each file is one
// foreground, and what is known of it outlives each cat.
#pragma once

#include <cstdint>
#include <optional>

#include "sched/units.hpp"

namespace lull::sched {

/// One request of the foreground.
struct ForegroundIo {
    enum class Kind : std::uint8_t { kRead, kSyncWrite, kAsyncWrite, kFlush };

    std::uint64_t cgroup = 0;  ///< the kernel's id of the cgroup v2; 0: not known
    std::uint32_t task = 0;    ///< thread group; 0: not known
    Sector sector = 0;
    std::uint32_t sectors = 0;
    Kind kind = Kind::kRead;
};

/// A time in which the foreground had nothing in flight. Its end is the next arrival.
struct Gap {
    Nanoseconds begin = 0;
    ForegroundIo last;           ///< the request whose completion began it
    Nanoseconds previous = 0;    ///< length of the gap before; 0 before the first
    std::uint32_t requests = 0;  ///< that arrived since that one ended
    bool sequential = false;     ///< the last request followed the one before it
    bool new_task = false;       ///< the last request's task had sent few
};

class Foreground {
  public:
    /// The gap that this arrival ends, if it ends one.
    std::optional<Gap> arrived(const ForegroundIo& io, Nanoseconds now);
    void completed(const ForegroundIo& io, Nanoseconds now);
    /// Events were lost; that many are in flight now.
    void resynchronise(std::uint32_t in_flight, Nanoseconds now);

    [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }
    /// The gap that is open: nothing in flight, and something was before.
    [[nodiscard]] const std::optional<Gap>& gap() const { return gap_; }
    /// Foreground time so far: all of it, busy and gaps, from the first arrival to the last
    /// completion.
    [[nodiscard]] Nanoseconds busy() const { return busy_; }

  private:
    /// A task that has sent no more is one of many short ones.
    static constexpr std::uint32_t kFewRequests = 8;

    std::uint32_t in_flight_ = 0;
    std::optional<Gap> gap_;
    ForegroundIo last_;
    Sector end_ = 0;
    Nanoseconds busy_since_ = 0;
    Nanoseconds busy_ = 0;
    Nanoseconds previous_gap_ = 0;
    std::uint32_t requests_ = 0;
    std::uint32_t task_ = 0;
    std::uint32_t task_requests_ = 0;
    bool sequential_ = false;
};

}  // namespace lull::sched
