// SPDX-License-Identifier: MIT
#include "tests/disk/geometry.hpp"

#include <ostream>
#include <random>

#include <gtest/gtest.h>

#include "tests/disk/profiles.hpp"

namespace lull::disk {

// Found by GoogleTest, which would show the bytes of the profile otherwise.
static void PrintTo(const HardDiskProfile& profile, std::ostream* out) {
    *out << profile.name;
}

namespace {

class GeometryOf : public testing::TestWithParam<HardDiskProfile> {
  protected:
    Geometry geometry_{GetParam().geometry};
    SeekCurve seek_{GetParam().seek, geometry_.cylinders()};
    std::mt19937_64 random_{7};
};

TEST_P(GeometryOf, ReadingOnNeverGoesBack) {
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t sector = random_() % (geometry_.sectors() - 1);
        ASSERT_LT(geometry_.position(sector), geometry_.end_position(sector)) << sector;
        ASSERT_LE(geometry_.end_position(sector), geometry_.position(sector + 1)) << sector;
    }
}

TEST_P(GeometryOf, SectorsBeforeAPositionIsTheInverse) {
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t sector = random_() % geometry_.sectors();
        ASSERT_EQ(geometry_.sectors_before(geometry_.position(sector)), sector);
        ASSERT_EQ(geometry_.sectors_before(geometry_.end_position(sector)), sector + 1);
        ASSERT_EQ(geometry_.sectors_before(geometry_.end_position(sector) - 2), sector);
    }
}

TEST_P(GeometryOf, TheLastSectorIsOnTheLastCylinders) {
    const std::uint64_t last = geometry_.sectors() - 1;
    const std::uint64_t cylinder = geometry_.track(geometry_.position(last)).cylinder;
    EXPECT_LT(cylinder, geometry_.cylinders());
    EXPECT_GT(cylinder, geometry_.cylinders() - 100);
    EXPECT_EQ(geometry_.position(last + 1), geometry_.end_position(last));
    EXPECT_EQ(geometry_.track(0).cylinder, 0U);
}

TEST_P(GeometryOf, TracksAreLongerWhereTheRateIsHigher) {
    const auto first = static_cast<double>(geometry_.track_length(0));
    const auto last = static_cast<double>(geometry_.track_length(geometry_.sectors() - 1));
    const GeometryProfile& profile = GetParam().geometry;
    EXPECT_NEAR(first / last, profile.first_rate / profile.last_rate, 0.01);
}

TEST_P(GeometryOf, SeeksTakeThePublishedTimes) {
    const SeekProfile& published = GetParam().seek;
    EXPECT_EQ(seek_.time(0), 0);
    EXPECT_EQ(seek_.time(1), published.track_to_track);
    EXPECT_NEAR(static_cast<double>(seek_.time(geometry_.cylinders() - 1)),
                static_cast<double>(published.full_stroke), 1e3);
    double sum = 0;
    constexpr int kSeeks = 100000;
    for (int i = 0; i < kSeeks; ++i) {
        const auto from = static_cast<std::int64_t>(random_() % geometry_.cylinders());
        const auto to = static_cast<std::int64_t>(random_() % geometry_.cylinders());
        sum += static_cast<double>(seek_.time(static_cast<std::uint64_t>(std::abs(from - to))));
    }
    const auto average = static_cast<double>(published.average);
    EXPECT_NEAR(sum / kSeeks, average, 0.01 * average);
}

TEST_P(GeometryOf, LongerSeeksTakeLonger) {
    Nanoseconds before = 0;
    for (std::uint64_t distance = 1; distance < geometry_.cylinders(); distance += 97) {
        ASSERT_GE(seek_.time(distance), before) << distance;
        before = seek_.time(distance);
    }
}

std::string test_name(const testing::TestParamInfo<HardDiskProfile>& info) {
    std::string name(info.param.name);
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Profiles, GeometryOf,
                         testing::ValuesIn(hard_disk_profiles().begin(),
                                           hard_disk_profiles().end()),
                         test_name);

}  // namespace
}  // namespace lull::disk
