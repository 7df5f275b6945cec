// SPDX-License-Identifier: MIT
// Who is next: one story for each rule.
#include "sched/service_tree.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace lull::sched {
namespace {

constexpr Nanoseconds kMs = kMillisecond;
constexpr IoClass kBe = IoClass::kBestEffort;

QueueSpec best_effort(Weight weight = kDefaultWeight) {
    return {kBe, weight};
}

/// Serves whoever is next for `each`, `times` times; the disk time of each.
std::map<EntityId, Nanoseconds> serve(ServiceTree& tree, int times, Nanoseconds each = 10 * kMs,
                                      IoClass io_class = kBe) {
    std::map<EntityId, Nanoseconds> got;
    for (int i = 0; i < times; ++i) {
        const EntityId next = tree.next(io_class).value();
        tree.charge(next, each);
        got[next] += each;
    }
    return got;
}

TEST(ServiceTree, IsEmptyAtFirst) {
    const ServiceTree tree;
    EXPECT_FALSE(tree.next(kBe));
    EXPECT_FALSE(tree.busy(kBe));
}

TEST(ServiceTree, ServesEqualsInTheOrderInWhichTheyCame) {
    ServiceTree tree;
    std::vector<EntityId> queues;
    for (int i = 0; i < 5; ++i) {
        queues.push_back(tree.add_queue(ServiceTree::kRoot, best_effort()));
        tree.activate(queues.back());
    }
    for (int round = 0; round < 3; ++round) {
        for (const EntityId queue : queues) {
            ASSERT_EQ(tree.next(kBe), queue);
            tree.charge(queue, 100 * kMs);
        }
    }
}

TEST(ServiceTree, SharesByWeight) {
    ServiceTree tree;
    const EntityId light = tree.add_queue(ServiceTree::kRoot, best_effort(10'000));
    const EntityId heavy = tree.add_queue(ServiceTree::kRoot, best_effort(30'000));
    tree.activate(light);
    tree.activate(heavy);
    auto got = serve(tree, 4000);
    EXPECT_NEAR(static_cast<double>(got[heavy]) / static_cast<double>(got[light]), 3, 0.01);
}

TEST(ServiceTree, SharesByGroupWhateverTheNumberOfQueues) {
    ServiceTree tree;
    const EntityId one = tree.add_group(ServiceTree::kRoot, 10'000);
    const EntityId two = tree.add_group(ServiceTree::kRoot, 20'000);
    std::map<EntityId, EntityId> group_of;
    for (int i = 0; i < 9; ++i) {
        const EntityId group = i < 8 ? one : two;
        const EntityId queue = tree.add_queue(group, best_effort());
        group_of[queue] = group;
        tree.activate(queue);
    }
    std::map<EntityId, double> got;
    for (const auto& [queue, time] : serve(tree, 9000)) {
        got[group_of[queue]] += static_cast<double>(time);
    }
    EXPECT_NEAR(got[two] / got[one], 2, 0.02);
}

TEST(ServiceTree, QueuesOfAGroupStandBesideItsChildGroups) {
    ServiceTree tree;
    const EntityId group = tree.add_group(ServiceTree::kRoot, 10'000);
    const EntityId in_group = tree.add_queue(group, best_effort());
    const EntityId one = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId two = tree.add_queue(ServiceTree::kRoot, best_effort());
    for (const EntityId queue : {in_group, one, two}) {
        tree.activate(queue);
    }
    const auto got = serve(tree, 3000);
    for (const auto& [queue, time] : got) {
        EXPECT_NEAR(static_cast<double>(time) / static_cast<double>(10 * kMs), 1000, 10) << queue;
    }
}

TEST(ServiceTree, ANewQueueTakesTheEnd) {
    ServiceTree tree;
    const EntityId one = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId two = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(one);
    tree.activate(two);
    tree.charge(one, 50 * kMs);
    const EntityId fresh = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(fresh);
    EXPECT_EQ(tree.next(kBe), two);
    tree.charge(two, 60 * kMs);
    EXPECT_EQ(tree.next(kBe), one);
    tree.charge(one, 60 * kMs);
    EXPECT_EQ(tree.next(kBe), fresh);
}

TEST(ServiceTree, ANewQueueIsNotSentBehindALightOneThatWasJustServed) {
    ServiceTree tree;
    const EntityId light = tree.add_queue(ServiceTree::kRoot, best_effort(2441));
    const EntityId middle = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(light);
    tree.activate(middle);
    tree.charge(light, 400 * kMs);
    const EntityId fresh = tree.add_queue(ServiceTree::kRoot, best_effort(65'536));
    tree.activate(fresh);
    tree.charge(middle, 100 * kMs);
    EXPECT_EQ(tree.next(kBe), fresh) << "one slice of its own behind the first, not the end";
}

TEST(ServiceTree, AWakingQueueGetsABoundedCredit) {
    ServiceTree tree;
    const EntityId sleeper = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId worker = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(sleeper);
    tree.activate(worker);
    tree.deactivate(sleeper);
    serve(tree, 100, 100 * kMs);
    tree.activate(sleeper);
    Nanoseconds got = 0;
    while (tree.next(kBe) == sleeper) {
        tree.charge(sleeper, 5 * kMs);
        got += 5 * kMs;
    }
    EXPECT_GE(got, ServiceTree::kCredit);
    EXPECT_LE(got, ServiceTree::kCredit + 5 * kMs) << "not the ten seconds that it slept";
}

TEST(ServiceTree, SleepingForAMomentCostsAndGainsNothing) {
    ServiceTree tree;
    const EntityId napper = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId worker = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(napper);
    tree.activate(worker);
    std::map<EntityId, double> got;
    for (int i = 0; i < 4000; ++i) {
        const EntityId next = tree.next(kBe).value();
        tree.charge(next, 10 * kMs);
        got[next] += 1;
        tree.deactivate(napper);
        tree.activate(napper);
    }
    EXPECT_NEAR(got[napper] / got[worker], 1, 0.01);
}

TEST(ServiceTree, ClassesAreTreesOfTheirOwn) {
    ServiceTree tree;
    const EntityId group = tree.add_group(ServiceTree::kRoot, kHeaviest);
    const EntityId idle = tree.add_queue(group, {IoClass::kIdle, kHeaviest});
    const EntityId best = tree.add_queue(group, best_effort());
    tree.activate(idle);
    EXPECT_FALSE(tree.busy(kBe));
    tree.activate(best);
    tree.charge(best, kSecond);
    EXPECT_EQ(tree.next(kBe), best);
    EXPECT_EQ(tree.next(IoClass::kIdle), idle);
    tree.set_class(idle, kBe);
    EXPECT_FALSE(tree.busy(IoClass::kIdle));
    EXPECT_EQ(tree.active_queues(kBe), 2U);
}

TEST(ServiceTree, TypesOfWorkTakeTurns) {
    ServiceTree tree;
    std::vector<EntityId> queues;
    for (const Workload workload :
         {Workload::kSequential, Workload::kSequential, Workload::kSeeky, Workload::kSeeky}) {
        queues.push_back(
            tree.add_queue(ServiceTree::kRoot, {kBe, kDefaultWeight, 100 * kMs, workload}));
        tree.activate(queues.back());
    }
    // In turns of 150 ms, half of the round each; a type's queues follow each other.
    int changes = 0;
    Workload last = Workload::kSequential;
    std::map<EntityId, double> got;
    for (int i = 0; i < 3000; ++i) {
        const EntityId next = tree.next(kBe).value();
        changes += tree.workload(next) != last ? 1 : 0;
        last = tree.workload(next);
        tree.charge(next, 10 * kMs);
        got[next] += 1;
    }
    EXPECT_NEAR(changes, 3000 / 15, 4);
    for (const EntityId queue : queues) {
        EXPECT_NEAR(got[queue], 750, 8);
    }
}

TEST(ServiceTree, TurnsOfTypesFollowTheWeightOfTheirQueues) {
    ServiceTree tree;
    const EntityId seeky =
        tree.add_queue(ServiceTree::kRoot, {kBe, 10'000, 100 * kMs, Workload::kSeeky});
    const EntityId sequential = tree.add_queue(ServiceTree::kRoot, best_effort(40'000));
    const EntityId async =
        tree.add_queue(ServiceTree::kRoot, {kBe, 10'000, 100 * kMs, Workload::kAsync});
    for (const EntityId queue : {seeky, sequential, async}) {
        tree.activate(queue);
    }
    auto got = serve(tree, 6000);
    EXPECT_NEAR(static_cast<double>(got[sequential]) / static_cast<double>(got[seeky]), 4, 0.04);
    EXPECT_NEAR(static_cast<double>(got[async]) / static_cast<double>(got[seeky]), 1, 0.01);
}

TEST(ServiceTree, AQueueMayChangeItsTypeWithoutGainOrLoss) {
    ServiceTree tree;
    const EntityId one = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId two = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(one);
    tree.activate(two);
    std::map<EntityId, double> got;
    for (int i = 0; i < 20'000; ++i) {
        if (i % 64 == 0) {
            tree.set_workload(one, i % 128 == 0 ? Workload::kSeeky : Workload::kSequential);
        }
        const EntityId next = tree.next(kBe).value();
        tree.charge(next, 10 * kMs);
        got[next] += 1;
    }
    EXPECT_NEAR(got[one] / got[two], 1, 0.05);
}

TEST(ServiceTree, TheFrontIsForOneService) {
    ServiceTree tree;
    const EntityId group = tree.add_group(ServiceTree::kRoot, 10'000);
    const EntityId one = tree.add_queue(ServiceTree::kRoot, best_effort());
    const EntityId two = tree.add_queue(group, best_effort());
    const EntityId three = tree.add_queue(group, best_effort());
    for (const EntityId queue : {one, two, three}) {
        tree.activate(queue);
    }
    tree.charge(three, 30 * kMs);
    ASSERT_NE(tree.next(kBe), three);
    tree.to_front(three);
    EXPECT_EQ(tree.next(kBe), three);
    EXPECT_GE(tree.lead(three), 0);
    tree.charge(three, 1 * kMs);
    EXPECT_NE(tree.next(kBe), three);
}

TEST(ServiceTree, LeadIsTheDiskTimeByWhichAQueueIsAhead) {
    ServiceTree tree;
    const EntityId one = tree.add_queue(ServiceTree::kRoot, best_effort(20'000));
    const EntityId two = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(one);
    tree.activate(two);
    tree.charge(one, 30 * kMs);
    EXPECT_EQ(tree.lead(one), 30 * kMs);
    EXPECT_EQ(tree.lead(two), 0);
}

TEST(ServiceTree, IdsAreUsedAgain) {
    ServiceTree tree;
    const EntityId group = tree.add_group(ServiceTree::kRoot, 10'000);
    const EntityId queue = tree.add_queue(group, best_effort());
    tree.activate(queue);
    tree.remove(queue);
    EXPECT_FALSE(tree.busy(kBe));
    EXPECT_EQ(tree.add_queue(group, best_effort()), queue);
    tree.remove(queue);
    tree.remove(group);
    const EntityId again = tree.add_queue(ServiceTree::kRoot, best_effort());
    tree.activate(again);
    EXPECT_EQ(tree.next(kBe), again);
}

TEST(Weights, FollowTheLevels) {
    for (int level = 0; level + 1 < kLevels; ++level) {
        const auto step = [level](LevelLaw law) {
            return static_cast<double>(level_weight(law, level)) / level_weight(law, level + 1);
        };
        EXPECT_NEAR(step(LevelLaw::kGeometric), 1.6, 0.001) << level;
        EXPECT_DOUBLE_EQ(step(LevelLaw::kLinear), static_cast<double>(level_slice(level)) /
                                                      static_cast<double>(level_slice(level + 1)));
    }
    EXPECT_EQ(level_weight(LevelLaw::kGeometric, 4), kDefaultWeight);
    EXPECT_EQ(level_weight(LevelLaw::kLinear, 4), kDefaultWeight);
    EXPECT_EQ(level_slice(0), 180 * kMs);
    EXPECT_EQ(level_slice(7), 40 * kMs);
}

}  // namespace
}  // namespace lull::sched
