// SPDX-License-Identifier: MIT
// `lull chart show`: one boot in figures.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "bootchart/boot.hpp"

namespace lull::bootchart {

struct ShowOptions {
    std::string path;
    bool json = false;
    std::size_t width = 80;
};

/// What the chart says about itself, milestones, disks, CPU, and the processes that waited and
/// worked most.
void write_text(const Boot& boot, const ShowOptions& options, std::ostream& out);

/// The same and all processes, as one object; sizes in bytes, times in seconds.
void write_json(const Boot& boot, std::ostream& out);

/// Reads and reports. The exit status: 0, or 1 with the error told on `err`.
int run_show(const ShowOptions& options, std::ostream& out, std::ostream& err);

}  // namespace lull::bootchart
