// SPDX-License-Identifier: MIT
// One round of the demo on the emulated disk.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/system/demo_figures.hpp"
#include "tests/system/demo_process.hpp"

namespace lull::demo {

struct Stage {
    Runner& runner;
    disk::EmulatedDisk& disk;        ///< mounted, holds the image of demo_image.sh
    std::filesystem::path lull;      ///< the program
    std::filesystem::path database;  ///< where each round puts its trace; replaced
    std::string rung;                ///< to force; empty: lull chooses
};

/// Cold without the collector, cold with it, replay, cold but replayed, warm.
Result<Round> run_round(const Stage& stage);

}  // namespace lull::demo
