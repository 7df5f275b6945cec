// SPDX-License-Identifier: MIT
// Connections to SQLite that treat what they open as hostile: whatever is wrong with a file is said
// before a single row of it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/result.hpp"

namespace lull::db {

/// PRAGMA application_id of a trace database: the letters LULL.
inline constexpr std::uint32_t kApplicationId = 0x4c554c4c;

/// The version of db/schema.sql, PRAGMA user_version.
inline constexpr std::uint32_t kVersion = 1;

/// Files above this many bytes are opened by `lull db check` only. SQLite's own bound for a
/// database in memory (SQLITE_CONFIG_MEMDB_MAXSIZE) has the same default.
inline constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 30;

/// What the first 100 bytes of a database say (https://www.sqlite.org/fileformat2.html, 1.3).
struct Header {
    std::uint64_t file_size = 0;  ///< bytes, as the file system has it
    std::uint32_t page_size = 0;  ///< bytes
    std::uint32_t version = 0;    ///< user_version
};

/// Reads and judges the header of the file at `path`. Errors: ENOENT and whatever else open(2)
/// says; EMEDIUMTYPE if it is no database of lull; EUCLEAN if it is one that is cut short or torn;
/// EBUSY if a journal that was not rolled back lies beside it; EFBIG above `max_size`; EOPNOTSUPP
/// if a newer lull wrote it.
[[nodiscard]] Result<Header> read_header(const std::string& path,
                                         std::uint64_t max_size = kMaxFileSize);

/// EBUSY if a rollback journal or a write-ahead log with content lies beside `path`: the file alone
/// is then not the database.
[[nodiscard]] Result<void> check_no_journal(const std::string& path);

/// Opens the file read-only and immutable: no lock, no journal, nothing written, also on a
/// read-only root. Only for files that no one changes in place; call read_header() first.
[[nodiscard]] Result<SQLite::Database> connect_immutable(const std::string& path);

/// A copy of the file in memory that can be changed.
[[nodiscard]] Result<SQLite::Database> connect_copy(const std::string& path);

/// A new database in memory, made by `schema`.
[[nodiscard]] Result<SQLite::Database> connect_new(const char* schema);

/// The schema must be that of db/schema.sql, to the letter. EUCLEAN if something is missing or
/// different, EPERM if there is more (a trigger, a view, a table of someone else).
[[nodiscard]] Result<void> check_schema(SQLite::Database& connection);

/// What PRAGMA integrity_check and foreign_key_check find, at most 20 lines; empty if all is well.
[[nodiscard]] Result<std::vector<std::string>> find_damage(SQLite::Database& connection);

/// An exception of SQLite as a value: EUCLEAN for damage, else the errno that comes nearest.
[[nodiscard]] Error to_error(const SQLite::Exception& exception, const std::string& context);

/// Calls `body`, which returns a Result, and turns what SQLite throws into its error.
template <typename Body>
auto guarded(const std::string& context, const Body& body) -> decltype(body()) {
    try {
        return body();
    } catch (const SQLite::Exception& exception) {
        return to_error(exception, context);
    }
}

}  // namespace lull::db
