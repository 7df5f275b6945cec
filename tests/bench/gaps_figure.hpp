// SPDX-License-Identifier: MIT
// The figure of `./dev bench gaps --svg`: for each case on one disk a panel with a point for each
// rule, the background's share of the idle time against what the foreground lost.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/gaps.hpp"

namespace lull::bench {

struct Panel {
    std::string title;
    sim::CaseResult result;
};

/// A whole SVG file; colours follow the reader's light or dark scheme.
[[nodiscard]] std::string gaps_figure(const std::string& profile, const std::vector<Panel>& panels);

}  // namespace lull::bench
