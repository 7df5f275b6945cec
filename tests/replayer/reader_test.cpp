// SPDX-License-Identifier: MIT
// Each test runs with both engines.
#include "replayer/reader.hpp"

#include <csignal>
#include <filesystem>
#include <future>
#include <thread>

#include <sys/resource.h>

#include "tests/replayer/kernel_fixture.hpp"
#include "tests/replayer/traces.hpp"

namespace lull::replayer {
namespace {

using testing::add_read;
using testing::run_of;

class ReaderTest : public testing::KernelTest, public ::testing::WithParamInterface<EngineKind> {
  protected:
    struct Outcome {
        Account account;
        std::string engine;
        std::optional<IoClass> io_class;
        bool stopped = false;
    };

    [[nodiscard]] static ReaderOptions options() {
        ReaderOptions options;
        options.engine.kind = GetParam();
        options.engine.depth = 4;
        return options;
    }

    /// Plans and reads in a thread of its own, as replay() does.
    Outcome read(const db::Trace& trace, const ReaderOptions& options,
                 const PlanOptions& plan_options = {}) {
        Outcome outcome;
        std::thread([&] {
            const Demand demand = make_demand({trace});
            const Plan plan = make_plan(demand, 0, plan_options);
            auto reader = Reader::make(options);
            ASSERT_TRUE(reader) << reader.error().message();
            const Target found = target();
            const auto result = (*reader)->read(found, demand, plan.chunks, outcome.account);
            ASSERT_TRUE(result) << result.error().message();
            verify(found, demand, plan.chunks, outcome.account.tally);
            outcome.engine = (*reader)->engine().name();
            if (const auto read_class = (*reader)->engine().read_class()) {
                outcome.io_class = *read_class;
            }
            outcome.stopped = (*reader)->stopped();
        }).join();
        const Tally& tally = outcome.account.tally;
        EXPECT_EQ(tally.asked, tally.resident_before + tally.read + tally.skipped)
            << "every page is accounted for";
        return outcome;
    }
};

TEST_P(ReaderTest, ReadsThePagesOfThePlanAndNoOther) {
    make_file("a", 300);
    make_file("b", 40);
    db::Trace trace = new_trace();
    const auto a = record(trace, "a");
    add_read(trace, a, 3, 5);
    add_read(trace, a, 100, 1);
    add_read(trace, a, 120, 150);
    add_read(trace, record(trace, "b"), 39, 1);

    const Outcome outcome = read(trace, options());
    EXPECT_EQ(resident(mount_->path("a")), run_of(120, 150, run_of(100, 1, run_of(3, 5))));
    EXPECT_EQ(resident(mount_->path("b")), run_of(39, 1));
    EXPECT_EQ(outcome.account.tally.read, 157U);
    EXPECT_EQ(outcome.account.tally.resident_after, 157U);
    EXPECT_EQ(outcome.account.tally.skipped, 0U);
    EXPECT_EQ(outcome.engine, GetParam() == EngineKind::kUring ? "io_uring" : "threads");
}

TEST_P(ReaderTest, TheClassOfTheReadingThreadsIsIdleAndThatOfOthersIsNot) {
    const auto before = io_class();
    ASSERT_TRUE(before);
    EXPECT_EQ(read(new_trace(), options()).io_class, IoClass::kIdle);
    const auto after = io_class();
    ASSERT_TRUE(after);
    EXPECT_EQ(*after, *before);
}

TEST_P(ReaderTest, WhatIsInMemoryIsNotReadAgain) {
    make_file("file", 64);
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "file"), 0, 20);
    EXPECT_EQ(read(trace, options()).account.tally.read, 20U);
    trace.reads.clear();
    add_read(trace, 0, 0, 64);
    const Tally second = read(trace, options()).account.tally;
    EXPECT_EQ(second.resident_before, 20U);
    EXPECT_EQ(second.read, 44U);
    const Tally third = read(trace, options()).account.tally;
    EXPECT_EQ(third.resident_before, 64U);
    EXPECT_EQ(third.read, 0U);
    EXPECT_EQ(third.resident_after, 64U);
}

TEST_P(ReaderTest, IslandsInMemoryAreNeitherLostNorCounted) {
    make_file("file", 64);
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "file"), 30, 4);
    add_read(trace, 0, 0, 1);
    read(trace, options());
    trace.reads.clear();
    add_read(trace, 0, 0, 64);
    const Tally tally = read(trace, options()).account.tally;
    EXPECT_EQ(tally.resident_before, 5U);
    EXPECT_EQ(tally.read, 59U);
    EXPECT_EQ(tally.resident_after, 64U);
}

