// SPDX-License-Identifier: MIT
#include "replayer/demand.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "tests/replayer/traces.hpp"

namespace lull::replayer {
namespace {

using testing::add_file;
using testing::add_read;
using testing::trace_of_one_disk;

TEST(Demand, TwoTracesOfOneFileAskForEachPageOnce) {
    db::Trace first = trace_of_one_disk();
    add_read(first, add_file(first, "/bin/a", 20), 0, 10, 500, 40960);
    db::Trace second = trace_of_one_disk();
    add_read(second, add_file(second, "/bin/a", 20), 5, 10, 200, 61440);

    const Demand demand = make_demand({first, second});
    ASSERT_EQ(demand.devices.size(), 1U);
    ASSERT_EQ(demand.files.size(), 1U);
    ASSERT_EQ(demand.pieces.size(), 3U);
    EXPECT_EQ(demand.pieces[0].first_page, 0U);
    EXPECT_EQ(demand.pieces[0].pages, 5U);
    EXPECT_EQ(demand.pieces[0].first_use_ns, 500U);
    EXPECT_EQ(demand.pieces[1].first_page, 5U);
    EXPECT_EQ(demand.pieces[1].pages, 5U);
    EXPECT_EQ(demand.pieces[1].first_use_ns, 200U) << "the earlier use counts";
    EXPECT_EQ(demand.pieces[1].position, 61440U);
    EXPECT_EQ(demand.pieces[2].first_page, 10U);
    EXPECT_EQ(demand.pieces[2].pages, 5U);
    EXPECT_EQ(demand.pieces[2].position, 61440U + 5 * 4096);
    EXPECT_TRUE(demand.skips.empty());
}

TEST(Demand, TheSameFileSystemUnderAnotherNumberIsOneDevice) {
    db::Trace first = trace_of_one_disk();
    add_read(first, add_file(first, "/a", 1), 0, 1);
    db::Trace second = trace_of_one_disk();
    second.devices[0].major = 259;
    second.devices[0].source = "/dev/nvme0n1p1";
    add_read(second, add_file(second, "/a", 1), 0, 1);
    const Demand demand = make_demand({first, second});
    EXPECT_EQ(demand.devices.size(), 1U);
    EXPECT_EQ(demand.pieces.size(), 1U);
}

TEST(Demand, WithoutUuidTheNumberTells) {
    db::Trace first = trace_of_one_disk("");
    add_read(first, add_file(first, "/a", 1), 0, 1);
    db::Trace second = trace_of_one_disk("");
    second.devices[0].minor = 2;
    add_read(second, add_file(second, "/a", 1), 0, 1);
    EXPECT_EQ(make_demand({first, second}).devices.size(), 2U);
    EXPECT_EQ(make_demand({first, first}).devices.size(), 1U);
}

TEST(Demand, AChangedFileIsAnotherFile) {
    db::Trace first = trace_of_one_disk();
    add_read(first, add_file(first, "/etc/x", 4), 0, 4);
    db::Trace second = first;
    second.files[0].mtime_ns = 77;
    EXPECT_EQ(make_demand({first, second}).files.size(), 2U);
}

TEST(Demand, HardLinksAreOneFile) {
    db::Trace trace = trace_of_one_disk();
    const auto first = add_file(trace, "/a", 4);
    const auto second = add_file(trace, "/b", 4);
    trace.files[second].inode = trace.files[first].inode;
    add_read(trace, first, 0, 2);
    add_read(trace, second, 1, 3);
    const Demand demand = make_demand({trace});
    ASSERT_EQ(demand.files.size(), 1U);
    EXPECT_EQ(demand.files[0].path, "/a");
}

TEST(Demand, WhatCannotBeReadIsNamed) {
    db::Trace trace = trace_of_one_disk();
    const auto deleted = add_file(trace, "/tmp/gone", 4);
    trace.files[deleted].deleted = true;
    const auto nameless = add_file(trace, "", 4);
    const auto beyond = add_file(trace, "/short", 2);
    add_read(trace, deleted, 0, 3);
    add_read(trace, deleted, 3, 1);
    add_read(trace, nameless, 0, 2);
    add_read(trace, beyond, 1, 5);
    add_read(trace, 99, 0, 7);

    const Demand demand = make_demand({trace});
    std::map<SkipReason, std::uint64_t> pages;
    for (const Skip& skip : demand.skips) {
        pages[skip.reason] += skip.pages;
    }
    EXPECT_EQ(pages[SkipReason::kDeleted], 4U);
    EXPECT_EQ(pages[SkipReason::kNoName], 2U);
    EXPECT_EQ(pages[SkipReason::kBadRange], 4U + 7U);
    ASSERT_EQ(demand.pieces.size(), 1U);
    EXPECT_EQ(demand.pieces[0].first_page, 1U);
    EXPECT_EQ(demand.pieces[0].pages, 1U);
}

TEST(Demand, AFileOfAnUnknownDeviceIsABadRange) {
    db::Trace trace = trace_of_one_disk();
    const auto file = add_file(trace, "/a", 4);
    trace.files[file].device = 12;
    add_read(trace, file, 0, 4);
    const Demand demand = make_demand({trace});
    EXPECT_TRUE(demand.pieces.empty());
    ASSERT_EQ(demand.skips.size(), 1U);
    EXPECT_EQ(demand.skips[0].reason, SkipReason::kBadRange);
}

TEST(Demand, HugeNumbersDoNotWrap) {
    db::Trace trace = trace_of_one_disk();
    const auto disk = add_file(trace, "", 0, db::FileKind::kDevice);
    add_read(trace, disk, UINT64_MAX - 2, UINT32_MAX);
    const auto file = add_file(trace, "/huge", 1);
    trace.files[file].size = UINT64_MAX;
    add_read(trace, file, UINT64_MAX / 4096 - 1, UINT32_MAX);
    const Demand demand = make_demand({trace});
    EXPECT_TRUE(demand.pieces.empty());
    EXPECT_EQ(demand.skips.size(), 2U);
}

TEST(Demand, DirectoriesAndInodesAreVisitedOnceEvenWithoutReads) {
    db::Trace trace = trace_of_one_disk();
    add_file(trace, "/usr", 0, db::FileKind::kDirectory);
    const auto inode = add_file(trace, "/usr/x", 0, db::FileKind::kInode);
    add_read(trace, inode, 0, 1, 90);
    add_read(trace, inode, 0, 1, 30);
    const Demand demand = make_demand({trace, trace});
    ASSERT_EQ(demand.pieces.size(), 2U);
    EXPECT_EQ(demand.pieces[0].pages, 0U);
    EXPECT_EQ(demand.pieces[1].pages, 0U);
    EXPECT_EQ(demand.pieces[1].first_use_ns, 30U);
}

// Whatever overlaps whatever: the pieces are disjoint, cover what was asked, and carry the time of
// the earliest use.
TEST(Demand, PiecesCoverTheReadsExactly) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        std::mt19937 random(seed);
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> expected;
        std::vector<db::Trace> traces(1 + random() % 3, trace_of_one_disk());
        for (db::Trace& trace : traces) {
            for (std::uint32_t file = 0; file < 3; ++file) {
                add_file(trace, "/f" + std::to_string(file), 200);
                for (unsigned i = 0; i < random() % 12; ++i) {
                    const std::uint64_t first = random() % 200;
                    const std::uint32_t pages = 1 + random() % (200 - first);
                    const std::uint64_t use = random() % 1000;
                    add_read(trace, file, first, pages, use);
                    for (std::uint64_t page = first; page < first + pages; ++page) {
                        const auto [place, is_new] = expected.emplace(std::pair(file, page), use);
                        place->second = is_new ? use : std::min(place->second, use);
                    }
                }
            }
        }
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> found;
        for (const Piece& piece : make_demand(traces).pieces) {
            for (std::uint64_t page = piece.first_page; page < piece.end_page(); ++page) {
                EXPECT_TRUE(found.emplace(std::pair(piece.file, page), piece.first_use_ns).second)
                    << "twice, seed " << seed;
            }
        }
        EXPECT_EQ(found, expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace lull::replayer
