// SPDX-License-Identifier: MIT
// Masks become ranges.
#include <fcntl.h>

#include "base/fd.hpp"
#include "tests/collector/assemble_fixture.hpp"

namespace lull::collector {
namespace {

constexpr std::uint32_t kUser = user_of(7, 1);
constexpr std::uint32_t kOtherUser = user_of(8, 1);

TEST_F(Assemble, NothingIsAnEmptyTrace) {
    raw_.rung = "events";
    const db::Trace trace = assembled();
    EXPECT_TRUE(trace.files.empty() && trace.reads.empty() && trace.devices.empty());
    EXPECT_TRUE(trace.boot.limits.empty());
    EXPECT_EQ(trace.boot.rung, "events");
    EXPECT_TRUE(trace.boot.complete());
}

TEST_F(Assemble, PassesOnWhatIsKnownOfTheRun) {
    raw_.rung = "add";
    raw_.limits = {"It was dark."};
    raw_.losses.opens = 5;
    db::Boot boot;
    boot.command = "cat";
    const db::Trace trace = assemble(raw_, mounts_, boot, kStart);
    EXPECT_EQ(trace.boot.command, "cat");
    EXPECT_EQ(trace.boot.rung, "add");
    EXPECT_EQ(trace.boot.limits, (std::vector<std::string>{"It was dark."}));
    EXPECT_EQ(trace.boot.losses.opens, 5U);
}

TEST_F(Assemble, MakesARangeOfEachRunOfPages) {
    add_block(0).demand = 0b1101'0111;
    EXPECT_EQ(reads(), (Reads{read(0, 3), read(4, 1), read(6, 2)}));
}

TEST_F(Assemble, MergesOverTheEndOfABlock) {
    add_block(2).demand = 1;
    add_block(1).demand = 0xffffffff;
    add_block(0).demand = 0x80000000;
    EXPECT_EQ(reads(), (Reads{read(31, 34)}));
}

TEST_F(Assemble, DoesNotMergeOverAGap) {
    add_block(0).demand = 0x80000000;
    add_block(1).demand = 0xfffffffe;
    add_block(3).demand = 1;
    EXPECT_EQ(reads(), (Reads{read(31, 1), read(33, 31), read(96, 1)}));
}

TEST_F(Assemble, DoesNotMergeOverFiles) {
    RawBlock other = block(0);
    other.inode = add_file("/other", db::kPageSize * kPagesPerBlock);
    other.demand = 0xffffffff;
    raw_.blocks.push_back(other);
    add_block(0).demand = 0xffffffff;
    add_block(1).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 2U);
    ASSERT_EQ(trace.reads.size(), 2U);
    EXPECT_EQ(trace.reads[0].pages + trace.reads[1].pages, 65U);
}

TEST_F(Assemble, SplitsByWhereThePageWas) {
    RawBlock& all = add_block(0);
    all.demand = 0b11'1111;
    all.added = 0b01'1111;
    all.own = 0b01'1000;
    all.miss = 0b00'0001;
    EXPECT_EQ(reads(), (Reads{read(0, 1, db::Source::kMiss), read(1, 2, db::Source::kReadahead),
                              read(3, 2, db::Source::kReplay), read(5, 1, db::Source::kMemory)}));
}

TEST_F(Assemble, SplitsByUseAndTakesTheSurest) {
    RawBlock& all = add_block(0);
    all.demand = 0b000'0011;
    all.mapped = 0b000'1110;
    all.cached = 0b111'1001;
    all.added = 0b111'1111;
    using db::Source;
    using db::Use;
    EXPECT_EQ(reads(), (Reads{read(0, 2, Use::kDemand, Source::kReadahead),
                              read(2, 2, Use::kMapped, Source::kReadahead),
                              read(4, 3, Use::kCached, Source::kUnknown)}));
}

TEST_F(Assemble, SplitsByUser) {
    add_user(7);
    add_user(8);
    for (const std::uint32_t number : {0U, 1U, 2U, 3U}) {
        add_block(number).demand = 0xffffffff;
    }
    raw_.blocks[0].user = kUser;
    raw_.blocks[1].user = kUser;
    raw_.blocks[2].user = kOtherUser;
    raw_.blocks[3].user = user_of(9, 1);  // its record was lost
    Reads wanted{read(0, 64), read(64, 32), read(96, 32)};
    wanted[0].process = 0;
    wanted[1].process = 1;
    EXPECT_EQ(reads(), wanted);
}

TEST_F(Assemble, TakesTheFirstUseOfARange) {
    add_block(0, kStart + 500).demand = 0xffffffff;
    add_block(1, kStart + 20).demand = 1;
    Reads wanted{read(0, 33)};
    wanted[0].first_use_ns = 20;
    EXPECT_EQ(reads(), wanted);
}

TEST_F(Assemble, CountsTimesFromTheStart) {
    add_user(7);
    raw_.processes[0].first_use_ns = kStart + 3;
    add_block(0, kStart + 4711).demand = 1;
    add_block(2, kStart - 1).demand = 1;  // while the rung was starting
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.reads.size(), 2U);
    EXPECT_EQ(trace.reads[0].first_use_ns, 4711U);
    EXPECT_EQ(trace.reads[1].first_use_ns, 0U);
    EXPECT_EQ(trace.processes[0].first_use_ns, 3U);
}

TEST_F(Assemble, LeavesOutFilesThatNobodyUsed) {
    RawBlock& looked_at = add_block(0);
    looked_at.window = 0xff;  // of a file none of which is in memory
    RawBlock read_ahead = block(1);
    read_ahead.added = 0xff;
    raw_.blocks.push_back(read_ahead);
    const db::Trace trace = assembled();
    EXPECT_TRUE(trace.files.empty());
    EXPECT_TRUE(trace.reads.empty());
}

TEST_F(Assemble, CountsAWindowAsMappedWhereItWasInMemoryBefore) {
    const Fd file(::open((root_ + "/file").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string four_pages(4 * db::kPageSize, 'x');
    ASSERT_EQ(::pwrite(file.get(), four_pages.data(), four_pages.size(), 0),
              static_cast<ssize_t>(four_pages.size()));
    RawBlock& only = add_block(0);
    only.window = 0xff;
    only.added = 0b10;  // came into memory during the trace, so not by this fault
    add_block(3).window = 0xff;
    const db::Trace trace = assembled();
    EXPECT_EQ(trace.reads, (Reads{read(0, 1, db::Use::kMapped, db::Source::kMemory),
                                  read(2, 2, db::Use::kMapped, db::Source::kMemory)}));
    EXPECT_TRUE(has_limit(trace, "3 pages were in memory and mapped"));
}

TEST_F(Assemble, SaysNothingOfMappedPagesWhereThereAreNone) {
    add_block(0).demand = 1;
    for (const std::string& limit : assembled().boot.limits) {
        EXPECT_EQ(limit.find("mapped"), std::string::npos) << limit;
    }
}

}  // namespace
}  // namespace lull::collector
