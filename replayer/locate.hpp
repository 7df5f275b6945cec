// SPDX-License-Identifier: MIT
// Positions on the disk for pieces whose trace has none.
#pragma once

#include "replayer/demand.hpp"
#include "replayer/target.hpp"

namespace lull::replayer {

/// Whether a piece of a regular file on `device` has no position.
[[nodiscard]] bool lacks_positions(const Demand& demand, std::uint32_t device);

/// Asks the file system (FIEMAP) where such pieces lie, and cuts them where the file is cut on the
/// disk. Opens the files, so their metadata should be in memory. What cannot be opened or has no
/// place that means anything (a hole, compressed, not written yet) stays without a position.
void locate(const Target& target, Demand& demand, std::uint32_t device);

}  // namespace lull::replayer
