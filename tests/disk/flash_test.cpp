// SPDX-License-Identifier: MIT
#include "tests/disk/flash.hpp"

#include <gtest/gtest.h>

#include "tests/disk/workload.hpp"

namespace lull::disk {
namespace {

// Round numbers, so that each part of a time can be told from the others.
constexpr FlashProfile kPlain{
    .name = "plain",
    .sectors = 1 << 20,
    .dies = 4,
    .channels = 4,
    .page_sectors = 8,
    .sense = 100'000,
    .program = 1'000'000,
    .channel_rate = 4096e6,     // a page takes 1 us
    .interface_rate = 409.6e6,  // a page takes 10 us
    .read_overhead = 5'000,
    .write_overhead = 7'000,
    .read_interval = 0,
    .write_interval = 0,
    .write_back = true,
    .write_lag = 0,
    .scattered_write = 0,
    .queue_depth = 32,
};

TEST(Flash, AReadSensesThenCrossesChannelAndInterface) {
    Flash flash(kPlain, {});
    EXPECT_EQ(serve_one(flash, {0, Operation::kRead, 0, 8}, 1000), 1000 + 5'000 + 100'000 + 11'000);
}

TEST(Flash, PagesOfOneReadAreSensedTogether) {
    Flash flash(kPlain, {});
    // Four dies sense at once; the interface is the rest.
    EXPECT_EQ(serve_one(flash, {0, Operation::kRead, 0, 32}, 0), 5'000 + 100'000 + 40'000);
}

TEST(Flash, ReadsOnOneDieQueueUpAndOthersPass) {
    Flash flash(kPlain, {});
    flash.submit({0, Operation::kRead, 0, 8}, 0);
    flash.submit({1, Operation::kRead, 32, 8}, 0);  // the same die
    flash.submit({2, Operation::kRead, 8, 8}, 0);   // another one
    const auto done = flash.advance(1'000'000);
    ASSERT_EQ(done.size(), 3U);
    EXPECT_EQ(done[0].id, 0U);
    EXPECT_EQ(done[1].id, 2U);
    EXPECT_EQ(done[2].id, 1U);
    EXPECT_EQ(done[2].at, 5'000 + 200'000 + 11'000);
}

TEST(Flash, TheInterfaceIsACeiling) {
    FlashProfile profile = kPlain;
    profile.interface_rate = 100e6;
    Flash narrow(profile, {});
    EXPECT_NEAR(sequential_rate(narrow, {.depth = 32}) / 1e6, 100, 1);
}

TEST(Flash, TheDiesAreACeiling) {
    Flash flash(kPlain, {});
    // Four dies, 4096 bytes in 100 us each.
    EXPECT_NEAR(sequential_rate(flash, {.depth = 32}) / 1e6, 163.84, 2);
}

TEST(Flash, TheControllerIsACeiling) {
    FlashProfile profile = kPlain;
    profile.read_interval = 50'000;
    Flash flash(profile, {});
    EXPECT_NEAR(random_rate(flash, {.depth = 32}), 20'000, 400);
}

TEST(Flash, WriteBackAnswersBeforeProgrammingAndFlushAfter) {
    FlashProfile profile = kPlain;
    profile.write_lag = 10'000'000;
    Flash flash(profile, {});
    const Nanoseconds written = serve_one(flash, {0, Operation::kWrite, 0, 8}, 0);
    EXPECT_EQ(written, 7'000 + 10'000);
    EXPECT_EQ(serve_one(flash, {1, Operation::kFlush, 0, 0}, written), written + 1'000'000);
}

TEST(Flash, WritesWaitOnceProgrammingLagsTooFar) {
    FlashProfile profile = kPlain;
    profile.write_lag = 10'000'000;
    Flash flash(profile, {});
    // Four dies at 1 ms a page.
    EXPECT_NEAR(sequential_rate(flash, {.operation = Operation::kWrite, .depth = 4}),
                4 * 4096 * 1e3, 0.02 * 4 * 4096 * 1e3);
}

TEST(Flash, AReadWaitsForTheProgrammingOnItsDie) {
    FlashProfile profile = kPlain;
    profile.write_lag = 10'000'000;
    Flash flash(profile, {});
    const Nanoseconds written = serve_one(flash, {0, Operation::kWrite, 0, 8}, 0);
    EXPECT_GT(serve_one(flash, {1, Operation::kRead, 0, 8}, written), written + 1'000'000);
    const Nanoseconds now = 5'000'000;
    EXPECT_LT(serve_one(flash, {2, Operation::kRead, 0, 8}, now), now + 200'000);
}

TEST(Flash, ScatteredWritesCostMoreOnACard) {
    FlashProfile profile = kPlain;
    profile.write_back = false;
    profile.scattered_write = 9'000'000;
    Flash flash(profile, {});
    Nanoseconds now = serve_one(flash, {0, Operation::kWrite, 80, 8}, 0);
    const Nanoseconds behind = serve_one(flash, {1, Operation::kWrite, 88, 8}, now) - now;
    now += behind;
    const Nanoseconds elsewhere = serve_one(flash, {2, Operation::kWrite, 8, 8}, now) - now;
    EXPECT_EQ(elsewhere - behind, 9'000'000);
}

TEST(Flash, TheQueueDepthIsALimit) {
    const auto rate = [](std::uint32_t inside, std::uint32_t depth) {
        const auto model = make_model("nvme", {.queue_depth = depth});
        return random_rate(*model, {.depth = inside});
    };
    EXPECT_NEAR(rate(32, 2), rate(2, 2), 0.02 * rate(2, 2));
    EXPECT_GT(rate(32, 32), 5 * rate(32, 2));
}

}  // namespace
}  // namespace lull::disk
