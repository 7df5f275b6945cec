// SPDX-License-Identifier: MIT
// The figures of the demo as a person or a program wants them.
#pragma once

#include <cstddef>
#include <string>

#include "tests/system/demo_figures.hpp"

namespace lull::demo {

/// One JSON object. Times in seconds; `speedup` is cold_s over after_replay_s.
std::string as_json(const Round& median, std::size_t rounds);

/// A table and a bar chart, at most 80 columns. The bars are of block characters if `blocks`, else
/// of ASCII, for where the text does not go to a terminal.
std::string as_text(const Round& median, std::size_t rounds, bool blocks);

}  // namespace lull::demo
