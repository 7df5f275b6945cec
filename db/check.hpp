// SPDX-License-Identifier: MIT
// `lull db check`: is every byte of a database what it should be?
#pragma once

#include <ostream>
#include <string>

#include "base/result.hpp"

namespace lull::db {

struct CheckOptions {
    std::string path;
    bool progress = true;  ///< shown on standard error if that is a terminal
};

/// Checks header, schema, integrity, foreign keys and the rules of db/validate.hpp for every run,
/// of files of any size. Writes one line to `out` for each thing that is wrong, or one that all is
/// well, and gives whether it is. An error means that the file could not be judged: ENOENT and what
/// else open(2) says, EMEDIUMTYPE for a file that is not a database of lull.
[[nodiscard]] Result<bool> check(const CheckOptions& options, std::ostream& out);

}  // namespace lull::db
