// SPDX-License-Identifier: MIT
// The rules one by one, told as stories, and against each other.
#include <gtest/gtest.h>

#include "tests/sim/clairvoyant.hpp"
#include "tests/sim/foregrounds.hpp"
#include "tests/sim/gaps.hpp"
#include "tests/sim/kernel_rules.hpp"
#include "tests/sim/window_rule.hpp"

namespace lull::sim {
namespace {

/// A rule and what its disk would tell it. Foreground requests go when the rule sends them.
class Story {
  public:
    explicit Story(Rule& rule) : rule_(rule) {}

    /// A request of `task` arrives.
    Io arrives(std::uint32_t task, std::uint64_t sector = 0, bool metadata = false) {
        Io io;
        io.id = ++id_;
        io.task = task;
        io.sector = sector;
        io.sectors = 8;
        io.metadata = metadata;
        rule_.arrived(io, now);
        return io;
    }
    void completes(const Io& io) { rule_.completed(io, 0, now); }
    void background_completes() {
        Io io;
        io.background = true;
        rule_.completed(io, 0, now);
    }
    /// Asks until the rule wants to wait; what it sent: "f" and "b", and at the end "w" if it
    /// wants to be woken.
    std::string sends() {
        std::string sent;
        for (;;) {
            const Action action = rule_.next(background_, now);
            switch (action.kind) {
                case Action::Kind::kForeground:
                    sent += 'f';
                    break;
                case Action::Kind::kBackground:
                    sent += 'b';
                    break;
                case Action::Kind::kWake:
                    wake = action.at;
                    return sent + 'w';
                case Action::Kind::kNothing:
                    return sent;
            }
        }
    }
    /// A whole request of `task`, half a millisecond long.
    void reads(std::uint32_t task, std::uint64_t sector) {
        const Io io = arrives(task, sector);
        sends();
        now += kMillisecond / 2;
        completes(io);
    }

    Nanoseconds now = 0;
    Nanoseconds wake = 0;

