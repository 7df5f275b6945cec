// SPDX-License-Identifier: MIT
// The trace database: runs that were recorded, in one SQLite file that is never changed in place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/result.hpp"
#include "db/target.hpp"
#include "db/trace.hpp"

namespace lull::db {

/// One run, without what it read.
struct BootSummary {
    std::int64_t id = 0;  ///< grows with time
    Boot boot;
};

/// Runs that store() keeps unless told otherwise.
inline constexpr std::size_t kKeepBoots = 20;

/// Files are hostile until proven otherwise. Errors of open() and load(): ENOENT and what else
/// open(2) says; EMEDIUMTYPE for a file that is not ours; EUCLEAN for one of ours that is damaged;
/// EBUSY if a journal lies beside it; EFBIG above 1 GiB; EOPNOTSUPP if a newer lull wrote it; EPERM
/// if it holds tables, triggers or views of someone else. Reading a damaged row later gives EUCLEAN
/// or, for a value against the rules of db/validate.hpp, EINVAL.
class Database {
  public:
    /// New, empty, in memory.
    [[nodiscard]] static Result<Database> create();

    /// To read. Checks header and schema, not every page: early boot waits for it. Nothing is
    /// written or locked, so a read-only root is fine. An older version is migrated in memory.
    [[nodiscard]] static Result<Database> open(const std::string& path);

    /// To change: a copy in memory, checked whole (integrity and foreign keys), migrated if older.
    [[nodiscard]] static Result<Database> load(const std::string& path);

    /// Oldest first.
    [[nodiscard]] Result<std::vector<BootSummary>> boots() const;

    /// What the run `boot_id` (BootSummary::id) read; ENOENT if there is no such run. Devices and
    /// files come in the order of their ids, reads by file and page; processes as they were added.
    [[nodiscard]] Result<Trace> trace(std::int64_t boot_id) const;

    /// Adds a run and gives its id. A file of another run in the same state (device, kind, inode,
    /// generation, path, size, mtime) is stored once. Devices that nothing refers to are not
    /// stored. EINVAL, and nothing added, if the trace breaks the rules of
    /// db/validate.hpp.
    [[nodiscard]] Result<std::int64_t> add(const Trace& trace);

    /// Forgets all but the last `keep` runs, and files and devices that no run refers to any more.
    [[nodiscard]] Result<void> prune(std::size_t keep);

    /// Writes what create() or load() gave to `path`, see Target. Replaces what is there, whatever
    /// it is; EBUSY if a journal of another program lies beside it, EROFS for a database from
    /// open().
    [[nodiscard]] Result<void> publish(const std::string& path) const;

    /// The same to a target that is locked already.
    [[nodiscard]] Result<void> publish(const Target& target) const;

    /// For queries that have no method of their own.
    [[nodiscard]] SQLite::Database& connection() const { return connection_; }

  private:
    explicit Database(SQLite::Database connection) : connection_(std::move(connection)) {}

    // SQLiteCpp wants a connection that is not const also for reading.
    mutable SQLite::Database connection_;
};

/// What the last run of the database at `path` read. ENODATA if no run is recorded.
[[nodiscard]] Result<Trace> last_run(const std::string& path);

/// Adds `trace` to the database at `path`, keeps the last `keep_boots` runs, publishes. Stores of
/// several processes take turns. No database there: a new one. A damaged one is renamed to
/// PATH.corrupt (one is kept) and a new one begun, which `warning`, if given, then tells. A file
/// that is not a database of lull, is of a newer version or is in use is left alone, with the
/// error.
[[nodiscard]] Result<void> store(const std::string& path, const Trace& trace,
                                 std::size_t keep_boots = kKeepBoots,
                                 std::string* warning = nullptr);

}  // namespace lull::db
