// SPDX-License-Identifier: MIT
#include "base/result.hpp"

#include <memory>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/fd.hpp"

namespace lull {
namespace {

Result<int> half(int n) {
    if (n % 2 != 0) {
        return Error{EINVAL, "an odd number"};
    }
    return n / 2;
}

TEST(Result, HoldsAValueOrAnError) {
    ASSERT_TRUE(half(4).ok());
    EXPECT_EQ(*half(4), 2);
    const auto odd = half(3);
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().code, EINVAL);
    EXPECT_EQ(odd.error().message(), "an odd number: Invalid argument");
    EXPECT_EQ(odd.error().in("halving").what, "halving: an odd number");
}

TEST(Result, HoldsWhatCannotBeCopied) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
    const std::unique_ptr<int> taken = *std::move(result);
    EXPECT_EQ(*taken, 7);
}

TEST(Result, OfVoidIsOkUntilItHoldsAnError) {
    EXPECT_TRUE(Result<void>{}.ok());
    EXPECT_FALSE((Result<void>{Error{ENOENT, "gone"}}.ok()));
}

TEST(Fd, ClosesOnceAndMoves) {
    Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int number = first.get();
    ASSERT_GE(number, 0);
    Fd second = std::move(first);
    EXPECT_EQ(second.get(), number);
    second.reset();
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace lull
