// SPDX-License-Identifier: MIT
// From an older schema to the one of today.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/result.hpp"

namespace lull::db {

/// What turns version `from` into `from` + 1. The statements have to bring about the tables and
/// column names of the new version; constraints and indices come with the copy that follows.
struct Step {
    std::uint32_t from = 0;
    std::string_view sql;
};

/// The steps from the first version to kVersion.
[[nodiscard]] std::span<const Step> steps();

/// Carries `old`, a database in memory of some version, through `steps`, then copies its rows into
/// a new one made by `schema`, so that nothing of an old (or hostile) schema lives on. EOPNOTSUPP
/// if no step leads on from its version; EPERM if it holds triggers, views or virtual tables;
/// EINVAL if the rows break the rules of `schema`.
[[nodiscard]] Result<SQLite::Database> migrate(SQLite::Database old, std::span<const Step> steps,
                                               const char* schema);

}  // namespace lull::db