  private:
    Rule& rule_;
    std::uint64_t id_ = 0;
    Background background_{{.first = 0, .end = 1 << 24, .seed = 1}};
};

const std::string kFull(KernelRule::kBacklog, 'b');

TEST(Deadline, FillsTheDeviceTheMomentTheForegroundHasNothing) {
    DeadlineRule rule;
    Story story(rule);
    const Io io = story.arrives(1);
    EXPECT_EQ(story.sends(), "f");
    story.now += kMillisecond;
    EXPECT_EQ(story.sends(), "");
    story.completes(io);
    EXPECT_EQ(story.sends(), kFull);
    (void)story.arrives(1);
    EXPECT_EQ(story.sends(), "f");
}

TEST(Deadline, LetsOneGoAfterTenSeconds) {
    DeadlineRule rule;
    Story story(rule);
    (void)story.arrives(1);
    EXPECT_EQ(story.sends(), "f");
    story.now += 10 * kSecond;
    EXPECT_EQ(story.sends(), "b");
}

TEST(Bfq, WaitsEightMillisecondsForATaskThatLives) {
    BfqRule rule;
    Story story(rule);
    story.reads(1, 0);
    EXPECT_EQ(story.sends(), "w");
    EXPECT_EQ(story.wake, story.now + 8 * kMillisecond);
    story.now = story.wake;
    EXPECT_EQ(story.sends(), kFull);
}

TEST(Bfq, DoesNotWaitForATaskThatEnded) {
    BfqRule rule;
    Story story(rule);
    story.reads(1, 0);
    rule.exited(1, story.now);
    EXPECT_EQ(story.sends(), kFull);
}

TEST(Bfq, LetsOneGoEachFifthOfASecond) {
    BfqRule rule;
    Story story(rule);
    int sent = 0;
    std::uint64_t sector = 0;
    while (story.now < 10 * kSecond) {
        const Io io = story.arrives(1, sector += 8);
        const std::string sends = story.sends();
        EXPECT_TRUE(sends == "f" || sends == "bf") << sends;
        if (sends == "bf") {
            ++sent;
            story.background_completes();
        }
        story.now += kMillisecond;
        story.completes(io);
        EXPECT_EQ(story.sends(), "w");
        story.now += kMillisecond;
    }
    // A task keeps the disk for 124 ms at least: each second choice comes late enough.
    EXPECT_GE(sent, 39);
    EXPECT_LE(sent, 50);
}

TEST(Cfq, WaitsEightMillisecondsForATaskThatLives) {
    CfqRule rule(true);
    Story story(rule);
    story.reads(1, 0);
    EXPECT_EQ(story.sends(), "w");
    EXPECT_EQ(story.wake, story.now + 8 * kMillisecond);
    story.now = story.wake;
    EXPECT_EQ(story.sends(), "b");  // one of the IDLE queue at a time
    EXPECT_EQ(story.sends(), "");
    story.background_completes();
    EXPECT_EQ(story.sends(), "b");
}

TEST(Cfq, DoesNotWaitForATaskThatEnded) {
    CfqRule rule(true);
    Story story(rule);
    story.reads(1, 0);
    rule.exited(1, story.now);
    EXPECT_EQ(story.sends(), "b");
}

TEST(Cfq, DoesNotWaitOnFlash) {
    CfqRule rule(false);
    Story story(rule);
    story.reads(1, 0);
    EXPECT_EQ(story.sends(), "b");
}

TEST(Cfq, WaitsForATaskThatJumpsOnlyAsTheLastOfItsTree) {
    CfqRule rule(true);
    Story story(rule);
    for (std::uint64_t i = 0; i < 10; ++i) {
        story.reads(1, i * 1'000'000);
        story.reads(2, i * 2'000'000 + 500'000'000);
    }
    EXPECT_EQ(story.sends(), "w");
    // Task 2 is in service and in its window; a request of the other seeky one goes at once.
    (void)story.arrives(1, 7'777'777);
    EXPECT_EQ(story.sends(), "f");
}

TEST(Cfq, KeepsTheDiskForATaskThatReadsOn) {
    CfqRule rule(true);
    Story story(rule);
    for (std::uint64_t i = 0; i < 10; ++i) {
        story.reads(1, i * 8);
    }
    // Another task's request far away waits for the window to pass; a near one does not.
    (void)story.arrives(2, 500'000'000);
    EXPECT_EQ(story.sends(), "w");
    story.now = story.wake;
    EXPECT_EQ(story.sends(), "f");
}

TEST(Cfq, LetsMetadataAndNearRequestsPreempt) {
    for (const bool metadata : {false, true}) {
        CfqRule rule(true);
        Story story(rule);
        for (std::uint64_t i = 0; i < 10; ++i) {
            story.reads(1, i * 8);
        }
        (void)story.arrives(2, metadata ? 500'000'000 : 4000, metadata);
        EXPECT_EQ(story.sends(), "f");
    }
}

TEST(Cfq, EndsASliceAfterATenthOfASecond) {
    CfqRule rule(true);
    Story story(rule);
    story.reads(1, 0);
    const Nanoseconds begun = story.now;
    (void)story.arrives(2, 500'000'000);
    std::uint64_t sector = 0;
    while (story.now < begun + 100 * kMillisecond) {
        EXPECT_EQ(story.sends(), "w");
        story.reads(1, sector += 8);
    }
    EXPECT_EQ(story.sends(), "f");
}

const DiskOptions kHardDisk{};
const BackgroundOptions kWork{.first = 0, .end = kHardDisk.sectors, .seed = 3};

TEST(ArbiterRule, WaitsAsThePlainRuleDoesWithTheSameWindow) {
    const Foreground foreground = on_off({.seed = 2});
    for (const char* profile : {"hdd-7200", "sata-ssd"}) {
        const DiskOptions disk{.profile = profile};
        ArbiterOptions options;
        options.disk = traits_of(disk);
        options.gate.rule = sched::GateRule::kFixed;
        options.gate.fixed_window = 20 * kMillisecond;
        options.sectors = 512;
        ArbiterRule arbiter(options);
        WindowRule plain(
            {.window = 20 * kMillisecond, .sectors = 512, .depth = options.disk.idle_depth});
        const Outcome ours = simulate(foreground, disk, arbiter, kWork);
        const Outcome theirs = simulate(foreground, disk, plain, kWork);
        EXPECT_EQ(ours.work, theirs.work) << profile;
        EXPECT_EQ(ours.background_sectors, theirs.background_sectors) << profile;
        EXPECT_EQ(ours.violations, theirs.violations) << profile;
    }
}

TEST(ArbiterRule, HearsOfTheForegroundLate) {
    for (const Nanoseconds lag : {Nanoseconds{0}, kMillisecond}) {
        ArbiterOptions options;
        options.gate.rule = sched::GateRule::kFixed;
        options.gate.fixed_window = 2 * kMillisecond;
        options.lag = lag;
        ArbiterRule rule(options);
        Story story(rule);
        (void)story.arrives(1);
        EXPECT_EQ(story.sends(), lag > 0 ? "fbw" : "f");
        story.now += lag;
        EXPECT_EQ(story.sends(), "");
    }
}

TEST(Sizer, GivesWhatFitsIntoTheTime) {
    sched::DiskTraits disk;
    disk.random_service = 8 * kMillisecond;
    disk.ns_per_sector = 5000;
    Sizer sizer(disk);
    EXPECT_EQ(sizer.sectors(9 * kMillisecond, false), 200U);
    EXPECT_EQ(sizer.sectors(kMillisecond, true), 200U);
    EXPECT_EQ(sizer.sectors(kMillisecond, false), Background::kShortest);
    EXPECT_EQ(sizer.sectors(kSecond, false), Background::kLongest);
    for (int i = 0; i < 200; ++i) {
        sizer.done(200, 5 * kMillisecond, false);
    }
    EXPECT_EQ(sizer.sectors(5 * kMillisecond, false), 192U);  // 4 ms of way, whole pages
}

TEST(Clairvoyant, MeetsNobodyAndLosesNothingWhereItNeedNot) {
    for (const char* profile : {"hdd-7200", "nvme"}) {
        const Experiment experiment("steady_30", profile);
        const RuleResult ceiling = experiment.clairvoyant();
        EXPECT_EQ(ceiling.violations, 0U);
        EXPECT_LE(ceiling.foreground_slowdown, 1 + kBudget);
        EXPECT_GT(ceiling.background_share_of_idle, 0.5);
    }
}

TEST(Hindsight, KeepsTheBudgetAndIsBelowTheCeiling) {
    const Experiment experiment("xterm", "hdd-7200");
    FixedChoice choice;
    const RuleResult fixed = experiment.hindsight(choice);
    const RuleResult ceiling = experiment.clairvoyant();
    EXPECT_LE(fixed.foreground_slowdown, 1 + kBudget);
    EXPECT_GT(fixed.background_share_of_idle, 0);
    EXPECT_GT(choice.window, kMillisecond);
    EXPECT_GT(ceiling.background_share_of_idle, fixed.background_share_of_idle);
    EXPECT_LE(ceiling.foreground_slowdown, 1 + kBudget);
}

}  // namespace
}  // namespace lull::sim
