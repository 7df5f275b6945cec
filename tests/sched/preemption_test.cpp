// SPDX-License-Identifier: MIT
// One test for each line of the order, with classes global.
#include "sched/preemption.hpp"

#include <gtest/gtest.h>

namespace lull::sched {
namespace {

/// A best-effort queue is served, and another one of its group has got a request.
Contest contest() {
    return {};
}

Verdict verdict(const Contest& contest) {
    return contest_verdict(contest);
}

TEST(Preemption, NobodyIsPreemptedByIdle) {
    Contest facts = contest();
    facts.new_class = IoClass::kIdle;
    for (const IoClass current : {IoClass::kIdle, IoClass::kBestEffort, IoClass::kRealtime}) {
        facts.current_class = current;
        facts.slice_used = true;
        EXPECT_EQ(verdict(facts), Verdict::kNewIsIdle);
    }
    EXPECT_FALSE(preempts(Verdict::kNewIsIdle));
}

TEST(Preemption, IdleIsPreemptedByAnybodyOfAnyGroup) {
    Contest facts = contest();
    facts.current_class = IoClass::kIdle;
    facts.within_group = false;
    facts.new_sync = false;
    EXPECT_EQ(verdict(facts), Verdict::kCurrentIsIdle);
    EXPECT_TRUE(preempts(verdict(facts)));
}

TEST(Preemption, RealtimeIsNotPreemptedByBestEffort) {
    Contest facts = contest();
    facts.current_class = IoClass::kRealtime;
    facts.current_sync = false;
    facts.slice_used = true;
    EXPECT_EQ(verdict(facts), Verdict::kCurrentIsHigher);
    EXPECT_FALSE(preempts(verdict(facts)));
}

TEST(Preemption, RealtimePreemptsBestEffortOfAnyGroup) {
    Contest facts = contest();
    facts.new_class = IoClass::kRealtime;
    facts.within_group = false;
    EXPECT_EQ(verdict(facts), Verdict::kHigherClass);
    EXPECT_TRUE(preempts(verdict(facts)));
}

TEST(Preemption, SomebodyWaitingPreemptsAsynchronousWorkOfAnyGroup) {
    Contest facts = contest();
    facts.current_sync = false;
    facts.within_group = false;
    EXPECT_EQ(verdict(facts), Verdict::kSyncOverAsync);
    EXPECT_TRUE(preempts(verdict(facts)));
    facts.new_sync = false;
    EXPECT_FALSE(preempts(verdict(facts)));
}

TEST(Preemption, GroupsDoNotPreemptEachOther) {
    Contest facts = contest();
    facts.within_group = false;
    facts.slice_used = true;
    facts.new_metadata = true;
    EXPECT_EQ(verdict(facts), Verdict::kOtherGroup);
    EXPECT_FALSE(preempts(verdict(facts)));
}

TEST(Preemption, AUsedSliceIsOver) {
    Contest facts = contest();
    facts.slice_used = true;
    EXPECT_EQ(verdict(facts), Verdict::kSliceUsed);
    EXPECT_TRUE(preempts(verdict(facts)));
}

TEST(Preemption, SeekyQueuesAreServedTogether) {
    Contest facts = contest();
    facts.both_seeky = true;
    EXPECT_EQ(verdict(facts), Verdict::kCurrentIsServed);
    facts.current_empty = true;
    facts.current_worth_waiting = true;
    facts.current_awaited = true;
    EXPECT_EQ(verdict(facts), Verdict::kSeekyBatch);
    EXPECT_TRUE(preempts(verdict(facts)));
}

TEST(Preemption, MetadataGoesBeforeDataButNotBeforeMetadata) {
    Contest facts = contest();
    facts.new_metadata = true;
    EXPECT_EQ(verdict(facts), Verdict::kMetadata);
    EXPECT_TRUE(preempts(verdict(facts)));
    facts.current_metadata = true;
    EXPECT_EQ(verdict(facts), Verdict::kCurrentIsServed);
}

TEST(Preemption, AnEmptyQueueThatIsNotWorthWaitingForMakesRoom) {
    Contest facts = contest();
    facts.current_empty = true;
    EXPECT_EQ(verdict(facts), Verdict::kNotWorthIt);
    EXPECT_TRUE(preempts(verdict(facts)));
}

TEST(Preemption, AQueueThatIsServedStays) {
    EXPECT_EQ(verdict(contest()), Verdict::kCurrentIsServed);
    EXPECT_FALSE(preempts(verdict(contest())));
}

TEST(Preemption, ANearRequestEndsTheWaiting) {
    Contest facts = contest();
    facts.current_empty = true;
    facts.current_worth_waiting = true;
    facts.current_awaited = true;
    EXPECT_EQ(verdict(facts), Verdict::kNotNear);
    EXPECT_FALSE(preempts(verdict(facts)));
    facts.near = true;
    EXPECT_EQ(verdict(facts), Verdict::kNearRequest);
    EXPECT_TRUE(preempts(verdict(facts)));
}

}  // namespace
}  // namespace lull::sched
