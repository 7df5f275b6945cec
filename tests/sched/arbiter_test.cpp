// SPDX-License-Identifier: MIT
// Slices, waiting, cooperation and classes: one story for each rule of sched/README.md.
#include "sched/arbiter.hpp"

#include <gtest/gtest.h>

#include "tests/sched/story.hpp"

namespace lull::sched {
namespace {

constexpr Nanoseconds kService = 2 * kMs;

TEST(Slice, IsAsLongAsTheLevelSays) {
    for (const int level : {0, 4, 7}) {
        Story story;
        const QueueId one = story.best_effort(level);
        const QueueId two = story.best_effort(level);
        story.busy(one);
        story.busy(two);
        EXPECT_EQ(story.serve_turn(one, kService), (180 - 20 * level) * kMs) << level;
        EXPECT_EQ(story.waiting(), two);
    }
}

TEST(Slice, EndsWhereItIsNearestToItsLengthInWholeRequests) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    EXPECT_EQ(story.serve_turn(one, 30 * kMs), 90 * kMs) << "not 120, which is further from 100";
}

TEST(Slice, MakesGoodWhatTheLastOneWasTooLongOrTooShort) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    // 14 requests of 7 ms are 98 ms, 15 are 105.
    Nanoseconds sum = 0;
    QueueId next = one;
    for (int turn = 0; turn < 40; ++turn) {
        if (turn > 0) {
            story.finish(next, 7 * kMs);
            story.busy(next);
        }
        const Nanoseconds length = story.serve_turn(next, 7 * kMs) + (turn > 0 ? 7 * kMs : 0);
        EXPECT_TRUE(length == 98 * kMs || length == 105 * kMs) << length / kMs;
        sum += length;
        next = next == one ? two : one;
        ASSERT_EQ(story.waiting(), next) << "turn about, in each round";
    }
    EXPECT_NEAR(static_cast<double>(sum) / 40, 100 * kMs, kMs);
}

TEST(Slice, OfALoneQueueIsFollowedByItsNextWithoutAPause) {
    Story story;
    const QueueId one = story.best_effort();
    for (int i = 0; i < 200; ++i) {
        story.busy(one);
        story.serve(one, kService);
    }
    EXPECT_GE(story.arbiter.counters().turns, 3U);
}

TEST(Slice, BoundsTheRequest) {
    Story story;
    const QueueId one = story.best_effort();
    story.busy(one);
    const Decision first = story.decide();
    EXPECT_EQ(first.longest, 100 * kMs);
    story.finish(one, 40 * kMs);
    story.busy(one);
    EXPECT_EQ(story.decide().longest, 60 * kMs);
}

TEST(Waiting, KeepsTheDiskForAQueueThatComesBackSoon) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.serve(one, kService);
    EXPECT_EQ(story.wakes_in(), 8 * kMs);
    story.tick(7 * kMs);
    EXPECT_EQ(story.wakes_in(), 1 * kMs);
    story.busy(one);
    story.serve(one, kService);
}

TEST(Waiting, EndsWithTheWindow) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.serve(one, kService);
    story.tick(8 * kMs);
    EXPECT_EQ(story.dispatched(), two);
}

TEST(Waiting, IsNotForAQueueThatThinksForLong) {
    Story story;
    const QueueId one = story.best_effort();
    story.busy(one);
    story.serve(one, kService);
    for (int sample = 0; sample < 3; ++sample) {
        story.tick(9 * kMs);
        story.busy(one);
        story.serve(one, kService);
    }
    const QueueId two = story.best_effort();
    story.busy(two);
    EXPECT_EQ(story.dispatched(), two) << "three gaps above the window are enough";
}

TEST(Waiting, TakesTwoSamplesForNothing) {
    Story story;
    const QueueId one = story.best_effort();
    story.busy(one);
    story.serve(one, kService);
    for (int sample = 0; sample < 2; ++sample) {
        story.tick(9 * kMs);
        story.busy(one);
        story.serve(one, kService);
    }
    const QueueId two = story.best_effort();
    story.busy(two);
    EXPECT_TRUE(story.wakes_in());
}

