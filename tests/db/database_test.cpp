// SPDX-License-Identifier: MIT
#include "db/database.hpp"

#include <gtest/gtest.h>

#include "db/connection.hpp"
#include "tests/db/sample.hpp"

namespace lull::db {
namespace {

class DatabaseTest : public ::testing::Test {
  protected:
    Database stored(std::initializer_list<Trace> traces) const {
        for (const Trace& trace : traces) {
            const auto result = store(path_, trace);
            EXPECT_TRUE(result) << result.error().message();
        }
        auto database = Database::open(path_);
        EXPECT_TRUE(database) << database.error().message();
        return *std::move(database);
    }

    static std::int64_t count(const Database& database, const std::string& table) {
        return database.connection().execAndGet("SELECT count(*) FROM " + table).getInt64();
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_.path("traces.db");
};

TEST_F(DatabaseTest, GivesBackEveryMemberOfATrace) {
    const Trace trace = sample_trace();
    const Database database = stored({trace});
    const auto boots = database.boots();
    ASSERT_TRUE(boots);
    ASSERT_EQ(boots->size(), 1U);
    const auto found = database.trace(boots->front().id);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(lines_of(*found), lines_of(trace));
    EXPECT_FALSE(found->boot.complete());
    EXPECT_EQ(boots->front().boot.limits, trace.boot.limits);
}

TEST_F(DatabaseTest, GivesBackAnEmptyTrace) {
    const Database database = stored({Trace{}});
    const auto found = database.trace(1);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(lines_of(*found), lines_of(Trace{}));
    EXPECT_TRUE(found->boot.complete());
    EXPECT_EQ(database.trace(2).error().code, ENOENT);
}

TEST_F(DatabaseTest, StoresAFileOfSeveralRunsOnce) {
    Trace second = sample_trace(2);
    second.devices[0].source = "/dev/sdb1";
    second.devices[0].major = 65;
    second.files[1].mtime_ns += 1;
    second.files[0].deleted = true;
    const Database database = stored({sample_trace(1), second});
    EXPECT_EQ(count(database, "boots"), 2);
    EXPECT_EQ(count(database, "devices"), 2);
    EXPECT_EQ(count(database, "files"), static_cast<std::int64_t>(second.files.size()) + 1);
    const auto last = database.trace(2);
    ASSERT_TRUE(last) << last.error().message();
    EXPECT_EQ(lines_of(*last), lines_of(second));
    const auto first = database.trace(1);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->devices[0].source, "/dev/sdb1");
}

TEST_F(DatabaseTest, ForgetsOldRunsAndWhatOnlyTheyUsed) {
    Trace old = sample_trace(1);
    old.devices.push_back({"only-here", "btrfs", "/old", "/dev/sdz", 9, 9});
    old.files.push_back({.device = 2, .path = "/old", .inode = 1, .size = 1, .mtime_ns = 1});
    Read& read = old.reads.emplace_back();
    read.file = static_cast<std::uint32_t>(old.files.size() - 1);
    read.pages = 1;
    ASSERT_TRUE(store(path_, old, 2));
    ASSERT_TRUE(store(path_, sample_trace(2), 2));
    ASSERT_TRUE(store(path_, sample_trace(3), 2));
    auto database = Database::load(path_);
    ASSERT_TRUE(database) << database.error().message();
    const auto boots = database->boots();
    ASSERT_TRUE(boots);
    ASSERT_EQ(boots->size(), 2U);
    EXPECT_EQ(boots->front().id, 2);
    EXPECT_EQ(count(*database, "files"), static_cast<std::int64_t>(sample_trace().files.size()));
    EXPECT_EQ(count(*database, "devices"), 2);
    EXPECT_EQ(lines_of(*database->trace(3)), lines_of(sample_trace(3)));
}

TEST_F(DatabaseTest, ForgettingGivesTheSpaceBack) {
    ASSERT_TRUE(store(path_, large_trace(20'000)));
    const auto large = std::filesystem::file_size(path_);
    ASSERT_TRUE(store(path_, sample_trace(), 1));
    EXPECT_LT(std::filesystem::file_size(path_), large / 10);
    auto database = Database::load(path_);
    ASSERT_TRUE(database) << database.error().message();
    EXPECT_EQ(lines_of(*database->trace(2)), lines_of(sample_trace()));
}

TEST_F(DatabaseTest, IdsGrowAlsoWhenTheLastRunIsForgotten) {
    ASSERT_TRUE(store(path_, sample_trace(1), 1));
    ASSERT_TRUE(store(path_, sample_trace(2), 1));
    const auto database = Database::open(path_);
    ASSERT_TRUE(database);
    EXPECT_EQ(database->boots()->front().id, 2);
}

TEST_F(DatabaseTest, KeepsALargeTraceWhole) {
    const Trace trace = large_trace(100'000);
    const Database database = stored({trace});
    const auto found = database.trace(1);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(lines_of(*found), lines_of(trace));
}

TEST_F(DatabaseTest, AnOpenDatabaseReadsOnWhileANewOneIsPublished) {
    const Database database = stored({sample_trace(1)});
    ASSERT_TRUE(store(path_, large_trace(1000), 1));
    EXPECT_EQ(lines_of(*database.trace(1)), lines_of(sample_trace(1)));
}

TEST_F(DatabaseTest, OnlyADatabaseInMemoryCanBePublished) {
    const Database database = stored({sample_trace(1)});
    const auto published = database.publish(directory_.path("other.db"));
    ASSERT_FALSE(published);
    EXPECT_EQ(published.error().code, EROFS);
    EXPECT_EQ(directory_.names(), std::vector<std::string>{"traces.db"});
}

struct BadTrace {
    const char* name;
    void (*spoil)(Trace&);
};

class BadTraceTest : public ::testing::TestWithParam<BadTrace> {};

TEST_P(BadTraceTest, IsRefusedAndNothingIsAdded) {
    auto database = Database::create();
    ASSERT_TRUE(database);
    Trace trace = sample_trace();
    GetParam().spoil(trace);
    const auto added = database->add(trace);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, EINVAL);
    EXPECT_TRUE(database->boots()->empty());
}

constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;

INSTANTIATE_TEST_SUITE_P(
    Rules, BadTraceTest,
    ::testing::Values(
        BadTrace{"device", [](Trace& t) { t.files[0].device = 2; }},
        BadTrace{"kind", [](Trace& t) { t.files[0].kind = static_cast<FileKind>(4); }},
        BadTrace{"relative", [](Trace& t) { t.files[0].path = "etc/passwd"; }},
        BadTrace{"parent", [](Trace& t) { t.files[0].path = "/a/../etc"; }},
        BadTrace{"parent_at_the_end", [](Trace& t) { t.files[0].path = "/a/.."; }},
        BadTrace{"dot", [](Trace& t) { t.files[0].path = "/./a"; }},
        BadTrace{"empty_component", [](Trace& t) { t.files[0].path = "/a//b"; }},
        BadTrace{"slash_at_the_end", [](Trace& t) { t.files[0].path = "/a/"; }},
        BadTrace{"nul", [](Trace& t) { t.files[0].path = std::string("/a\0b", 4); }},
        BadTrace{"long_path", [](Trace& t) { t.files[0].path = "/" + std::string(4095, 'a'); }},
        BadTrace{"size", [](Trace& t) { t.files[0].size = kTooLarge; }},
        BadTrace{"mount_point", [](Trace& t) { t.devices[0].mount_point = "var"; }},
        BadTrace{"file", [](Trace& t) { t.reads[0].file = 8; }},
        BadTrace{"process", [](Trace& t) { t.reads[0].process = 3; }},
        BadTrace{"no_pages", [](Trace& t) { t.reads[0].pages = 0; }},
        BadTrace{"far_page", [](Trace& t) { t.reads[1].first_page = std::uint64_t{1} << 40; }},
        BadTrace{"far_end", [](Trace& t) { t.reads[1].first_page = (std::uint64_t{1} << 40) - 7; }},
        BadTrace{"wrapping_end", [](Trace& t) { t.reads[1].first_page = ~std::uint64_t{0} - 3; }},
        BadTrace{"use", [](Trace& t) { t.reads[0].use = static_cast<Use>(3); }},
        BadTrace{"source", [](Trace& t) { t.reads[0].source = static_cast<Source>(5); }},
        BadTrace{"time", [](Trace& t) { t.reads[0].first_use_ns = kTooLarge; }},
        BadTrace{"position", [](Trace& t) { t.reads[0].disk_position = kTooLarge; }},
        BadTrace{"overlap", [](Trace& t) { t.reads[1].first_page = 31; }},
        BadTrace{"twice", [](Trace& t) { t.reads.push_back(t.reads[0]); }},
        BadTrace{"limit_of_two_lines", [](Trace& t) { t.boot.limits[0] = "a\nb"; }},
        BadTrace{"duration", [](Trace& t) { t.boot.duration_ns = kTooLarge; }},
        BadTrace{"losses", [](Trace& t) { t.boot.losses.opens = kTooLarge; }},
        BadTrace{"first_use", [](Trace& t) { t.processes[0].first_use_ns = kTooLarge; }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(BadTraceTest, TheLastPossiblePageIsNotRefused) {
    auto database = Database::create();
    ASSERT_TRUE(database);
    Trace trace = sample_trace();
    trace.reads[1].first_page = (std::uint64_t{1} << 40) - 8;
    trace.files[0].path = "/" + std::string(4094, 'a');
    const auto added = database->add(trace);
    ASSERT_TRUE(added) << added.error().message();
    EXPECT_EQ(lines_of(*database->trace(*added)), lines_of(trace));
}

}  // namespace
}  // namespace lull::db
