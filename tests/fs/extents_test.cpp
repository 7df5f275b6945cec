// SPDX-License-Identifier: MIT
#include "fs/extents.hpp"

#include <gtest/gtest.h>

namespace lull::fs {
namespace {

TEST(Extents, PositionsAreFoundByBisection) {
    const std::vector<Extent> extents = {{0, 1000, 10}, {10, 5000, 10}, {40, 2000, 5}};
    EXPECT_EQ(position_of(extents, 0), 1000U);
    EXPECT_EQ(position_of(extents, 9), 1009U);
    EXPECT_EQ(position_of(extents, 10), 5000U);
    EXPECT_EQ(position_of(extents, 20), std::nullopt);
    EXPECT_EQ(position_of(extents, 44), 2004U);
    EXPECT_EQ(position_of(extents, 45), std::nullopt);
    EXPECT_EQ(position_of({}, 0), std::nullopt);
}

}  // namespace
}  // namespace lull::fs
