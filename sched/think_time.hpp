// SPDX-License-Identifier: MIT
// How long a client thinks between a completion and its next request (CFQ 4.20's cfq_ttime).
#pragma once

#include <algorithm>
#include <cstdint>

#include "sched/units.hpp"

namespace lull::sched {

/// An EWMA of weight 1/8 in CFQ's fixed point (256 is one sample), so that few samples do not count
/// as many.
class ThinkTime {
  public:
    /// `gap` counts for twice `window` at most, so that one long pause does not hide a habit.
    void add(Nanoseconds gap, Nanoseconds window) {
        samples_ = (7 * samples_ + 256) / 8;
        total_ = (7 * total_ + 256 * std::clamp<Nanoseconds>(gap, 0, 2 * window)) / 8;
    }
    /// From the third sample on: 32, 60, 84 > 80.
    [[nodiscard]] bool valid() const { return samples_ > 80; }
    /// Only while valid.
    [[nodiscard]] Nanoseconds mean() const { return (total_ + 128) / samples_; }

  private:
    std::int64_t samples_ = 0;
    Nanoseconds total_ = 0;
};

}  // namespace lull::sched