TEST(Waiting, GoesOnWhenTheSliceIsUsedUpSoThatTheQueueKeepsItsPlace) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    while (story.now < 100 * kMs) {
        story.serve(one, kService);
        if (story.now < 100 * kMs) {
            story.busy(one);
        }
    }
    EXPECT_EQ(story.wakes_in(), 8 * kMs) << "its slice is over, but it is between two requests";
    story.busy(one);
    EXPECT_EQ(story.dispatched(), two);
    story.finish(two, 100 * kMs);
    EXPECT_EQ(story.dispatched(), std::nullopt) << "two is waited for in its turn";
    story.tick(8 * kMs);
    EXPECT_EQ(story.dispatched(), one) << "it never left the tree";
}

TEST(Waiting, SlidesWhileNobodyElseHasWork) {
    Story story;
    const QueueId one = story.best_effort();
    story.busy(one);
    story.serve(one, kService);
    EXPECT_TRUE(story.nothing()) << "nobody to wake up for";
    story.tick(50 * kMs);
    EXPECT_TRUE(story.nothing());
    story.busy(one);
    story.serve(one, kService);
    EXPECT_EQ(story.arbiter.counters().turns, 1U) << "still the same turn";
}

TEST(Waiting, ThatSlidEndsAtOnceForAnother) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.serve(one, kService);
    story.tick(20 * kMs);
    EXPECT_TRUE(story.nothing());
    story.busy(two);
    EXPECT_EQ(story.dispatched(), two);
    EXPECT_EQ(story.arbiter.counters(one).disk_time, 10 * kMs)
        << "2 ms of service and the window of 8 ms, not the time that it slid";
}

TEST(Waiting, IsForTheLastSeekyQueueOnly) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    for (int jump = 0; jump < 8; ++jump) {
        for (const QueueId queue : {one, two}) {
            story.busy_at(queue, (1 + jump % 5) * kApart + queue * kApart / 2);
            story.tick(0);
            auto sent = story.dispatched();
            if (!sent) {
                story.tick(8 * kMs);
                sent = story.dispatched();
            }
            ASSERT_EQ(sent, queue);
            story.finish(queue, kService);
        }
    }
    story.busy_at(one, 7 * kApart);
    story.busy_at(two, 9 * kApart);
    const auto first = story.dispatched();
    ASSERT_TRUE(first);
    story.finish(*first, kService);
    const auto second = story.dispatched();
    ASSERT_TRUE(second) << "a seeky queue is not waited for while another one has work";
    EXPECT_NE(first, second);
    story.finish(*second, kService);
    const QueueId sequential = story.best_effort();
    story.busy(sequential);
    EXPECT_TRUE(story.wakes_in()) << "the last of the batch is";
}

TEST(Waiting, IsNeverForAsynchronousWork) {
    Story story;
    const QueueId one = story.async();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.serve(one, kService);
    story.busy(two);
    EXPECT_EQ(story.dispatched(), two);
}

TEST(Waiting, IsNotForAQueueThatLeft) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.serve(one, kService);
    story.arbiter.remove_queue(one, story.now);
    EXPECT_EQ(story.dispatched(), two);
    EXPECT_FALSE(story.arbiter.has_queue(one));
}

TEST(Waiting, CanBeSwitchedOff) {
    ArbiterSettings settings = open_gate();
    settings.queue_window = 0;
    Story story(settings);
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.serve(one, kService);
    EXPECT_EQ(story.dispatched(), two);
}

TEST(Cooperation, ServesTheNearQueueFirst) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId far = story.best_effort();
    const QueueId near = story.best_effort();
    story.busy_at(one, kApart);
    story.busy_at(far, 5 * kApart);
    story.busy_at(near, kApart + 4096);
    story.serve(one, kService);
    EXPECT_EQ(story.dispatched(), near) << "no waiting, and before the one that came first";
    EXPECT_EQ(story.arbiter.counters().cooperations, 1U);
}

TEST(Cooperation, EndsFourMebibytesAway) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId near = story.best_effort();
    story.busy_at(one, kApart);
    story.busy_at(near, kApart + 256 + NearIndex::kNear + 1);
    story.serve(one, kService);
    EXPECT_TRUE(story.wakes_in());
}

