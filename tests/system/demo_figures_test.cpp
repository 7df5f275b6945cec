// SPDX-License-Identifier: MIT
#include "tests/system/demo_figures.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

#include "tests/system/demo_report.hpp"

namespace lull::demo {
namespace {

class DemoFigures : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = std::filesystem::temp_directory_path() / "lull-demo-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = directory_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path;
    }

    std::filesystem::path directory_;
};

TEST_F(DemoFigures, ReadsAreTheFirstAndThirdFieldOfTheDevicesStat) {
    write("block/loop3/stat", "  870 12 97896 5000 1 2 3 4 0 5 6 0 0 0 0 0 0\n");
    const auto reads = disk_reads("/dev/loop3", directory_);
    ASSERT_TRUE(reads.ok());
    EXPECT_EQ(reads->requests, 870U);
    EXPECT_EQ(reads->bytes, 97896U * 512);
    EXPECT_FALSE(disk_reads("/dev/loop4", directory_).ok());
}

TEST_F(DemoFigures, ProgramsTakeTheTimeSinceTheOneBefore) {
    const auto start =
        read_times(write("times", "begin 1000000000\npython3 3500000000\ngcc 4000000000\n"));
    ASSERT_TRUE(start.ok());
    EXPECT_DOUBLE_EQ(start->seconds, 3);
    ASSERT_EQ(start->programs.size(), 2U);
    EXPECT_EQ(start->programs[0].first, "python3");
    EXPECT_DOUBLE_EQ(start->programs[0].second, 2.5);
    EXPECT_DOUBLE_EQ(start->programs[1].second, 0.5);
    EXPECT_FALSE(read_times(write("begun", "begin 1000000000\n")).ok());
    EXPECT_FALSE(read_times(directory_ / "missing").ok());
}

TEST_F(DemoFigures, PresenceCountsWrittenPagesAndMissesAbsentFiles) {
    write("root/here", std::string(3 * db::kPageSize, 'x'));  // just written: in memory
    const std::string device = write("device", std::string(db::kPageSize, 'x'));
    db::Trace trace;
    const auto add = [&](db::FileKind kind, const std::string& path, bool deleted) {
        db::File& file = trace.files.emplace_back();
        file.kind = kind;
        file.path = path;
        file.deleted = deleted;
    };
    add(db::FileKind::kRegular, "/here", false);
    add(db::FileKind::kRegular, "/absent", false);
    add(db::FileKind::kRegular, "/deleted", true);
    add(db::FileKind::kDevice, "", false);
    const auto read = [&](std::uint32_t file, std::uint64_t first_page, std::uint32_t pages) {
        db::Read& added = trace.reads.emplace_back();
        added.file = file;
        added.first_page = first_page;
        added.pages = pages;
    };
    read(0, 1, 2);
    read(0, 100, 1);  // past the end
    read(1, 0, 4);
    read(2, 0, 8);
    read(3, 0, 1);
    const Presence present = presence(trace, directory_ / "root", device);
    EXPECT_EQ(present.pages, 8U);
    EXPECT_EQ(present.resident, 3U);
}

Round round_of(double cold, double after, std::uint64_t reads) {
    Round round;
    round.cold = {.seconds = cold, .programs = {{"gcc", cold}}, .disk_reads = reads};
    round.after = {.seconds = after, .programs = {{"gcc", after}}, .disk_reads = 2};
    round.warm = {.seconds = 1, .programs = {{"gcc", 1}}, .disk_reads = 0};
    round.alone = round.cold;
    round.recall = 0.995;
    round.precision = 1.04;
    round.rung = "events";
    return round;
}

TEST(DemoReport, MediansAreTakenFigureByFigure) {
    const Round result =
        median({round_of(9, 2, 100), round_of(10, 1.5, 300), round_of(12, 1.75, 200)});
    EXPECT_DOUBLE_EQ(result.cold.seconds, 10);
    EXPECT_DOUBLE_EQ(result.cold.programs[0].second, 10);
    EXPECT_DOUBLE_EQ(result.after.seconds, 1.75);
    EXPECT_EQ(result.cold.disk_reads, 200U);
}

TEST(DemoReport, JsonBeginsWithTheAgreedKeys) {
    const auto json = nlohmann::ordered_json::parse(as_json(round_of(10, 2, 100), 3));
    const std::vector<std::string> agreed = {
        "cold_s",    "after_replay_s",  "speedup",          "recall",
        "precision", "disk_reads_cold", "disk_reads_after", "rung"};
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) {
        keys.push_back(key);
    }
    ASSERT_GT(keys.size(), agreed.size());
    keys.resize(agreed.size());
    EXPECT_EQ(keys, agreed);
    EXPECT_DOUBLE_EQ(json["speedup"], 5);
    EXPECT_EQ(json["disk_reads_after"], 2);
    EXPECT_EQ(json["rung"], "events");
}

TEST(DemoReport, TextFitsATerminalAndIsPlainElsewhere) {
    const Round round = round_of(123.456, 2, 123456);
    for (const bool blocks : {false, true}) {
        std::istringstream lines(as_text(round, 3, blocks));
        for (std::string line; std::getline(lines, line);) {
            // Columns: every byte but the continuation bytes of UTF-8.
            const auto columns =
                std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
            EXPECT_LE(columns, 80) << line;
        }
    }
    const std::string plain = as_text(round, 3, false);
    EXPECT_TRUE(std::all_of(plain.begin(), plain.end(), [](char c) { return (c & 0x80) == 0; }));
    EXPECT_NE(plain.find(std::string(50, '#')), std::string::npos);
    EXPECT_NE(as_text(round, 3, true).find("█"), std::string::npos);
}

}  // namespace
}  // namespace lull::demo
