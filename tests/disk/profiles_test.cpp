// SPDX-License-Identifier: MIT
// Each profile against what its drive is known to do. Sources are in hard_disk_profiles.cpp and
// flash_profiles.cpp; here stand the figures that a user of the drive would measure.
#include "tests/disk/profiles.hpp"

#include <ostream>

#include <gtest/gtest.h>

#include "tests/disk/workload.hpp"

namespace lull::disk {
namespace {

void expect_within(double measured, double published, double tolerance, const char* what) {
    EXPECT_NEAR(measured, published, tolerance * published) << what;
}

struct Published {
    const char* profile;
    double random_depth_1;   ///< 4 KiB reads per second
    double random_depth_32;  ///< the same with 32 requests inside
    double first_rate;       ///< sequential MB/s at sector 0, 128 KiB reads
    std::uint32_t depth;     ///< that the sheet's sequential figure was taken at
    double last_rate;        ///< and at the last sector
    double tolerance;
};

constexpr Published kPublished[] = {
    // 0.3 ms + 8.9 ms + half a turn; native command queuing about doubles it.
    {"hdd-7200", 74.8, 165, 113, 1, 56, 0.08},
    // 0.3 ms + 12 ms + half a turn.
    {"hdd-5400", 56.0, 110, 70, 1, 35, 0.08},
    // 0.3 ms + 8.5 ms + half a turn, with no queue in the drive.
    {"hdd-2004", 77.1, 77.1, 40, 1, 20, 0.05},
    {"hdd-2012", 74.8, 165, 87, 1, 43, 0.08},
    // 150 ms, the middle of 120 to 180; 6.7x and 16x.
    {"dvd", 6.7, 6.7, 9.28, 1, 22.16, 0.10},
    {"sd-card", 1616, 1616, 41.62, 1, 41.62, 0.03},
    {"sata-ssd", 10000, 98000, 540, 32, 540, 0.03},
    // No figure is published for depth 32; fitted between those for 1 and 128.
    {"nvme", 15000, 310000, 3400, 32, 3400, 0.06},
};

void PrintTo(const Published& published, std::ostream* out) {
    *out << published.profile;
}

class ProfileOf : public testing::TestWithParam<Published> {
  protected:
    [[nodiscard]] static double random_at(std::uint32_t depth) {
        const auto model = make_model(GetParam().profile);
        return random_rate(*model, {.depth = depth, .requests = 20000});
    }
    [[nodiscard]] static double megabytes_per_second(bool at_the_end) {
        const auto model = make_model(GetParam().profile);
        SequentialLoad load{.depth = GetParam().depth, .requests = 400};
        if (at_the_end) {
            load.first = model->sectors() - std::uint64_t{load.requests} * load.sectors;
        }
        return sequential_rate(*model, load) / 1e6;
    }
};

TEST_P(ProfileOf, ReadsAtRandomAsPublished) {
    expect_within(random_at(1), GetParam().random_depth_1, GetParam().tolerance, "depth 1");
    expect_within(random_at(32), GetParam().random_depth_32, GetParam().tolerance, "depth 32");
}

TEST_P(ProfileOf, ReadsInSequenceAsPublished) {
    // 400 requests include one seek, which counts where the rate is high.
    expect_within(megabytes_per_second(false), GetParam().first_rate, GetParam().tolerance,
                  "first sectors");
    expect_within(megabytes_per_second(true), GetParam().last_rate, GetParam().tolerance,
                  "last sectors");
}

std::string test_name(const testing::TestParamInfo<Published>& info) {
    std::string name(info.param.profile);
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfileOf, testing::ValuesIn(kPublished), test_name);

double readers_rate(const char* profile, std::uint32_t readers) {
    const auto model = make_model(profile);
    return sliced_readers_rate(*model, {.readers = readers}) / 1e6;
}

TEST(Readers, SevenShareTheDiskOf2004AsInTheMail) {
    // 26 927 KiB/s
    expect_within(readers_rate("hdd-2004", 7), 27.57, 0.05, "MB/s");
}

TEST(Readers, EightShareTheDiskOf2012NearlyAsInTheMail) {
    // 62.8 there, with longer turns; tests/sim/levels_test.cpp has those.
    expect_within(readers_rate("hdd-2012", 8), 58.8, 0.03, "MB/s");
}

TEST(Readers, LoseATurnOfTheDiskUntilTheDriveReadsAhead) {
    const auto model = make_model("hdd-2012");
    Nanoseconds now = serve_one(*model, {0, Operation::kRead, 1'000'000, 256}, 0);
    const auto next = [&](std::uint64_t sector) {
        const Nanoseconds begun = now;
        now = serve_one(*model, {0, Operation::kRead, sector, 256}, now);
        return now - begun;
    };
    constexpr Nanoseconds kTurn = 8'333'333;
    EXPECT_GT(next(1'000'256), kTurn * 9 / 10) << "the place has just gone by";
    EXPECT_LT(next(1'000'512), kTurn / 2) << "the drive knows the stream";
}

TEST(Readers, ShorterSlicesCostThroughput) {
    const auto model = make_model("hdd-2012");
    const double short_slices =
        sliced_readers_rate(*model, {.readers = 8, .slice = 40'000'000}) / 1e6;
    EXPECT_LT(short_slices, 0.9 * readers_rate("hdd-2012", 8));
}

TEST(Hdd7200, IsFasterOverItsOuterPart) {
    // A short stroke leaves little more than the shortest seek and half a turn.
    const auto model = make_model("hdd-7200", {.capacity = 8ULL << 21});
    const double rate = random_rate(*model, {.requests = 20000});
    EXPECT_GT(rate, 125);
    EXPECT_LT(rate, 150);
}

TEST(Hdd7200, WritesSeekLonger) {
    // 0.3 ms + 10.9 ms + half a turn.
    const auto model = make_model("hdd-7200");
    expect_within(random_rate(*model, {.operation = Operation::kWrite, .requests = 20000}), 65.1,
                  0.04, "writes/s");
}

TEST(Nvme, ReachesItsPublishedRateAtItsFullDepth) {
    const auto model = make_model("nvme");
    expect_within(random_rate(*model, {.depth = 128, .requests = 50000}), 370e3, 0.03, "reads/s");
}

struct PublishedWrites {
    const char* profile;
    double random_depth_1;
    double random_depth_32;
    double rate;
    std::uint32_t depth;
    double tolerance;
};

TEST(Flash, WritesAsPublished) {
    constexpr PublishedWrites kWrites[] = {
        {"sd-card", 54, 54, 12.0, 1, 0.03},
        {"sata-ssd", 40e3, 90e3, 520, 32, 0.05},
        {"nvme", 50e3, 450e3, 2300, 32, 0.05},
    };
    for (const PublishedWrites& published : kWrites) {
        SCOPED_TRACE(published.profile);
        for (const auto& [depth, rate] :
             {std::pair{1U, published.random_depth_1}, std::pair{32U, published.random_depth_32}}) {
            const auto model = make_model(published.profile);
            expect_within(random_rate(*model, {.operation = Operation::kWrite, .depth = depth}),
                          rate, published.tolerance, "random writes/s");
        }
        const auto model = make_model(published.profile);
        const SequentialLoad load{
            .operation = Operation::kWrite, .depth = published.depth, .requests = 20000};
        expect_within(sequential_rate(*model, load) / 1e6, published.rate, published.tolerance,
                      "sequential MB/s");
    }
}

}  // namespace
}  // namespace lull::disk
