// SPDX-License-Identifier: MIT
#include "db/migrate.hpp"

#include <array>

#include <gtest/gtest.h>

#include "db/connection.hpp"

namespace lull::db {
namespace {

constexpr char kFirst[] =
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO runs VALUES (1, 'one'), (2, CAST(x'ff0a' AS TEXT));"
    "PRAGMA user_version = 0;";

constexpr char kThird[] =
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, title TEXT NOT NULL, pages INTEGER NOT NULL "
    "CHECK (pages > 0), bytes INTEGER NOT NULL GENERATED ALWAYS AS (pages * 4096) VIRTUAL) STRICT;"
    "CREATE TABLE extra (data BLOB, weight REAL) STRICT;"
    "PRAGMA user_version = 2;";

constexpr std::array<Step, 2> kTestSteps{{
    {0, "ALTER TABLE runs ADD COLUMN pages INTEGER DEFAULT 3"},
    {1,
     "ALTER TABLE runs RENAME COLUMN name TO title; CREATE TABLE extra (data BLOB, weight REAL); "
     "INSERT INTO extra VALUES (x'00ff', 0.5), (NULL, 2.0)"},
}};

Result<SQLite::Database> migrated(const std::string& more_sql, std::span<const Step> steps) {
    auto old = connect_new((std::string(kFirst) + more_sql).c_str());
    EXPECT_TRUE(old) << old.error().message();
    return migrate(*std::move(old), steps, kThird);
}

TEST(MigrateTest, CarriesRowsThroughEveryStepIntoTheNewSchema) {
    auto result = migrated("", kTestSteps);
    ASSERT_TRUE(result) << result.error().message();
    SQLite::Statement query(*result, "SELECT title, pages, bytes FROM runs ORDER BY id");
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(0).getString(), "one");
    EXPECT_EQ(query.getColumn(2).getInt(), 3 * 4096);
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(0).getString(), "\xff\n");
    EXPECT_EQ(result->execAndGet("PRAGMA user_version").getInt(), 2);
    EXPECT_EQ(result->execAndGet("SELECT hex(data) FROM extra WHERE weight = 0.5").getString(),
              "00FF");
    EXPECT_EQ(result->execAndGet("SELECT count(*) FROM extra WHERE data IS NULL").getInt(), 1);
    // The constraint of the new schema holds, though ALTER TABLE could not have added it.
    EXPECT_THROW(result->exec("INSERT INTO runs VALUES (3, 'x', 0)"), SQLite::Exception);
}

TEST(MigrateTest, StopsWhereNothingLeadsOn) {
    const auto result = migrated("", std::span(kTestSteps).first(1));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, EOPNOTSUPP);
}

TEST(MigrateTest, RefusesRowsThatBreakTheNewRules) {
    const auto result = migrated("INSERT INTO runs VALUES (3, NULL);", kTestSteps);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, EINVAL);
}

TEST(MigrateTest, RefusesObjectsOfSomeoneElse) {
    for (const char* object : {"CREATE VIEW v AS SELECT 1;",
                               "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END;",
                               "CREATE VIRTUAL TABLE f USING fts5 (a);"}) {
        const auto result = migrated(object, kTestSteps);
        ASSERT_FALSE(result) << object;
        EXPECT_EQ(result.error().code, EPERM) << object;
    }
}

TEST(MigrateTest, LeadsFromEveryVersionToTheOneOfToday) {
    for (std::uint32_t version = 1; version < kVersion; ++version) {
        EXPECT_EQ(steps()[version - 1].from, version);
    }
    EXPECT_EQ(steps().size(), kVersion - 1);
}

}  // namespace
}  // namespace lull::db
