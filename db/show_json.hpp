// SPDX-License-Identifier: MIT
// The JSON form of `lull show`.
#pragma once

#include <ostream>

#include "db/database.hpp"
#include "db/show.hpp"

namespace lull::db {

/// Writes the object that show() documents. `run` is the summary of `trace`.
void show_json(const ShowOptions& options, const BootSummary& run, const Trace& trace,
               std::ostream& out);

}  // namespace lull::db
