// SPDX-License-Identifier: MIT
// `lull db info`: what a database holds, on one page.
#pragma once

#include <ostream>
#include <string>

#include "base/result.hpp"

namespace lull::db {

struct InfoOptions {
    std::string path;
    std::size_t width = 80;  ///< columns; below 60 counts as 60
    bool progress = true;    ///< shown on standard error if that is a terminal
};

/// Writes size, version, the runs and the file systems. Errors: those of Database::open() and of
/// damaged rows.
[[nodiscard]] Result<void> info(const InfoOptions& options, std::ostream& out);

}  // namespace lull::db
