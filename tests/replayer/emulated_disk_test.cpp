// SPDX-License-Identifier: MIT
// The promise, on a disk that seeks: after a replay the disk has next to nothing left to do.
#include <gtest/gtest.h>

#include "replayer/replay.hpp"
#include "tests/needs.hpp"
#include "tests/replayer/cold_tree.hpp"

namespace lull::replayer {
namespace {

TEST(EmulatedDisk, AfterAReplayNothingIsLeftToRead) {
    LULL_NEEDS_ROOT();
    auto tree = testing::ColdTree::make(150);
    ASSERT_TRUE(tree) << tree.error().message();

    ASSERT_TRUE(tree->disk().remount_cold());
    const disk::Counters start = tree->disk().counters();
    const std::uint64_t bytes = tree->demand();
    const disk::Counters cold = tree->disk().counters();

    ASSERT_TRUE(tree->disk().remount_cold());
    const disk::Counters before = tree->disk().counters();
    const auto report = replay(ReplayOptions{}, {tree->trace()});
    ASSERT_TRUE(report) << report.error().message();
    const disk::Counters replayed = tree->disk().counters();
    EXPECT_EQ(tree->demand(), bytes);
    const disk::Counters after = tree->disk().counters();

    const Tally total = report->total();
    EXPECT_EQ(total.skipped, 0U);
    EXPECT_EQ(total.asked - total.gap, tree->demanded_pages());
    EXPECT_EQ(total.resident_after, total.asked) << "recall 1";
    EXPECT_LE(total.asked * 100, tree->demanded_pages() * 105) << "precision";
    EXPECT_LE((after.reads - replayed.reads) * 50, cold.reads - start.reads) << "2 %";
    EXPECT_LT((replayed.busy - before.busy) * 2, cold.busy - start.busy)
        << "one sorted pass takes the disk less than half the time";
}

}  // namespace
}  // namespace lull::replayer
