// SPDX-License-Identifier: MIT
#include "db/progress.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "db/connection.hpp"

namespace lull::db {
namespace {

constexpr char kLongWork[] =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    "SELECT sum(i) FROM n";

std::string shown(Progress::Clock::duration patience) {
    auto connection = connect_new("CREATE TABLE t (a)");
    EXPECT_TRUE(connection);
    std::ostringstream out;
    {
        Progress progress(&out, *connection, "first");
        progress.now("counting");
        connection->execAndGet(kLongWork);
    }
    EXPECT_EQ(out.str(), "") << "drawn before its time";
    {
        Progress progress(&out, *connection, "first", patience);
        progress.now("counting");
        connection->execAndGet(kLongWork);
    }
    std::string drawn = out.str();
    connection->execAndGet(kLongWork);
    EXPECT_EQ(out.str(), drawn) << "drawn after its end";
    return drawn;
}

TEST(ProgressTest, DrawsOneLineAndWipesIt) {
    const std::string drawn = shown(Progress::Clock::duration::zero());
    EXPECT_TRUE(drawn.starts_with("\r\x1b[Kcounting ... ")) << drawn;
    EXPECT_TRUE(drawn.ends_with(" s\r\x1b[K")) << drawn;
    EXPECT_EQ(drawn.find('\n'), std::string::npos);
}

TEST(ProgressTest, StaysSilentWhileTheWorkIsShort) {
    EXPECT_EQ(shown(std::chrono::hours(1)), "");
}

TEST(ProgressTest, ShowsNothingWithoutAStream) {
    auto connection = connect_new("CREATE TABLE t (a)");
    ASSERT_TRUE(connection);
    Progress progress(nullptr, *connection, "counting", Progress::Clock::duration::zero());
    EXPECT_NO_THROW(connection->execAndGet(kLongWork));
}

}  // namespace
}  // namespace lull::db
