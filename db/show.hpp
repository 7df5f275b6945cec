// SPDX-License-Identifier: MIT
// `lull show`: what a run read, as a table for people or as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "base/result.hpp"
#include "db/summary.hpp"

namespace lull::db {

struct ShowOptions {
    std::string path;
    std::optional<std::int64_t> boot;  ///< id of the run; the last one if empty
    Sort sort = Sort::kTime;
    By by = By::kFile;
    bool json = false;
    std::size_t width = 80;  ///< columns; below 60 counts as 60
    bool progress = true;    ///< shown on standard error if that is a terminal
};

/// Writes the run. Errors: those of Database::open() and Database::trace(); ENOENT if there is no
/// such run, or none at all.
///
/// JSON is one object with "database", "run", "by", "sort", "rows", "totals"; all sizes are bytes,
/// all times ns. It is always valid UTF-8: each byte of a name that is not becomes U+FFFD, and a
/// path that had such bytes comes with "path_hex", its bytes in hexadecimal.
[[nodiscard]] Result<void> show(const ShowOptions& options, std::ostream& out);

}  // namespace lull::db