TEST(Cooperation, IsNotForAnotherGroup) {
    Story story;
    const GroupId group = story.arbiter.add_group(ServiceTree::kRoot, 10'000);
    const QueueId one = story.best_effort();
    const QueueId near = story.best_effort(4, group);
    story.busy_at(one, kApart);
    story.busy_at(near, kApart + 4096);
    story.serve(one, kService);
    EXPECT_TRUE(story.wakes_in());
}

/// Two queues side by side may not keep the disk from a third.
TEST(Cooperation, KeepsTheShares) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    const QueueId far = story.best_effort();
    story.busy_at(one, kApart);
    story.busy_at(two, kApart + 2048);
    story.busy_at(far, 9 * kApart);
    while (story.now < 60'000 * kMs) {
        const auto queue = story.dispatched();
        ASSERT_TRUE(queue);
        story.finish(*queue, kService);
        if (*queue == far) {
            story.busy(far);
        } else {
            story.busy_at(*queue, *queue == one ? kApart : kApart + 2048);
        }
    }
    const auto time = static_cast<double>(story.arbiter.counters(far).disk_time);
    EXPECT_NEAR(time / static_cast<double>(story.now), 1.0 / 3, 0.01);
}

TEST(Classes, RealtimeGoesFirstAndCutsATurnShort) {
    Story story;
    const QueueId one = story.best_effort(0);
    const QueueId urgent = story.add(IoClass::kRealtime, 7);
    story.busy(one);
    story.serve(one, kService);
    story.busy(one);
    story.busy(urgent);
    EXPECT_EQ(story.dispatched(), urgent);
    story.finish(urgent, kService);
    EXPECT_TRUE(story.wakes_in()) << "it is waited for, best effort waits";
    story.busy(urgent);
    EXPECT_EQ(story.dispatched(), urgent);
}

TEST(Classes, AreGlobalAcrossGroups) {
    Story story;
    const GroupId heavy = story.arbiter.add_group(ServiceTree::kRoot, 1'000'000);
    const GroupId light = story.arbiter.add_group(ServiceTree::kRoot, 100);
    const QueueId idle = story.add(IoClass::kIdle, 0, heavy);
    const QueueId best = story.best_effort(7, light);
    story.busy(idle);
    story.busy(best);
    for (int i = 0; i < 100; ++i) {
        story.serve(best, kService);
        story.busy(best);
    }
}

TEST(Idle, WaitsForBestEffortInFlightAndAwaited) {
    Story story;
    const QueueId best = story.best_effort();
    const QueueId idle = story.add(IoClass::kIdle);
    story.busy(best);
    story.busy(idle);
    EXPECT_EQ(story.dispatched(), best);
    EXPECT_TRUE(story.nothing()) << "best effort is in flight";
    story.finish(best, kService);
    EXPECT_EQ(story.wakes_in(), 8 * kMs) << "it is waited for";
    story.tick(8 * kMs);
    EXPECT_EQ(story.dispatched(), idle);
}

TEST(Idle, HoldsOneRequestAsAClass) {
    Story story;
    const QueueId one = story.add(IoClass::kIdle);
    const QueueId two = story.add(IoClass::kIdle);
    story.busy(one);
    story.busy(two);
    EXPECT_EQ(story.dispatched(), one);
    story.busy(one);
    EXPECT_TRUE(story.nothing());
    story.finish(one, kService);
    EXPECT_TRUE(story.dispatched());
    EXPECT_TRUE(story.nothing());
}

TEST(Idle, QueuesShareByTheirSlices) {
    Story story;
    const QueueId one = story.add(IoClass::kIdle);
    const QueueId two = story.add(IoClass::kIdle);
    story.busy(one);
    story.busy(two);
    EXPECT_EQ(story.serve_turn(one, kService), 100 * kMs);
    EXPECT_EQ(story.waiting(), two);
}

TEST(Idle, ObeysTheGate) {
    ArbiterSettings settings = open_gate();
    settings.gate.rule = GateRule::kFixed;
    settings.gate.fixed_window = 20 * kMs;
    Story story(settings);
    const QueueId idle = story.add(IoClass::kIdle);
    ForegroundIo io{7, 70, 0, 8, ForegroundIo::Kind::kRead};
    story.tick(1000 * kMs);
    story.arbiter.foreground_arrived(io, story.now);
    story.busy(idle);
    EXPECT_EQ(story.dispatched(), std::nullopt);
    story.tick(5 * kMs);
    story.arbiter.foreground_completed(io, story.now);
    EXPECT_EQ(story.wakes_in(), 20 * kMs);
    story.tick(20 * kMs);
    EXPECT_EQ(story.dispatched(), idle);
}

