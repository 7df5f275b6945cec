// SPDX-License-Identifier: MIT
#include "replayer/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "tests/replayer/traces.hpp"

namespace lull::replayer {
namespace {

using testing::add_file;
using testing::add_read;
using testing::trace_of_one_disk;

constexpr std::uint64_t kMiB = 1024 * 1024;

TEST(Plan, OneSortedPassWhateverTheTimeOfNeed) {
    db::Trace trace = trace_of_one_disk();
    const auto late = add_file(trace, "/late", 1);
    const auto early = add_file(trace, "/early", 1);
    add_read(trace, early, 0, 1, 10, 9 * kMiB);
    add_read(trace, late, 0, 1, 5'000, 1 * kMiB);
    const Plan plan = make_plan(make_demand({trace}), 0);
    ASSERT_EQ(plan.chunks.size(), 2U);
    EXPECT_EQ(plan.chunks[0].file, late);
    EXPECT_EQ(plan.chunks[1].file, early);
}

TEST(Plan, WindowsGoByTimeOfNeedThenByPosition) {
    db::Trace trace = trace_of_one_disk();
    std::vector<std::uint32_t> files;
    for (const char* path : {"/a", "/b", "/c", "/d"}) {
        files.push_back(add_file(trace, path, 1));
    }
    add_read(trace, files[0], 0, 1, 1'900, 1 * kMiB);
    add_read(trace, files[1], 0, 1, 900, 4 * kMiB);
    add_read(trace, files[2], 0, 1, 100, 3 * kMiB);
    add_read(trace, files[3], 0, 1, 1'000, 2 * kMiB);
    PlanOptions options;
    options.window_ns = 1'000;
    const Plan plan = make_plan(make_demand({trace}), 0, options);
    std::vector<std::uint32_t> order;
    for (const Chunk& chunk : plan.chunks) {
        order.push_back(chunk.file);
    }
    EXPECT_EQ(order, (std::vector<std::uint32_t>{files[2], files[1], files[0], files[3]}));
}

TEST(Plan, MetadataThenDirectoriesThenInodesThenFiles) {
    db::Trace trace = trace_of_one_disk();
    const auto file = add_file(trace, "/f", 1);
    const auto inode = add_file(trace, "/f", 0, db::FileKind::kInode);
    const auto directory = add_file(trace, "/", 0, db::FileKind::kDirectory);
    const auto disk = add_file(trace, "", 0, db::FileKind::kDevice);
    add_read(trace, file, 0, 1, 1, 0);
    add_read(trace, disk, 9'000, 1, 99);
    add_read(trace, disk, 10, 1, 99);
    const Plan plan = make_plan(make_demand({trace}), 0);
    ASSERT_EQ(plan.chunks.size(), 5U);
    EXPECT_EQ(plan.chunks[0].file, disk);
    EXPECT_EQ(plan.chunks[0].first_page, 10U);
    EXPECT_EQ(plan.chunks[0].position, 40'960U) << "pages of the disk lie where they say";
    EXPECT_EQ(plan.chunks[1].first_page, 9'000U);
    EXPECT_EQ(plan.chunks[2].file, directory);
    EXPECT_EQ(plan.chunks[2].pages, 0U);
    EXPECT_EQ(plan.chunks[3].file, inode);
    EXPECT_EQ(plan.chunks[4].file, file);

    EXPECT_EQ(make_plan(only(make_demand({trace}), true), 0).chunks.size(), 4U);
    const Plan files = make_plan(only(make_demand({trace}), false), 0);
    ASSERT_EQ(files.chunks.size(), 1U);
    EXPECT_EQ(files.chunks[0].file, file);
}

TEST(Plan, WithoutPositionFilesGoLastInTheOrderOfNeed) {
    db::Trace trace = trace_of_one_disk();
    const auto second = add_file(trace, "/second", 4);
    const auto first = add_file(trace, "/first", 4);
    const auto placed = add_file(trace, "/placed", 1);
    add_read(trace, second, 0, 1, 50);
    add_read(trace, second, 1, 1, 900);
    add_read(trace, first, 0, 1, 40);
    add_read(trace, placed, 0, 1, 1'000, 7 * kMiB);
    const Plan plan = make_plan(make_demand({trace}), 0);
    ASSERT_EQ(plan.chunks.size(), 3U);
    EXPECT_EQ(plan.chunks[0].file, placed);
    EXPECT_EQ(plan.chunks[1].file, first);
    EXPECT_EQ(plan.chunks[2].file, second);
    EXPECT_EQ(plan.chunks[2].pages, 2U) << "pages that touch are one read, position or not";
}

TEST(Plan, ReadsThroughTheSmallestGapsTheBudgetPays) {
    db::Trace trace = trace_of_one_disk();
    const auto file = add_file(trace, "/f", 400);
    for (const auto& [page, pages] : {std::pair(0U, 96U), {98U, 50U}, {151U, 54U}, {215U, 1U}}) {
        add_read(trace, file, page, pages, 0, 8 * kMiB + page * 4096ULL);
    }
    PlanOptions options;
    options.chunk_bytes = 4 * kMiB;
    options.read_through = 0.03;  // of 201 pages: 6; the gaps are 2, 3 and 10
    const Plan plan = make_plan(make_demand({trace}), 0, options);
    ASSERT_EQ(plan.chunks.size(), 2U);
    EXPECT_EQ(plan.chunks[0].pages, 205U);
    EXPECT_EQ(plan.chunks[0].gap_pages, 5U);
    EXPECT_EQ(plan.chunks[1].first_page, 215U);
    EXPECT_EQ(plan.gap_pages, 5U);
    EXPECT_EQ(plan.demanded_pages, 201U);

    options.read_through = 0;
    EXPECT_EQ(make_plan(make_demand({trace}), 0, options).chunks.size(), 4U);
    options.read_through = 1;
    EXPECT_EQ(make_plan(make_demand({trace}), 0, options).chunks.size(), 1U);
    options.seek_ns = 5 * 4096;  // a seek costs as much as five pages at 1 ns a byte
    options.ns_per_byte = 1;
    EXPECT_EQ(make_plan(make_demand({trace}), 0, options).chunks.size(), 2U);
}

TEST(Plan, NeverReadsThroughWhereTheDiskDoesNotFollowTheFile) {
    db::Trace trace = trace_of_one_disk();
    const auto file = add_file(trace, "/fragmented", 100);
    add_read(trace, file, 0, 4, 0, 1 * kMiB);
    add_read(trace, file, 5, 4, 0, 1 * kMiB + 9 * 4096);
    add_read(trace, file, 9, 4, 0, 1 * kMiB + 64 * 4096);
    PlanOptions options;
    options.read_through = 1;
    EXPECT_EQ(make_plan(make_demand({trace}), 0, options).chunks.size(), 3U);
}

TEST(Plan, TheBudgetKeepsWhatIsNeededFirst) {
    db::Trace trace = trace_of_one_disk();
    const auto late = add_file(trace, "/late", 10);
    const auto early = add_file(trace, "/early", 10);
    add_read(trace, late, 0, 10, 900, 1 * kMiB);
    add_read(trace, early, 0, 10, 100, 2 * kMiB);
    PlanOptions options;
    options.max_bytes = 14 * 4096 + 100;
    const Plan plan = make_plan(make_demand({trace}), 0, options);
    EXPECT_EQ(plan.demanded_pages, 14U);
    ASSERT_EQ(plan.over_budget.size(), 1U);
    EXPECT_EQ(plan.over_budget[0].file, late);
    EXPECT_EQ(plan.over_budget[0].first_page, 4U);
    EXPECT_EQ(plan.over_budget[0].pages, 6U);
}

TEST(Plan, EachDeviceHasItsOwnPlan) {
    db::Trace trace = trace_of_one_disk();
    db::Device second = trace.devices[0];
    second.fs_uuid = "another";
    second.mount_point = "/home";
    trace.devices.push_back(second);
    add_read(trace, add_file(trace, "/a", 1), 0, 1);
    const auto other = add_file(trace, "/b", 1);
    trace.files[other].device = 1;
    add_read(trace, other, 0, 1);
    const Demand demand = make_demand({trace});
    ASSERT_EQ(make_plan(demand, 0).chunks.size(), 1U);
    ASSERT_EQ(make_plan(demand, 1).chunks.size(), 1U);
    EXPECT_EQ(make_plan(demand, 1).chunks[0].file, 1U);
}

/// A trace of `files` files in fragments all over a disk, with times at random.
db::Trace random_trace(std::mt19937& random) {
    db::Trace trace = trace_of_one_disk();
    std::vector<std::uint64_t> places(2'000);  // each holds the longest file
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    const auto next_place = [&places] {
        const std::uint64_t place = places.back();
        places.pop_back();
        return place * 1'000 * 4096;
    };
    for (unsigned f = 0; f < 12; ++f) {
        const std::uint64_t pages = 1 + random() % 600;
        const bool metadata = f == 0;
        const auto file = add_file(trace, "/f" + std::to_string(f), pages,
                                   metadata ? db::FileKind::kDevice : db::FileKind::kRegular);
        const bool placed = random() % 4 != 0;
        std::uint64_t position = next_place();
        for (std::uint64_t page = random() % 20; page < pages;) {
            const auto run = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(pages - page, 1 + random() % 200));
            add_read(trace, file, page, run, random() % 10'000,
                     placed ? std::optional(position) : std::nullopt);
            const std::uint64_t gap = random() % 24;
            page += run + gap;
            position += (run + gap) * 4096ULL;
            if (random() % 5 == 0) {
                position = next_place();
            }
        }
    }
    return trace;
}

void check_plan(const Demand& demand, const PlanOptions& options) {
    const Plan plan = make_plan(demand, 0, options);
    std::set<std::pair<std::uint32_t, std::uint64_t>> demanded;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> window_of;
    for (const Piece& piece : demand.pieces) {
        for (std::uint64_t page = piece.first_page; page < piece.end_page(); ++page) {
            demanded.emplace(piece.file, page);
            window_of[{piece.file, page}] =
                options.window_ns == 0 ? 0 : piece.first_use_ns / options.window_ns;
        }
    }
    std::set<std::pair<std::uint32_t, std::uint64_t>> covered;
    std::uint64_t gaps = 0;
    auto last = std::make_tuple(std::uint64_t{0}, 0, false, std::uint64_t{0});
    for (const Chunk& chunk : plan.chunks) {
        EXPECT_LE(chunk.pages * 4096ULL, options.chunk_bytes);
        std::uint64_t undemanded = 0;
        for (std::uint64_t page = chunk.first_page; page < chunk.end_page(); ++page) {
            const std::pair key(chunk.file, page);
            if (demanded.count(key) == 0) {
                ++undemanded;
                continue;
            }
            EXPECT_TRUE(covered.insert(key).second) << "a page is read twice";
            EXPECT_EQ(window_of[key], chunk.window);
        }
        EXPECT_EQ(undemanded, chunk.gap_pages);
        EXPECT_TRUE(demanded.count({chunk.file, chunk.first_page}));
        EXPECT_TRUE(demanded.count({chunk.file, chunk.end_page() - 1}));
        gaps += undemanded;
        const int rank = demand.files[chunk.file].kind == db::FileKind::kRegular ? 1 : 0;
        const auto key = std::make_tuple(chunk.window, rank, !chunk.position.has_value(),
                                         chunk.position.value_or(0));
        EXPECT_LE(last, key) << "out of order";
        last = key;
    }
    EXPECT_EQ(covered, demanded) << "every demanded page is read";
    EXPECT_EQ(plan.demanded_pages, demanded.size());
    EXPECT_EQ(plan.gap_pages, gaps);
    EXPECT_LE(static_cast<double>(gaps), options.read_through * demanded.size());
}

TEST(Plan, HoldsItsPromisesOnRandomTraces) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const Demand demand = make_demand({random_trace(random)});
        PlanOptions options;
        options.window_ns = seed % 3 == 0 ? 0 : 1 + random() % 5'000;
        options.chunk_bytes = 4096ULL * (1 + random() % 128);
        options.read_through = (random() % 20) / 100.0;
        check_plan(demand, options);
    }
}

}  // namespace
}  // namespace lull::replayer
