// SPDX-License-Identifier: MIT
// A trace as rows of the tables, and back.
#pragma once

#include <cstdint>

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/result.hpp"
#include "db/trace.hpp"

namespace lull::db {

/// The columns of boots that read_boot() takes, after the id.
inline constexpr char kBootColumns[] =
    "boot_id, kernel, machine, command, kernel_cmdline, started_ns, duration_ns, rung, limits, "
    "lost_blocks, lost_names, lost_processes, lost_opens, lost_probes";

/// The run in the current row of `query`, whose columns from 1 on are kBootColumns.
[[nodiscard]] Boot read_boot(SQLite::Statement& query);

/// Inserts a valid trace and gives the id of its run. The caller holds the transaction. Throws
/// SQLite::Exception.
std::int64_t insert_trace(SQLite::Database& connection, const Trace& trace);

/// Reads the run `boot_id`; ENOENT if there is none, EINVAL if there is more of it than a run can
/// have (db/validate.hpp) or a row refers to nothing. The caller validates the rest. Throws
/// SQLite::Exception.
[[nodiscard]] Result<Trace> select_trace(SQLite::Database& connection, std::int64_t boot_id);

}  // namespace lull::db
