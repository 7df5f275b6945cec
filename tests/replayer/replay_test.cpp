// SPDX-License-Identifier: MIT
// The verb as a whole, from databases on disk to the report.
#include "replayer/replay.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include "db/database.hpp"
#include "db/text.hpp"
#include "tests/replayer/kernel_fixture.hpp"
#include "tests/replayer/traces.hpp"

namespace lull::replayer {
namespace {

using testing::add_read;
using testing::run_of;

class ReplayTest : public testing::KernelTest {
  protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (mount_ != nullptr) {
            databases_ = "/tmp/lull-replay-" + std::to_string(::getpid());
            std::filesystem::create_directory(databases_);
        }
    }
    void TearDown() override {
        std::filesystem::remove_all(databases_);
        KernelTest::TearDown();
    }

    /// A trace with what a database wants to know of a run.
    [[nodiscard]] db::Trace run_trace() const {
        db::Trace trace = new_trace();
        trace.boot.boot_id = "2f6c1f2e-7d3a-4a57-8a3c-0b9d1b2f4e11";
        trace.boot.kernel = "6.18.0";
        trace.boot.machine = "x86_64";
        trace.boot.rung = "events";
        return trace;
    }
    /// A database with these runs, and the options to replay it.
    ReplayOptions stored(const std::vector<db::Trace>& runs) {
        ReplayOptions options;
        options.databases = {(databases_ / "trace.db").string()};
        for (const db::Trace& run : runs) {
            const auto done = db::store(options.databases[0], run);
            EXPECT_TRUE(done) << done.error().message();
        }
        return options;
    }
    static std::map<SkipReason, std::uint64_t> skipped(const ReplayReport& report) {
        std::map<SkipReason, std::uint64_t> pages;
        for (const Skip& skip : report.skips.all()) {
            pages[skip.reason] += skip.pages;
        }
        return pages;
    }

    std::filesystem::path databases_;
};

TEST_F(ReplayTest, ReadsWhatTheLastRunRead) {
    make_file("old", 8);
    make_file("new", 8);
    db::Trace first = run_trace();
    add_read(first, record(first, "old"), 0, 8);
    db::Trace last = run_trace();
    last.boot.started_ns = 1;
    add_read(last, record(last, "new"), 2, 4);
    const auto report = replay(stored({first, last}));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(resident(mount_->path("old")), run_of(0, 0));
    EXPECT_EQ(resident(mount_->path("new")), run_of(2, 4));
    EXPECT_EQ(report->total().resident_after, 4U);
    EXPECT_EQ(report->io_class, "idle");
    EXPECT_TRUE(report->warnings.empty());
    ASSERT_EQ(report->disks.size(), 1U);
    EXPECT_EQ(report->disks[0].mount_point, mount_->directory());
}

TEST_F(ReplayTest, SortsByTheDiskWhenTheTraceHasNoPositions) {
    db::Trace trace = run_trace();
    for (const char* name : {"a", "b", "c"}) {
        make_file(name, 16);
        add_read(trace, record(trace, name), 0, 16);
    }
    make_file("metadata", 1);
    add_read(trace, record_disk(trace), 9'000, 2);
    record(trace, "a", db::FileKind::kInode);
    trace.files.back().path = "/";
    trace.files.back().kind = db::FileKind::kDirectory;
    trace.files.back().inode = 2;
    const auto report = replay(stored({trace}));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->total().asked, 50U);
    EXPECT_EQ(report->total().resident_after, 50U);
    EXPECT_EQ(report->total().visits, 1U);
}

TEST_F(ReplayTest, ADryRunTellsThePlanAndReadsNothing) {
    make_file("file", 300);
    make_file("changed", 4);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, "file"), 0, 300, 0, 40 << 20);
    add_read(trace, record(trace, "changed"), 0, 4);
    std::ofstream(mount_->path("changed"), std::ios::app) << "more";
    ReplayOptions options = stored({trace});
    options.dry_run = true;
    const auto report = replay(options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(resident(mount_->path("file")), run_of(0, 0));
    ASSERT_EQ(report->disks[0].chunks.size(), 4U) << "512 KiB at most, three for the first file";
    EXPECT_EQ(skipped(*report)[SkipReason::kChanged], 4U);

    std::ostringstream text;
    write_text(*report, text);
    EXPECT_NE(text.str().find("nothing was opened for reading"), std::string::npos);
    EXPECT_NE(text.str().find("41943040"), std::string::npos) << "the position on the disk";
    std::ostringstream json;
    write_json(*report, json);
    const auto parsed = nlohmann::json::parse(json.str());
    EXPECT_EQ(parsed["file_systems"][0]["plan"].size(), 4U);
    EXPECT_EQ(parsed["file_systems"][0]["plan"][0]["pages"], 128);
    EXPECT_EQ(parsed["skips"][0]["reason"], "changed");
}

