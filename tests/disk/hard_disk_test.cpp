// SPDX-License-Identifier: MIT
#include "tests/disk/hard_disk.hpp"

#include <gtest/gtest.h>

#include "tests/disk/workload.hpp"

namespace lull::disk {
namespace {

TEST(HardDisk, RandomReadsReachThePublishedRateOfA7200RpmDrive) {
    const auto model = make_model("hdd-7200");
    const double rate = random_rate(*model, {});
    EXPECT_GT(rate, 75);
    EXPECT_LT(rate, 90);
}

TEST(HardDisk, OrderingByPositionDoublesTheRandomRate) {
    const auto model = make_model("hdd-7200");
    const double rate = random_rate(*model, {.depth = 32});
    EXPECT_GT(rate, 150);
    EXPECT_LT(rate, 200);
}

TEST(HardDisk, SequentialReadsStreamAtTheZonesRate) {
    const auto model = make_model("hdd-7200");
    EXPECT_NEAR(sequential_rate(*model, {}) / 1e6, 113, 6);
}

}  // namespace
}  // namespace lull::disk
