// SPDX-License-Identifier: MIT
// The rung that sees what enters the page cache: more than what is used, never less.
#include <gtest/gtest.h>

#include "tests/collector/recorder.hpp"
#include "tests/needs.hpp"

namespace lull::collector {
namespace {

using Pages = std::set<std::uint64_t>;

class Add : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        auto disk = test::LoopMount::make();
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
    }

    db::Trace record(const std::vector<std::string>& operations) {
        auto recorder = Recorder::start("add", disk_->directory());
        EXPECT_TRUE(recorder.ok()) << recorder.error().message();
        const auto reader = PageReader::start(operations);
        EXPECT_TRUE(reader.ok() && (*reader)->join());
        auto trace = (*recorder)->finish();
        EXPECT_TRUE(trace.ok()) << trace.error().message();
        return *std::move(trace);
    }

    std::unique_ptr<test::LoopMount> disk_;
};

TEST_F(Add, SeesWhatEntersTheCacheWithItsReadahead) {
    ASSERT_TRUE(test::write_pages(disk_->path("cold"), 0, 64).ok());
    ASSERT_TRUE(test::evict(disk_->path("cold")).ok());
    const auto trace =
        record({"pread", disk_->path("cold"), "0,1", "touch-alone", disk_->path("cold"), "50"});
    const Pages cached = pages_of(trace, "/cold", db::Use::kCached);
    EXPECT_TRUE(cached.contains(0));
    EXPECT_TRUE(cached.contains(50));
    EXPECT_TRUE(cached.contains(1)) << "readahead of the read of page 0";
    EXPECT_FALSE(cached.contains(63));
    EXPECT_TRUE(pages_of(trace, "/cold", db::Use::kDemand).empty()) << "this rung cannot tell";
}

TEST_F(Add, TakesWhatWasInMemoryOfFilesThatWereOpened) {
    ASSERT_TRUE(test::write_pages(disk_->path("warm"), 0, 9).ok());
    ASSERT_TRUE(test::write_pages(disk_->path("unopened"), 0, 9).ok());
    const auto trace = record({"pread", disk_->path("warm"), "0,1"});
    EXPECT_EQ(pages_of(trace, "/warm", db::Use::kCached), pages(0, 9));
    EXPECT_EQ(file_of(trace, "/unopened"), nullptr);
}

TEST_F(Add, NamesOneProgramOnce) {
    ASSERT_TRUE(test::write_pages(disk_->path("warm"), 0, 3).ok());
    ASSERT_TRUE(test::write_pages(disk_->path("cold"), 0, 3).ok());
    ASSERT_TRUE(test::evict(disk_->path("cold")).ok());
    const auto trace =
        record({"pread", disk_->path("warm"), "0,1", "pread", disk_->path("cold"), "0,1"});
    ASSERT_NE(file_of(trace, "/warm"), nullptr);
    ASSERT_NE(file_of(trace, "/cold"), nullptr);
    std::set<std::uint32_t> users;
    for (const db::Read& read : trace.reads) {
        if (read.process && trace.processes[*read.process].comm == "page_reader") {
            users.insert(*read.process);
        }
    }
    EXPECT_EQ(users.size(), 1U) << "though both halves of the rung saw it";
}

TEST_F(Add, SaysWhatItCannotTell) {
    ASSERT_TRUE(test::write_pages(disk_->path("file"), 0, 1).ok());
    const auto trace = record({"pread", disk_->path("file"), "0,1"});
    EXPECT_EQ(trace.boot.rung, "add");
    ASSERT_FALSE(trace.boot.limits.empty());
    EXPECT_NE(trace.boot.limits[0].find("read ahead"), std::string::npos);
}

}  // namespace
}  // namespace lull::collector