TEST_P(ReaderTest, TheLastPageMayBeCutByTheEndOfTheFile) {
    make_file("file", 8);
    std::filesystem::resize_file(mount_->path("file"), 7 * 4096 + 1);
    ASSERT_TRUE(test::evict(mount_->path("file")));
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "file"), 6, 2);
    const Outcome outcome = read(trace, options());
    EXPECT_EQ(outcome.account.tally.read, 2U);
    EXPECT_TRUE(outcome.account.skips.all().empty());
    EXPECT_EQ(resident(mount_->path("file")), run_of(6, 2));
}

TEST_P(ReaderTest, ADiskThatEndsTooSoonIsTold) {
    db::Trace trace = new_trace();
    const std::uint64_t disk_pages = (64ULL << 20) / 4096;
    add_read(trace, record_disk(trace), disk_pages - 2, 6);
    const Outcome outcome = read(trace, options());
    ASSERT_EQ(outcome.account.skips.all().size(), 1U);
    EXPECT_EQ(outcome.account.skips.all()[0].reason, SkipReason::kTruncated);
    EXPECT_EQ(outcome.account.skips.all()[0].pages, 4U);
}

TEST_P(ReaderTest, PagesOfTheDiskArriveInTheDisksCache) {
    db::Trace trace = new_trace();
    const std::uint64_t page = 9'000;  // 35 MB into the disk: free space
    add_read(trace, record_disk(trace), page, 3);
    EXPECT_EQ(read(trace, options()).account.tally.read, 3U);
    const auto pages = resident(mount_->device());
    EXPECT_TRUE(std::binary_search(pages.begin(), pages.end(), page));
    EXPECT_TRUE(std::binary_search(pages.begin(), pages.end(), page + 2));
    EXPECT_FALSE(std::binary_search(pages.begin(), pages.end(), page - 1));
    EXPECT_FALSE(std::binary_search(pages.begin(), pages.end(), page + 3));
}

TEST_P(ReaderTest, ManyFilesNeedFewDescriptors) {
    db::Trace trace = new_trace();
    for (unsigned i = 0; i < 97; ++i) {
        const std::string name = "many/" + std::to_string(i);
        make_file(name, 3);
        add_read(trace, record(trace, name), 0, 1);
        add_read(trace, i, 2, 1);
    }
    // Whatever is open when the limit is set, the reader may add eight files and a few of its own.
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    const rlimit low{testing::open_descriptors() + 8 + 12, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    ReaderOptions few = options();
    few.max_open = 8;
    const Outcome outcome = read(trace, few);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_EQ(outcome.account.tally.read, 194U);
    EXPECT_EQ(outcome.account.tally.resident_after, 194U);
}

TEST_P(ReaderTest, NoDescriptorStaysOpen) {
    make_file("file", 4);
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "file"), 0, 4);
    const std::size_t before = testing::open_descriptors();
    read(trace, options());
    EXPECT_EQ(testing::open_descriptors(), before);
}

TEST_P(ReaderTest, WhatCannotBeReadIsNamedAndTheRestIsRead) {
    make_file("good", 4);
    make_file("bad", 4);
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "bad"), 0, 1);
    add_read(trace, 0, 3, 1);
    add_read(trace, record(trace, "good"), 0, 4);
    std::filesystem::remove(mount_->path("bad"));
    const Outcome outcome = read(trace, options());
    EXPECT_EQ(outcome.account.tally.read, 4U);
    EXPECT_EQ(outcome.account.tally.skipped, 2U);
    ASSERT_EQ(outcome.account.skips.all().size(), 1U) << "one for a file, not for a range";
    EXPECT_EQ(outcome.account.skips.all()[0].reason, SkipReason::kGone);
    EXPECT_EQ(outcome.account.skips.all()[0].pages, 2U);
    EXPECT_EQ(outcome.account.skips.all()[0].path, mount_->path("bad"));
}

TEST_P(ReaderTest, ASignalStopsItAndTheRestIsAccountedFor) {
    make_file("file", 256);
    db::Trace trace = new_trace();
    add_read(trace, record(trace, "file"), 0, 256);
    ReaderOptions stoppable = options();
    stoppable.engine.depth = 1;
    stoppable.stop_on_signals = true;
    stoppable.progress = [](std::uint64_t pages) {
        if (pages >= 16) {
            ::raise(SIGTERM);
        }
    };
    PlanOptions small;
    small.chunk_bytes = 4 * 4096;
    const Outcome outcome = read(trace, stoppable, small);
    EXPECT_TRUE(outcome.stopped);
    EXPECT_GE(outcome.account.tally.read, 16U);
    EXPECT_LT(outcome.account.tally.read, 256U);
    EXPECT_EQ(outcome.account.skips.all().back().reason, SkipReason::kStopped);
}

INSTANTIATE_TEST_SUITE_P(Engines, ReaderTest,
                         ::testing::Values(EngineKind::kUring, EngineKind::kThread),
                         [](const auto& info) {
                             return info.param == EngineKind::kUring ? "Uring" : "Thread";
                         });

}  // namespace
}  // namespace lull::replayer
