// SPDX-License-Identifier: MIT
#include "db/show.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "db/database.hpp"
#include "db/info.hpp"
#include "db/text.hpp"
#include "tests/db/sample.hpp"

namespace lull::db {
namespace {

using Json = nlohmann::json;

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

class ShowTest : public ::testing::Test {
  protected:
    ShowTest() {
        for (int run = 1; run <= 2; ++run) {
            const auto stored = store(path_, sample_trace(run));
            EXPECT_TRUE(stored) << stored.error().message();
        }
    }

    [[nodiscard]] ShowOptions options(By by = By::kFile, Sort sort = Sort::kTime) const {
        ShowOptions options;
        options.path = path_;
        options.by = by;
        options.sort = sort;
        return options;
    }

    static std::string shown(const ShowOptions& options) {
        std::ostringstream out;
        const auto result = show(options, out);
        EXPECT_TRUE(result) << result.error().message();
        return out.str();
    }

    [[nodiscard]] Json json(By by = By::kFile, Sort sort = Sort::kTime) const {
        ShowOptions wanted = options(by, sort);
        wanted.json = true;
        return Json::parse(shown(wanted));
    }

    /// The values of `member` of all rows.
    template <typename T>
    [[nodiscard]] std::vector<T> rows(Sort sort, const char* member) const {
        std::vector<T> values;
        const Json all = json(By::kFile, sort);
        for (const Json& row : all.at("rows")) {
            if (!row.at(member).is_null()) {
                values.push_back(row.at(member).get<T>());
            }
        }
        return values;
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_.path("traces.db");
};

TEST_F(ShowTest, FitsTheWidthWhateverTheNames) {
    for (const std::size_t width : {60, 80, 132}) {
        for (const By by : {By::kFile, By::kProcess, By::kUnit}) {
            ShowOptions wanted = options(by);
            wanted.width = width;
            for (const std::string& line : split(shown(wanted))) {
                EXPECT_TRUE(is_utf8(line)) << line;
                EXPECT_LE(columns(line), width) << line;
                EXPECT_EQ(line.find('\x1b'), std::string::npos);
            }
        }
    }
}

TEST_F(ShowTest, TellsWhatThePersonNeeds) {
    ShowOptions wanted = options();
    wanted.width = 400;
    const std::string table = shown(wanted);
    for (const char* text :
         {"run 2: boot", "2026-09-21 14:13:20 UTC for 12.5 s on Linux 6.18.44-test x86_64",
          "pages seen by events; INCOMPLETE: lost 1 blocks of 128 KiB, 2 file names, 3 processes, "
          "4 "
          "overflows of opens, 5 probes that did not attach",
          "limit: a second limit", "/usr/bin/bash", "/tmp/line\\x0abreak",
          "/home/caf\\xe9/\\x01\\x1b[31m", "/var/lib/gone (deleted)", "[metadata of /]",
          "[inode 99 of /var]", "miss 80%", "160 KiB",
          "8 rows; 7 ranges of 8 files by 3 processes"}) {
        EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
    }
}

TEST_F(ShowTest, ShowsTheRunThatIsAskedFor) {
    ShowOptions wanted = options();
    wanted.boot = 1;
    EXPECT_NE(shown(wanted).find("run 1: boot"), std::string::npos);
    wanted.boot = 7;
    std::ostringstream out;
    const auto missing = show(wanted, out);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ENOENT);
    EXPECT_TRUE(out.str().empty());
}

TEST_F(ShowTest, SaysThatThereIsNoRun) {
    const auto empty = Database::create();
    ASSERT_TRUE(empty);
    ASSERT_TRUE(empty->publish(path_));
    std::ostringstream out;
    const auto result = show(options(), out);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ENOENT);
}

TEST_F(ShowTest, SortsByEachOrder) {
    const auto times = rows<std::uint64_t>(Sort::kTime, "first_use_ns");
    EXPECT_EQ(times.size(), 6U);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    const auto positions = rows<std::uint64_t>(Sort::kDisk, "disk_position");
    EXPECT_EQ(positions, (std::vector<std::uint64_t>{4096, 8192, 12345, std::uint64_t{1} << 39}));
    const auto sizes = rows<std::uint64_t>(Sort::kSize, "bytes");
    EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
    EXPECT_EQ(sizes.front(), 40 * kPageSize);
    const auto paths = rows<std::string>(Sort::kPath, "path");
    EXPECT_EQ(paths.size(), 8U);
    EXPECT_EQ(paths.front(), "");
    EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
}

TEST_F(ShowTest, TableAndJsonComeInTheSameOrder) {
    for (const Sort sort : {Sort::kTime, Sort::kDisk, Sort::kSize, Sort::kPath}) {
        const std::string table = shown(options(By::kFile, sort));
        const Json all = json(By::kFile, sort);
        std::size_t line = 0;
        const auto lines = split(table);
        while (!lines.at(line).starts_with("first, s")) {
            ++line;
        }
        for (const Json& row : all.at("rows")) {
            ++line;
            EXPECT_EQ(lines.at(line).substr(9, 8),
                      fmt::format("{:>8}", human_size(row.at("bytes").get<std::uint64_t>())))
                << lines.at(line);
        }
        EXPECT_TRUE(lines.at(line + 1).starts_with("   total"));
    }
}

TEST_F(ShowTest, JsonAddsUpInEveryGrouping) {
    for (const By by : {By::kFile, By::kProcess, By::kUnit}) {
        const Json all = json(by);
        std::uint64_t bytes = 0;
        std::uint64_t ranges = 0;
        for (const Json& row : all.at("rows")) {
            bytes += row.at("bytes").get<std::uint64_t>();
            ranges += row.at("ranges").get<std::uint64_t>();
            for (const char* shares : {"from", "use"}) {
                const auto parts = row.at(shares).get<std::map<std::string, std::uint64_t>>();
                EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                                          [](std::uint64_t sum, const auto& part) {
                                              return sum + part.second;
                                          }),
                          row.at("bytes").get<std::uint64_t>());
            }
        }
        EXPECT_EQ(bytes, 47 * kPageSize);
        EXPECT_EQ(ranges, 7U);
        EXPECT_EQ(all.at("totals").at("bytes"), bytes);
        EXPECT_EQ(all.at("totals").at("ranges"), ranges);
        EXPECT_EQ(all.at("totals").at("files"), 8U);
    }
}

