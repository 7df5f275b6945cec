// SPDX-License-Identifier: MIT
// The disk image with the programs that the demo starts.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "tests/system/demo_process.hpp"

namespace lull::demo {

/// The image in the directory `work`: made by demo_image.sh, which lies in `sources`, once; then
/// kept as long as its recipe stays the same. Programs that run from it change it: use a copy.
Result<std::filesystem::path> prepare_image(Runner& runner, const std::filesystem::path& work,
                                            const std::filesystem::path& sources);

}  // namespace lull::demo
