// SPDX-License-Identifier: MIT
#include "doctor/idle_class.hpp"

#include <gtest/gtest.h>

#include "tests/sched/disk/fake_system.hpp"

namespace lull::doctor {
namespace {

using sched::kMillisecond;
using sched::kSecond;

IdleClass of(const std::string& scheduler, const sched::FakeSystem::Values& more = {},
             sched::Nanoseconds random_service = 12 * kMillisecond) {
    sched::FakeSystem system;
    auto values = more;
    values.emplace_back("queue/scheduler", scheduler);
    system.disk("sda", "8:0", values);
    const auto device = sched::BlockDevice::find("sda", system.roots());
    sched::DiskTraits traits;
    traits.random_service = random_service;
    return idle_class(*device, *device->facts(), traits);
}

TEST(IdleClass, IsWorthNothingWithoutASchedulerThatKnowsClasses) {
    for (const char* scheduler : {"[none] mq-deadline bfq", "none", "none [kyber]"}) {
        EXPECT_EQ(of(scheduler).worth, IdleWorth::kNothing) << scheduler;
    }
}

TEST(IdleClass, HoldsPagesUnderDeadlineForAsLongAsItIsSet) {
    const auto usual = of("[mq-deadline]", {{"queue/iosched/prio_aging_expire", "10000"}});
    EXPECT_EQ(usual.worth, IdleWorth::kInverts);
    EXPECT_EQ(usual.longest_hold, 10 * kSecond);
    EXPECT_NE(usual.why.find("up to 10 s"), std::string::npos) << usual.why;
    const auto lowered = of("[mq-deadline]", {{"queue/iosched/prio_aging_expire", "50"}});
    EXPECT_EQ(lowered.longest_hold, 50 * kMillisecond);
    EXPECT_NE(lowered.why.find("up to 0.05 s"), std::string::npos) << lowered.why;
    // Older kernels have no such bound.
    const auto unbounded = of("[mq-deadline]");
    EXPECT_FALSE(unbounded.longest_hold);
    EXPECT_NE(unbounded.why.find("without end"), std::string::npos) << unbounded.why;
}

TEST(IdleClass, SaysWhatADeepDiskHidesFromDeadline) {
    EXPECT_NE(of("[mq-deadline]", {{"device/queue_depth", "31"}}).why.find("31 requests"),
              std::string::npos);
    EXPECT_EQ(of("[mq-deadline]", {{"device/queue_depth", "1"}}).why.find("requests in the disk"),
              std::string::npos);
}

TEST(IdleClass, LeaksUnderBfqByTheTimeOfARequest) {
    const auto hard_disk = of("[bfq]");
    EXPECT_EQ(hard_disk.worth, IdleWorth::kLeaks);
    EXPECT_DOUBLE_EQ(hard_disk.leak, 0.06);
    EXPECT_NE(hard_disk.why.find("6 %"), std::string::npos) << hard_disk.why;
    EXPECT_DOUBLE_EQ(of("[bfq]", {}, 100 * sched::kMicrosecond).leak, 0.0005);
}

TEST(IdleClass, DoesNotGuess) {
    const auto idle = of("[cloudy] none");
    EXPECT_EQ(idle.worth, IdleWorth::kUnknown);
    EXPECT_NE(idle.why.find("cloudy"), std::string::npos);
}

}  // namespace
}  // namespace lull::doctor