TEST_F(ReplayTest, FillsNoMoreMemoryThanItMay) {
    make_file("early", 16);
    make_file("late", 16);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, "early"), 0, 16, 10);
    add_read(trace, record(trace, "late"), 0, 16, 20);
    ReplayOptions options = stored({trace});
    options.memory_budget = 20 * 4096;
    const auto report = replay(options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(resident(mount_->path("early")), run_of(0, 16));
    EXPECT_EQ(resident(mount_->path("late")), run_of(0, 4));
    EXPECT_EQ(skipped(*report)[SkipReason::kOverBudget], 12U);

    options.memory_budget.reset();
    options.system.meminfo = (databases_ / "meminfo").string();
    std::ofstream(options.system.meminfo) << "MemTotal: 100 kB\nMemAvailable: 64 kB\n";
    const auto half = replay(options);
    ASSERT_TRUE(half);
    EXPECT_EQ(half->budget_bytes, 32U * 1024);
    EXPECT_EQ(skipped(*half)[SkipReason::kOverBudget], 24U);
}

TEST_F(ReplayTest, AFileSystemThatIsNotMountedIsSaidToBe) {
    make_file("file", 4);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, "file"), 0, 4);
    trace.devices[0].fs_uuid = "6c756c6c-0000-4000-8000-6e6f6e657375";
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_replay(stored({trace}), out, err), 0) << "no reason to fail a boot";
    EXPECT_NE(out.str().find("is not mounted"), std::string::npos) << out.str();
    EXPECT_NE(out.str().find("Skipped, not mounted: 1 file, 16.0 KiB"), std::string::npos)
        << out.str();
}

TEST_F(ReplayTest, ADamagedDatabaseIsLeftOutAndTheOthersAreUsed) {
    make_file("file", 4);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, "file"), 0, 4);
    ReplayOptions options = stored({trace});
    const std::string damaged = (databases_ / "damaged.db").string();
    std::ofstream(damaged) << "this is no database";
    options.databases.insert(options.databases.begin(), damaged);
    options.databases.push_back((databases_ / "missing.db").string());
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_replay(options, out, err), 0);
    EXPECT_NE(out.str().find("damaged.db"), std::string::npos) << out.str();
    EXPECT_NE(out.str().find("missing.db"), std::string::npos) << out.str();
    EXPECT_EQ(resident(mount_->path("file")), run_of(0, 4));

    options.databases = {damaged};
    out.str("");
    EXPECT_EQ(run_replay(options, out, err), 1) << "nothing to go by";
    EXPECT_TRUE(out.str().empty());
    EXPECT_NE(err.str().find("lull replay: "), std::string::npos) << err.str();
}

TEST_F(ReplayTest, TheTextFitsEightyColumnsAndTheJsonIsUtf8) {
    const std::string name = "\xff" + std::string(200, 'n') + "\n";
    make_file(name, 4);
    make_file("other", 4);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, name), 0, 4);
    add_read(trace, record(trace, "other"), 0, 4);
    std::filesystem::remove(mount_->path(name));
    ReplayOptions options = stored({trace});
    std::ostringstream out;
    std::ostringstream err;
    ASSERT_EQ(run_replay(options, out, err), 0);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(db::columns(line), 80U) << line;
    }
    options.json = true;
    out.str("");
    ASSERT_EQ(run_replay(options, out, err), 0);
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json["total"]["asked"], 8 * 4096);
    EXPECT_EQ(json["total"]["resident_after"], 4 * 4096);
    ASSERT_EQ(json["skips"].size(), 1U);
    EXPECT_EQ(json["skips"][0]["reason"], "gone");
    EXPECT_TRUE(json["skips"][0].contains("path_hex"));
}

TEST_F(ReplayTest, BelowAnotherRootTheSameFilesAreFound) {
    make_file("file", 4);
    db::Trace trace = run_trace();
    add_read(trace, record(trace, "file"), 0, 4);
    trace.devices[0].mount_point = "/";
    ReplayOptions options = stored({trace});
    options.system.root = mount_->directory();
    const auto report = replay(options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->total().resident_after, 4U);
    options.system.root = "/proc";
    const auto none = replay(options);
    ASSERT_TRUE(none);
    EXPECT_EQ(skipped(*none)[SkipReason::kNotMounted], 4U);
}

}  // namespace
}  // namespace lull::replayer
