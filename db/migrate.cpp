// SPDX-License-Identifier: MIT
#include "db/migrate.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include "db/connection.hpp"

namespace lull::db {
namespace {

// Version 1 is the first, so nothing leads to it.
constexpr std::array<Step, 0> kSteps{};

std::uint32_t version_of(SQLite::Database& connection) {
    return connection.execAndGet("PRAGMA user_version").getUInt();
}

std::vector<std::string> strings(SQLite::Database& connection, const std::string& sql) {
    std::vector<std::string> result;
    SQLite::Statement query(connection, sql);
    while (query.executeStep()) {
        result.push_back(query.getColumn(0).getString());
    }
    return result;
}

std::string quoted(const std::string& name) {
    std::string text = "\"";
    for (const char letter : name) {
        text += letter == '"' ? "\"\"" : std::string(1, letter);
    }
    return text + '"';
}

Result<void> apply(SQLite::Database& old, std::span<const Step> steps, std::uint32_t target) {
    for (std::uint32_t version = version_of(old); version != target; ++version) {
        const auto step =
            std::find_if(steps.begin(), steps.end(),
                         [version](const Step& candidate) { return candidate.from == version; });
        if (step == steps.end()) {
            return Error{EOPNOTSUPP,
                         fmt::format("nothing leads from version {} to {}", version, target)};
        }
        old.exec(std::string(step->sql));
    }
    return {};
}

void copy_table(SQLite::Database& from, SQLite::Database& to, const std::string& table) {
    // Generated columns (hidden 2 and 3) compute themselves.
    auto names = strings(
        to, fmt::format("SELECT name FROM pragma_table_xinfo({}) WHERE hidden = 0", quoted(table)));
    std::transform(names.begin(), names.end(), names.begin(), quoted);
    const std::vector<std::string> marks(names.size(), "?");
    SQLite::Statement select(
        from, fmt::format("SELECT {} FROM {}", fmt::join(names, ", "), quoted(table)));
    SQLite::Statement insert(to, fmt::format("INSERT INTO {} ({}) VALUES ({})", quoted(table),
                                             fmt::join(names, ", "), fmt::join(marks, ", ")));
    while (select.executeStep()) {
        for (int i = 0; i < static_cast<int>(names.size()); ++i) {
            const auto column = select.getColumn(i);
            switch (column.getType()) {
                case SQLITE_INTEGER:
                    insert.bind(i + 1, column.getInt64());
                    break;
                case SQLITE_TEXT:
                    insert.bind(i + 1, column.getString());
                    break;
                case SQLITE_BLOB:
                    insert.bind(i + 1, column.getBlob(), column.getBytes());
                    break;
                case SQLITE_FLOAT:
                    insert.bind(i + 1, column.getDouble());
                    break;
                default:
                    insert.bind(i + 1);
                    break;
            }
        }
        insert.exec();
        insert.reset();
    }
}

}  // namespace

std::span<const Step> steps() {
    return kSteps;
}

Result<SQLite::Database> migrate(SQLite::Database old, std::span<const Step> steps,
                                 const char* schema) {
    return guarded("migration", [&]() -> Result<SQLite::Database> {
        const auto foreign = strings(old,
                                     "SELECT type || ' ' || name FROM sqlite_schema WHERE type "
                                     "NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'");
        if (!foreign.empty()) {
            return Error{EPERM, fmt::format("it holds the {} that lull did not make; drop it",
                                            foreign.front())};
        }
        auto fresh = connect_new(schema);
        if (!fresh) {
            return fresh;
        }
        old.exec("PRAGMA foreign_keys = OFF");
        if (auto applied = apply(old, steps, version_of(*fresh)); !applied) {
            return applied.error();
        }
        fresh->exec("PRAGMA foreign_keys = OFF");
        SQLite::Transaction transaction(*fresh);
        for (const std::string& table :
             strings(*fresh, "SELECT name FROM sqlite_schema WHERE type = 'table'")) {
            copy_table(old, *fresh, table);
        }
        transaction.commit();
        fresh->exec("PRAGMA foreign_keys = ON");
        return fresh;
    });
}

}  // namespace lull::db
