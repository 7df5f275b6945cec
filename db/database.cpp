// SPDX-License-Identifier: MIT
#include "db/database.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "db/connection.hpp"
#include "db/migrate.hpp"
#include "db/trace_rows.hpp"
#include "db/validate.hpp"
#include "schema.hpp"

namespace lull::db {
namespace {

/// A copy in memory of the version of today.
Result<SQLite::Database> copy_of(const std::string& path, const Header& header) {
    auto connection = connect_copy(path);
    if (!connection || header.version == kVersion) {
        return connection;
    }
    return migrate(*std::move(connection), steps(), kSchema);
}

}  // namespace

Result<Database> Database::create() {
    auto connection = connect_new(kSchema);
    if (!connection) {
        return connection.error();
    }
    return Database(*std::move(connection));
}

Result<Database> Database::open(const std::string& path) {
    const auto header = read_header(path);
    if (!header) {
        return header.error();
    }
    auto connection =
        header->version == kVersion ? connect_immutable(path) : copy_of(path, *header);
    if (!connection) {
        return connection.error();
    }
    if (const auto schema = check_schema(*connection); !schema) {
        return schema.error().in(path);
    }
    return Database(*std::move(connection));
}

Result<Database> Database::load(const std::string& path) {
    const auto header = read_header(path);
    if (!header) {
        return header.error();
    }
    auto connection = copy_of(path, *header);
    if (!connection) {
        return connection.error();
    }
    if (const auto schema = check_schema(*connection); !schema) {
        return schema.error().in(path);
    }
    const auto damage = find_damage(*connection);
    if (!damage) {
        return damage.error().in(path);
    }
    if (!damage->empty()) {
        return Error{EUCLEAN, fmt::format("{}: {}", path, damage->front())};
    }
    return Database(*std::move(connection));
}

Result<std::vector<BootSummary>> Database::boots() const {
    return read_boots(connection_);
}

Result<Trace> Database::trace(std::int64_t boot_id) const {
    return read_trace(connection_, boot_id);
}

Result<std::int64_t> Database::add(const Trace& trace) {
    if (const auto valid = validate(trace); !valid) {
        return valid.error().in("the trace");
    }
    return guarded("adding a run", [&]() -> Result<std::int64_t> {
        SQLite::Transaction transaction(connection_);
        const std::int64_t id = insert_trace(connection_, trace);
        transaction.commit();
        return id;
    });
}

Result<void> Database::prune(std::size_t keep) {
    return guarded("forgetting old runs", [&]() -> Result<void> {
        // Deleted by hand in an order that leaves no dangling reference: enforcing them would look
        // through all reads for each process that goes.
        connection_.exec("PRAGMA foreign_keys = OFF");
        SQLite::Transaction transaction(connection_);
        SQLite::Statement oldest(connection_,
                                 "DELETE FROM boots WHERE id NOT IN "
                                 "(SELECT id FROM boots ORDER BY id DESC LIMIT ?)");
        oldest.bind(1, static_cast<std::int64_t>(keep));
        oldest.exec();
        for (const char* table : {"reads", "lookups", "processes", "accounts", "charts"}) {
            connection_.exec(
                fmt::format("DELETE FROM {} WHERE boot NOT IN (SELECT id FROM boots)", table));
        }
        connection_.exec(
            "DELETE FROM files WHERE NOT EXISTS (SELECT 1 FROM reads WHERE file = files.id) "
            "AND NOT EXISTS (SELECT 1 FROM lookups WHERE file = files.id)");
        connection_.exec("DELETE FROM devices WHERE id NOT IN (SELECT device FROM files)");
        transaction.commit();
        connection_.exec("PRAGMA foreign_keys = ON");
        // Free pages are used by the next runs; only many of them are worth a rewrite.
        const auto pages = connection_.execAndGet("PRAGMA page_count").getInt64();
        const auto free_pages = connection_.execAndGet("PRAGMA freelist_count").getInt64();
        if (free_pages > pages / 4) {
            connection_.exec("VACUUM");
        }
        return {};
    });
}

Result<void> Database::publish(const std::string& path) const {
    const auto target = Target::lock(path);
    if (!target) {
        return target.error();
    }
    return publish(*target);
}

Result<void> Database::publish(const Target& target) const {
    if (auto quiet = check_no_journal(target.path()); !quiet) {
        return quiet;
    }
    sqlite3_int64 size = 0;
    const auto* image =
        sqlite3_serialize(connection_.getHandle(), "main", &size, SQLITE_SERIALIZE_NOCOPY);
    if (image == nullptr) {
        return Error{EROFS, target.path() + ": only a database in memory can be published"};
    }
    return target.replace(std::as_bytes(std::span(image, static_cast<std::size_t>(size))));
}

Result<Trace> last_run(const std::string& path) {
    auto database = Database::open(path);
    if (!database) {
        return database.error();
    }
    const auto boots = database->boots();
    if (!boots) {
        return boots.error();
    }
    if (boots->empty()) {
        return Error{ENODATA, path + ": no run is recorded"};
    }
    return database->trace(boots->back().id);
}

}  // namespace lull::db
