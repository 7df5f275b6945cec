// SPDX-License-Identifier: MIT
#include "tests/disk/hard_disk.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/disk/profiles.hpp"
#include "tests/disk/workload.hpp"

namespace lull::disk {
namespace {

HardDiskProfile profile_of(std::string_view name) {
    const auto all = hard_disk_profiles();
    return *std::find_if(all.begin(), all.end(),
                         [&](const HardDiskProfile& profile) { return profile.name == name; });
}

HardDiskProfile without_read_ahead() {
    HardDiskProfile profile = profile_of("hdd-7200");
    profile.segment_sectors = 0;
    return profile;
}

TEST(HardDisk, AMissedSectorCostsOneTurn) {
    HardDisk disk(without_read_ahead(), {});
    const Nanoseconds turn = disk.geometry().revolution();
    const Nanoseconds block = disk.geometry().position(8) - disk.geometry().position(0);
    Nanoseconds now = serve_one(disk, {0, Operation::kRead, 0, 8}, 0);
    for (std::uint64_t sector = 8; sector < 80; sector += 8) {
        // The command arrives 0.2 ms after the last one, when its first sector has just passed.
        const Nanoseconds done = serve_one(disk, {0, Operation::kRead, sector, 8}, now + 200'000);
        EXPECT_NEAR(static_cast<double>(done - now), static_cast<double>(turn + block), 10);
        now = done;
    }
}

TEST(HardDisk, AWriteRightBehindTheLastCostsOneTurn) {
    HardDisk disk(profile_of("hdd-7200"), {});
    const Nanoseconds turn = disk.geometry().revolution();
    const Nanoseconds first = serve_one(disk, {0, Operation::kWrite, 0, 8}, 0);
    const Nanoseconds second = serve_one(disk, {0, Operation::kWrite, 8, 8}, first);
    EXPECT_NEAR(static_cast<double>(second - first), static_cast<double>(turn), 1e5);
}

TEST(HardDisk, QueuedWritesStreamWithoutMissingATurn) {
    HardDisk disk(profile_of("hdd-7200"), {});
    EXPECT_GT(sequential_rate(disk, {.operation = Operation::kWrite, .depth = 8}), 107e6);
}

TEST(HardDisk, ReadingOnMakesSmallSequentialReadsCheap) {
    HardDisk disk(profile_of("hdd-7200"), {});
    Nanoseconds now = serve_one(disk, {0, Operation::kRead, 0, 8}, 0);
    for (std::uint64_t sector = 8; sector < 8000; sector += 8) {
        const Nanoseconds start = now + 200'000;
        now = serve_one(disk, {0, Operation::kRead, sector, 8}, start);
        EXPECT_LT(now - start, 200'000) << sector;
    }
    EXPECT_EQ(disk.counters().cache_hits, 999U);
    EXPECT_EQ(disk.counters().seeks, 0U);
}

TEST(HardDisk, ReadingOnStopsWhenTheSegmentIsFull) {
    const HardDiskProfile profile = profile_of("hdd-7200");
    HardDisk disk(profile, {});
    Nanoseconds now = serve_one(disk, {0, Operation::kRead, 0, 8}, 0) + 1'000'000'000;
    serve_one(disk, {0, Operation::kRead, profile.segment_sectors - 8, 8}, now);
    EXPECT_EQ(disk.counters().cache_hits, 1U);
    HardDisk other(profile, {});
    now = serve_one(other, {0, Operation::kRead, 0, 8}, 0) + 1'000'000'000;
    serve_one(other, {0, Operation::kRead, profile.segment_sectors, 8}, now);
    EXPECT_EQ(other.counters().cache_hits, 0U);
}

TEST(HardDisk, AWriteMakesTheBufferForgetWhatItReplaced) {
    HardDisk disk(profile_of("hdd-7200"), {});
    Nanoseconds now = serve_one(disk, {0, Operation::kRead, 0, 8}, 0) + 1'000'000'000;
    now = serve_one(disk, {0, Operation::kWrite, 64, 8}, now);
    serve_one(disk, {0, Operation::kRead, 64, 8}, now);
    EXPECT_EQ(disk.counters().cache_hits, 0U);
}

TEST(HardDisk, TheBufferKeepsAsManyStreamsAsItHasSegments) {
    const HardDiskProfile profile = profile_of("hdd-7200");
    const auto hits_with = [&](std::uint64_t streams) {
        HardDisk disk(profile, {});
        Nanoseconds now = 0;
        for (std::uint64_t round = 0; round < 2; ++round) {
            for (std::uint64_t i = 0; i < streams; ++i) {
                const std::uint64_t sector = i * 10'000'000 + round * 8;
                now = serve_one(disk, {0, Operation::kRead, sector, 8}, now) + 50'000'000;
            }
        }
        return disk.counters().cache_hits;
    };
    EXPECT_EQ(hits_with(profile.segments), profile.segments);
    EXPECT_EQ(hits_with(profile.segments + 1), 0U);
}

TEST(HardDisk, TheBufferGivesUpTheStreamThatWasUsedLeastRecently) {
    const HardDiskProfile profile = profile_of("hdd-7200");
    HardDisk disk(profile, {});
    Nanoseconds now = 0;
    const auto read = [&](std::uint64_t stream, std::uint64_t sector) {
        const std::uint64_t hits = disk.counters().cache_hits;
        now = serve_one(disk, {0, Operation::kRead, stream * 10'000'000 + sector, 8}, now);
        now += 50'000'000;
        return disk.counters().cache_hits > hits;
    };
    for (std::uint64_t stream = 0; stream < profile.segments; ++stream) {
        EXPECT_FALSE(read(stream, 0));
    }
    EXPECT_TRUE(read(0, 8));
    EXPECT_FALSE(read(profile.segments, 0));
    EXPECT_TRUE(read(0, 16));
    EXPECT_FALSE(read(1, 8));
}

TEST(HardDisk, AReadThatFollowsTheHeadCountsAsAHit) {
    HardDisk disk(profile_of("hdd-7200"), {});
    const Nanoseconds first = serve_one(disk, {0, Operation::kRead, 0, 256}, 0);
    const Nanoseconds second = serve_one(disk, {0, Operation::kRead, 256, 256}, first);
    EXPECT_EQ(disk.counters().cache_hits, 1U);
    const Nanoseconds media = disk.geometry().end_position(511) - disk.geometry().end_position(255);
    EXPECT_EQ(second - first, media);
}

TEST(HardDisk, AFullStrokeTakesThePublishedTimeAndHalfATurn) {
    const HardDiskProfile profile = without_read_ahead();
    HardDisk disk(profile, {});
    const Nanoseconds turn = disk.geometry().revolution();
    const Nanoseconds least = profile.overhead + profile.seek.full_stroke;
    Nanoseconds now = 0;
    double sum = 0;
    constexpr int kSeeks = 2000;
    std::mt19937_64 random(3);
    for (int i = 0; i < kSeeks; ++i) {
        const std::uint64_t last = disk.sectors() - 1;
        const std::uint64_t sector = i % 2 == 0 ? last : 0;
        const Nanoseconds start = now + static_cast<Nanoseconds>(random() % 10'000'000);
        now = serve_one(disk, {0, Operation::kRead, sector, 1}, start);
        EXPECT_GE(now - start, least - 100'000);
        EXPECT_LE(now - start, least + turn + 100'000);
        sum += static_cast<double>(now - start);
    }
    const auto expected = static_cast<double>(least) + static_cast<double>(turn) / 2;
    EXPECT_NEAR(sum / kSeeks, expected, 0.02 * expected);
    EXPECT_EQ(disk.counters().seeks, static_cast<std::uint64_t>(kSeeks));
}

TEST(HardDisk, TheNearestQueuedRequestGoesFirst) {
    const auto order_at_depth = [](std::uint32_t depth) {
        HardDisk disk(profile_of("hdd-7200"), {.queue_depth = depth});
        const std::uint64_t far = disk.sectors() / 2;
        disk.submit({0, Operation::kRead, 0, 8}, 0);
        disk.submit({1, Operation::kRead, far, 8}, 0);
        disk.submit({2, Operation::kRead, far + far / 2, 8}, 0);
        disk.submit({3, Operation::kRead, 8, 8}, 0);
        std::vector<std::uint64_t> order;
        for (const Completion& completion : disk.advance(1'000'000'000)) {
            order.push_back(completion.id);
        }
        return order;
    };
    EXPECT_EQ(order_at_depth(1), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    EXPECT_EQ(order_at_depth(4)[1], 3U);
    // Two fit: the near one waits outside while the drive chooses between the far ones.
    EXPECT_NE(order_at_depth(2)[1], 3U);
}

TEST(HardDisk, ShortestPositioningTimeFirstBeatsOrderOfArrival) {
    HardDisk in_order(profile_of("hdd-7200"), {.queue_depth = 1});
    HardDisk by_position(profile_of("hdd-7200"), {});
    EXPECT_GT(random_rate(by_position, {.depth = 32}), 1.8 * random_rate(in_order, {.depth = 32}));
}

TEST(HardDisk, AgeKeepsAFarRequestFromStarving) {
    HardDisk disk(profile_of("hdd-7200"), {});
    constexpr std::uint64_t kFar = 1'000'000;
    std::mt19937_64 random(5);
    const auto near = [&] { return random() % 200'000 * 8; };
    for (std::uint64_t id = 0; id < 31; ++id) {
        disk.submit({id, Operation::kRead, near(), 8}, 0);
    }
    disk.submit({kFar, Operation::kRead, disk.sectors() - 8, 8}, 0);
    std::optional<Nanoseconds> far_done;
    while (!far_done) {
        const Nanoseconds now = *disk.next_completion();
        ASSERT_LT(now, 2'000'000'000);
        for (const Completion& completion : disk.advance(now)) {
            if (completion.id == kFar) {
                far_done = completion.at;
            }
            disk.submit({0, Operation::kRead, near(), 8}, now);
        }
    }
    EXPECT_GT(*far_done, 100'000'000);
}

TEST(HardDisk, TheSeedTurnsThePlatter) {
    const auto first = [](std::uint64_t seed) {
        HardDisk disk(profile_of("hdd-7200"), {.seed = seed});
        return serve_one(disk, {0, Operation::kRead, 0, 8}, 0);
    };
    EXPECT_EQ(first(1), first(1));
    EXPECT_NE(first(1), first(2));
}

TEST(Dvd, ReadsWholeBlocksOfErrorCorrection) {
    HardDiskProfile profile = profile_of("dvd");
    profile.segment_sectors = 0;
    const auto average = [&](std::uint32_t sectors) {
        HardDisk disk(profile, {});
        Nanoseconds now = 0;
        Nanoseconds sum = 0;
        for (std::uint64_t i = 0; i < 200; ++i) {
            const std::uint64_t sector = (i % 2) * 4'000'000 + i * 64;
            const Nanoseconds start = now;
            now = serve_one(disk, {0, Operation::kRead, sector, sectors}, start);
            sum += now - start;
        }
        return static_cast<double>(sum) / 200;
    };
    EXPECT_EQ(average(8), average(64));
}

}  // namespace
}  // namespace lull::disk
