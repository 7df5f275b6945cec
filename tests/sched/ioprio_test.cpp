// SPDX-License-Identifier: MIT
#include "sched/ioprio.hpp"

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace lull::sched {
namespace {

constexpr IoPriority kIdle{IoClass::kIdle, kLowestLevel, 0};

TEST(Ioprio, IsEncodedAsTheKernelDoes) {
    EXPECT_EQ(encode({}), 0);
    EXPECT_EQ(encode({IoClass::kRealtime, 0, 0}), 8192);
    EXPECT_EQ(encode({IoClass::kRealtime, 4, 0}), 8196);
    EXPECT_EQ(encode({IoClass::kBestEffort, 0, 0}), 16384);
    EXPECT_EQ(encode({IoClass::kBestEffort, 4, 0}), 16388);
    EXPECT_EQ(encode({IoClass::kBestEffort, 7, 0}), 16391);
    EXPECT_EQ(encode({IoClass::kBestEffort, 4, 1}), 16396);
    EXPECT_EQ(encode({IoClass::kBestEffort, 7, 1023}), 24575);
}

TEST(Ioprio, IdleIsOneValueOutAndTwoIn) {
    EXPECT_EQ(encode({IoClass::kIdle, 0, 0}), 24583);
    EXPECT_EQ(encode(kIdle), 24583);
    EXPECT_EQ(decode(24583), kIdle);
    EXPECT_EQ(decode(24576), kIdle);
}

TEST(Ioprio, EveryValidPriorityComesBackFromItsValue) {
    for (const IoClass io_class : {IoClass::kRealtime, IoClass::kBestEffort}) {
        for (int level = 0; level < kLevels; ++level) {
            for (int hint = 0; hint < kHints; ++hint) {
                const IoPriority priority{io_class, level, hint};
                ASSERT_TRUE(valid(priority));
                ASSERT_EQ(decode(encode(priority)), priority) << describe(priority);
            }
        }
    }
    EXPECT_EQ(decode(encode({})), IoPriority{});
    EXPECT_EQ(decode(4), (IoPriority{IoClass::kNone, 4, 0})) << "of older kernels, for never set";
}

TEST(Ioprio, ClassesThatThereAreNotAreNotDecoded) {
    for (unsigned number = 4; number < 8; ++number) {
        EXPECT_EQ(decode(static_cast<std::uint16_t>(number << 13U)), std::nullopt) << number;
    }
}

TEST(Ioprio, IsValidInTheRangesOfTheKernel) {
    EXPECT_TRUE(valid({}));
    EXPECT_TRUE(valid({IoClass::kIdle, 0, 0}));
    EXPECT_TRUE(valid(kIdle));
    EXPECT_FALSE(valid({IoClass::kNone, 4, 0})) << "none has no level";
    EXPECT_FALSE(valid({IoClass::kBestEffort, 8, 0}));
    EXPECT_FALSE(valid({IoClass::kBestEffort, -1, 0}));
    EXPECT_FALSE(valid({IoClass::kBestEffort, 0, 1024}));
    EXPECT_FALSE(valid({IoClass::kBestEffort, 0, -1}));
    EXPECT_FALSE(valid({static_cast<IoClass>(4), 0, 0}));
    EXPECT_FALSE(valid({static_cast<IoClass>(-1), 0, 0}));
}

TEST(Ioprio, LevelFollowsNiceInStepsOfFive) {
    constexpr std::array<int, 8> kFirstOfLevel{-20, -15, -10, -5, 0, 5, 10, 15};
    for (int level = 0; level < kLevels; ++level) {
        const int first = kFirstOfLevel[static_cast<std::size_t>(level)];
        EXPECT_EQ(level_of_nice(first), level);
        EXPECT_EQ(level_of_nice(first + 4), level);
    }
    EXPECT_EQ(level_of_nice(-100), 0);
    EXPECT_EQ(level_of_nice(20), 7);
}

TEST(Ioprio, WithoutAClassTheCpuPolicyGivesIt) {
    const std::array<std::pair<CpuPolicy, IoPriority>, 6> cases{{
        {CpuPolicy::kOther, {IoClass::kBestEffort, 6, 0}},
        {CpuPolicy::kBatch, {IoClass::kBestEffort, 6, 0}},
        {CpuPolicy::kIdle, kIdle},
        {CpuPolicy::kFifo, {IoClass::kRealtime, 6, 0}},
        {CpuPolicy::kRoundRobin, {IoClass::kRealtime, 6, 0}},
        {CpuPolicy::kDeadline, {IoClass::kRealtime, 6, 0}},
    }};
    for (const auto& [policy, expected] : cases) {
        EXPECT_EQ(effective_priority({}, policy, 10), expected) << static_cast<int>(policy);
    }
    EXPECT_EQ(effective_priority({IoClass::kNone, 4, 0}, CpuPolicy::kOther, 19),
              (IoPriority{IoClass::kBestEffort, 7, 0}))
        << "the level of none says nothing";
}

TEST(Ioprio, WhatWasSetWinsOverNiceAndPolicy) {
    const IoPriority set{IoClass::kBestEffort, 1, 2};
    for (const CpuPolicy policy : {CpuPolicy::kOther, CpuPolicy::kIdle, CpuPolicy::kFifo}) {
        EXPECT_EQ(effective_priority(set, policy, 19), set);
        EXPECT_EQ(effective_priority(kIdle, policy, -20), kIdle);
    }
}

TEST(Ioprio, ClassesHaveTheNamesOfUtilLinux) {
    EXPECT_EQ(io_class_named("none"), IoClass::kNone);
    EXPECT_EQ(io_class_named("realtime"), IoClass::kRealtime);
    EXPECT_EQ(io_class_named("Best-Effort"), IoClass::kBestEffort);
    EXPECT_EQ(io_class_named("IDLE"), IoClass::kIdle);
    for (const char* other : {"", "be", "idl", "idle ", "idles", "unknown", "3"}) {
        EXPECT_EQ(io_class_named(other), std::nullopt) << other;
    }
}

TEST(Ioprio, IsDescribedAsUtilLinuxDoes) {
    EXPECT_EQ(describe(IoPriority{}), "none: prio 0");
    EXPECT_EQ(describe(IoPriority{IoClass::kRealtime, 0, 0}), "realtime: prio 0");
    EXPECT_EQ(describe(IoPriority{IoClass::kBestEffort, 4, 0}), "best-effort: prio 4");
    EXPECT_EQ(describe(kIdle), "idle");
    EXPECT_EQ(describe(IoPriority{IoClass::kBestEffort, 0, 1}), "best-effort: prio 0, hint 1");
}

}  // namespace
}  // namespace lull::sched