TEST_F(ShowTest, JsonKeepsBytesThatAreNotUtf8) {
    const Json all = json(By::kFile, Sort::kTime);
    const Trace trace = sample_trace();
    std::size_t with_hex = 0;
    for (const Json& row : all.at("rows")) {
        if (row.contains("path_hex")) {
            ++with_hex;
            const auto digits = row.at("path_hex").get<std::string>();
            EXPECT_TRUE(digits == hex(trace.files[2].path) || digits == hex(trace.files[3].path));
            EXPECT_NE(row.at("path").get<std::string>().find("\xef\xbf\xbd"), std::string::npos);
        }
    }
    EXPECT_EQ(with_hex, 2U);
    EXPECT_EQ(all.at("run").at("lost").at("probes"), 5);
    EXPECT_EQ(all.at("run").at("complete"), false);
    EXPECT_EQ(all.at("run").at("limits").size(), 2U);
}

TEST_F(ShowTest, GroupsByProcessAndByUnit) {
    const Json processes = json(By::kProcess, Sort::kSize);
    ASSERT_EQ(processes.at("rows").size(), 4U);  // three, and reads by nobody known
    EXPECT_EQ(processes.at("rows")[0].at("process").at("comm"), "systemd");
    EXPECT_EQ(processes.at("rows")[1].at("process").at("pid"), 321);
    EXPECT_EQ(processes.at("rows")[1].at("files"), 3);
    const Json units = json(By::kUnit, Sort::kPath);
    ASSERT_EQ(units.at("rows").size(), 2U);
    EXPECT_EQ(units.at("rows")[0].at("unit"), "");
    EXPECT_EQ(units.at("rows")[1].at("unit"), "a.service");
    EXPECT_EQ(units.at("rows")[1].at("bytes"), 12 * kPageSize);
}

TEST_F(ShowTest, InfoTellsRunsAndFileSystems) {
    std::ostringstream out;
    const auto result = info({.path = path_}, out);
    ASSERT_TRUE(result) << result.error().message();
    for (const char* text : {"schema version 1", "INCOMPLETE boot", "2026-09-21 14:13:20",
                             "ext4 0b5e-ext4", "/var  xfs 77aa-xfs", "188 KiB"}) {
        EXPECT_NE(out.str().find(text), std::string::npos) << text << "\n" << out.str();
    }
    for (const std::string& line : split(out.str())) {
        EXPECT_LE(columns(line), 80U) << line;
    }
}

}  // namespace
}  // namespace lull::db
