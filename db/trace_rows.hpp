// SPDX-License-Identifier: MIT
// A trace as rows of the tables, and back.
#pragma once

#include <cstdint>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/result.hpp"
#include "db/database.hpp"
#include "db/trace.hpp"

namespace lull::db {

/// Inserts a valid trace and gives the id of its run. The caller holds the transaction. Throws
/// SQLite::Exception.
std::int64_t insert_trace(SQLite::Database& connection, const Trace& trace);

/// Reads the run `boot_id` and judges it by db/validate.hpp. Errors: see Database::trace().
[[nodiscard]] Result<Trace> read_trace(SQLite::Database& connection, std::int64_t boot_id);

/// All runs, oldest first. Errors: EUCLEAN and what else SQLite says.
[[nodiscard]] Result<std::vector<BootSummary>> read_boots(SQLite::Database& connection);

}  // namespace lull::db
