// SPDX-License-Identifier: MIT
// In which part of a gap our requests should run: the part that gains most for what it costs the
// foreground. Derivation: sched/README.md, "When".
#pragma once

#include <array>
#include <cstddef>

#include "sched/gap_history.hpp"
#include "sched/units.hpp"

namespace lull::sched {

/// What a request of ours costs, in nanoseconds of disk time.
struct WindowCosts {
    double approach = 0;       ///< the way to our place, lost to us once a gap
    double return_seek = 0;    ///< the foreground's way back, lost to it once a gap
    Nanoseconds shortest = 0;  ///< request that makes sense
    Nanoseconds longest = 0;   ///< that is ever sent
};

/// How long a request may be that is sent `elapsed` after a gap began: small at first, growing with
/// the lull, since the longer a gap has lasted, the longer it is expected to last.
[[nodiscard]] Nanoseconds request_length(Nanoseconds elapsed, const WindowCosts& costs);

/// Run from `start` on, stop at `stop`, begin again at `again` if the gap still lasts. kNever: not.
struct WindowPlan {
    Nanoseconds start = kNever;
    Nanoseconds stop = kNever;
    Nanoseconds again = kNever;
    double gain = 0;  ///< expected of a gap: our disk time
    double cost = 0;  ///< ... and the foreground's delay
};

/// The sums over a history from which plans are made; one pass for any number of prices.
class WindowPlanner {
  public:
    /// `bins` need not be normalised.
    void set(const GapHistory::Bins& bins, const WindowCosts& costs);

    /// The plan with the largest gain - cost / price. `price`: nanoseconds of the foreground's time
    /// that one nanosecond of ours may cost, > 0.
    [[nodiscard]] WindowPlan plan(double price) const;

  private:
    static constexpr std::size_t kEdges = GapHistory::kBins + 1;

    [[nodiscard]] double gain_from(std::size_t edge) const;
    [[nodiscard]] double cost_from(std::size_t edge) const;
    [[nodiscard]] double gain_after(std::size_t edge) const;

    WindowCosts costs_;
    double total_ = 0;
    /// Over all gaps that reach an edge: how many, how long, what is left of our requests at their
    /// ends, and what of the first request after that edge.
    std::array<double, kEdges> count_{};
    std::array<double, kEdges> length_{};
    std::array<double, kEdges> rest_{};
    std::array<double, kEdges> first_rest_{};
};

}  // namespace lull::sched