TEST(Idle, StarvesForEverByDefault) {
    Story story;
    const QueueId best = story.best_effort();
    const QueueId idle = story.add(IoClass::kIdle);
    story.busy(idle);
    story.busy(best);
    for (int i = 0; i < 50'000; ++i) {
        story.serve(best, kService);
        story.busy(best);
    }
}

TEST(Idle, GetsOneRequestAnAgeWhereThePolicySaysSo) {
    ArbiterSettings settings = open_gate();
    settings.starvation_age = 1000 * kMs;
    Story story(settings);
    const QueueId best = story.best_effort();
    const QueueId idle = story.add(IoClass::kIdle);
    story.busy(idle);
    story.busy(best);
    std::uint64_t served = 0;
    while (story.now < 10'000 * kMs) {
        const auto queue = story.dispatched();
        ASSERT_TRUE(queue);
        served += *queue == idle ? 1 : 0;
        story.finish(*queue, kService);
        story.busy(*queue);
    }
    EXPECT_EQ(served, 9U);
    EXPECT_EQ(story.arbiter.counters().starved, served);
}

TEST(Flash, ServesRequestsNotTurnsUpToTheDepth) {
    ArbiterSettings settings = open_gate();
    settings.disk = flash_disk();
    settings.max_depth = 2;
    Story story(settings);
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    const QueueId three = story.best_effort();
    for (const QueueId queue : {one, two, three}) {
        story.busy(queue);
    }
    EXPECT_EQ(story.dispatched(), one);
    EXPECT_EQ(story.dispatched(), two);
    EXPECT_TRUE(story.nothing());
    story.finish(one, kMicrosecond);
    EXPECT_EQ(story.dispatched(), three) << "nobody is waited for";
}

TEST(Flash, SharesByLevel) {
    ArbiterSettings settings = open_gate();
    settings.disk = flash_disk();
    settings.max_depth = 1;
    Story story(settings);
    const QueueId high = story.best_effort(3);
    const QueueId low = story.best_effort(4);
    story.busy(high);
    story.busy(low);
    for (int i = 0; i < 20'000; ++i) {
        const auto queue = story.dispatched();
        ASSERT_TRUE(queue);
        story.busy(*queue);
        story.finish(*queue, 300 * kMicrosecond);
    }
    const auto ratio = static_cast<double>(story.arbiter.counters(high).dispatched) /
                       static_cast<double>(story.arbiter.counters(low).dispatched);
    EXPECT_NEAR(ratio, 1.6, 0.016);
}

TEST(Queues, MayLeaveWithRequestsInFlight) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    ASSERT_EQ(story.dispatched(), one);
    story.arbiter.remove_queue(one, story.now);
    EXPECT_FALSE(story.arbiter.has_queue(one));
    story.busy(two);
    EXPECT_TRUE(story.nothing()) << "its request is still on the disk";
    EXPECT_NE(story.best_effort(), one) << "the id is not free yet";
    story.finish(one, kService);
    EXPECT_EQ(story.dispatched(), two);
}

TEST(Queues, ThatAreChangedGoByTheirNewClass) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.arbiter.set_priority(one, IoClass::kIdle, 0, story.now);
    EXPECT_EQ(story.dispatched(), two);
    story.arbiter.set_priority(one, IoClass::kRealtime, 0, story.now);
    EXPECT_EQ(story.dispatched(), one);
}

TEST(Queues, MayTakeTheirRequestBack) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.busy(one);
    story.busy(two);
    story.arbiter.no_work(one, story.now);
    EXPECT_EQ(story.dispatched(), two);
    story.busy(one);
    story.arbiter.no_work(one, story.now);
    story.finish(two, kService);
    story.tick(8 * kMs);
    EXPECT_TRUE(story.nothing());
}

TEST(Weights, OfGroupsAndQueuesAreChangedAtOnce) {
    Story story;
    const QueueId one = story.best_effort();
    const QueueId two = story.best_effort();
    story.arbiter.set_weight(one, 30'000);
    story.busy(one);
    story.busy(two);
    while (story.now < 40'000 * kMs) {
        const auto queue = story.dispatched();
        ASSERT_TRUE(queue);
        story.finish(*queue, kService);
        story.busy(*queue);
    }
    const auto time = static_cast<double>(story.arbiter.counters(one).disk_time);
    EXPECT_NEAR(time / static_cast<double>(story.now), 0.75, 0.01);
}

}  // namespace
}  // namespace lull::sched
