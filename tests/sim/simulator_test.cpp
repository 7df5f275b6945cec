// SPDX-License-Identifier: MIT
#include "tests/sim/simulator.hpp"

#include <gtest/gtest.h>

#include "tests/sim/foregrounds.hpp"
#include "tests/sim/window_rule.hpp"

namespace lull::sim {
namespace {

constexpr std::uint32_t kPage = 8;
const DiskOptions kHardDisk{};
const BackgroundOptions kWork{.first = 0, .end = kHardDisk.sectors, .seed = 3};

Step read(Nanoseconds gap, std::uint64_t sector, GapKind kind = GapKind::kThink) {
    return {
        .gap = gap, .gap_kind = kind, .task = 1, .cgroup = 1, .sector = sector, .sectors = kPage};
}

/// Notes all that a rule is told, and lets the background go never.
class Listener final : public PassThrough {
  public:
    struct Event {
        std::string what;
        Nanoseconds at = 0;
    };
    std::vector<Event> events;
    void exited(std::uint32_t task, Nanoseconds now) override {
        events.push_back({"exit " + std::to_string(task), now});
    }

  protected:
    void foreground_arrived(const Io& io, Nanoseconds now) override {
        events.push_back({"arrival " + std::to_string(io.sector), now});
    }
    void foreground_completed(const Io& io, Nanoseconds now) override {
        events.push_back({"completion " + std::to_string(io.sector), now});
    }
    Action decide(const Background& /*background*/, Nanoseconds /*now*/) override {
        return Action::nothing();
    }
};

std::vector<std::string> names(const Listener& listener) {
    std::vector<std::string> all;
    for (const Listener::Event& event : listener.events) {
        all.push_back(event.what);
    }
    return all;
}

TEST(Simulator, RunsAScriptAsAClosedLoop) {
    Script script{read(kMillisecond, 8), read(2 * kMillisecond, 800)};
    script[1].exits = true;
    Listener listener;
    const Outcome outcome = simulate({"", {script}}, kHardDisk, listener, kWork);
    EXPECT_EQ(names(listener), (std::vector<std::string>{"arrival 8", "completion 8", "arrival 800",
                                                         "completion 800", "exit 1"}));
    EXPECT_EQ(listener.events[0].at, kMillisecond);
    EXPECT_EQ(listener.events[2].at - listener.events[1].at, 2 * kMillisecond);
    EXPECT_EQ(outcome.end, listener.events[3].at);
    EXPECT_EQ(outcome.work, outcome.end);
    EXPECT_EQ(outcome.idle, 3 * kMillisecond);
    EXPECT_EQ(outcome.requests, 2U);
    EXPECT_EQ(outcome.latency_sum + outcome.idle, outcome.end);
}

TEST(Simulator, LeavesReadaheadOnItsWay) {
    Script script{read(0, 8), read(0, 100'000'000), read(0, 50'000'000)};
    script[0].leave = 1;
    Listener listener;
    (void)simulate({"", {script}}, kHardDisk, listener, kWork);
    EXPECT_EQ(names(listener)[0], "arrival 8");
    EXPECT_EQ(names(listener)[1], "arrival 100000000");
    EXPECT_EQ(names(listener)[4], "arrival 50000000");
}

TEST(Simulator, KeepsQuietAndPausesOutOfTheRunTime) {
    const Script script{read(kSecond, 8, GapKind::kPause), read(3 * kSecond, 8, GapKind::kQuiet),
                        read(kMillisecond, 8)};
    Alone alone;
    const Outcome outcome = simulate({"", {script}}, kHardDisk, alone, kWork);
    EXPECT_EQ(outcome.work, outcome.end - 4 * kSecond);
    EXPECT_EQ(outcome.idle, 3 * kSecond + kMillisecond);
}

TEST(Simulator, RunsScriptsSideBySide) {
    const Script one(20, read(kMillisecond, 8));
    Alone first;
    const Outcome single = simulate({"", {one}}, kHardDisk, first, kWork);
    Alone second;
    const Outcome both = simulate({"", {one, one}}, kHardDisk, second, kWork);
    EXPECT_EQ(both.requests, 40U);
    EXPECT_LT(both.end, 2 * single.end);
    EXPECT_GE(both.work, 2 * single.work);
}

TEST(Simulator, CountsWhoMetTheBackground) {
    // The window opens in the second gap only; its requests of 64 MiB a second fill the rest of it.
    const Script script{read(0, 8), read(kSecond, 8), read(kMillisecond, 8)};
    WindowRule rule({.window = 100 * kMillisecond, .sectors = 256});
    const Outcome outcome = simulate({"", {script}}, kHardDisk, rule, kWork);
    EXPECT_EQ(outcome.violations, 1U);
    EXPECT_GT(outcome.background_requests, 100U);
    Alone alone;
    EXPECT_GT(outcome.work, simulate({"", {script}}, kHardDisk, alone, kWork).work);
}

TEST(Simulator, DoesNotCountBackgroundInPauses) {
    const Script script{read(0, 8), read(kSecond, 8, GapKind::kPause), read(kMillisecond, 8)};
    WindowRule rule({.window = 100 * kMillisecond, .sectors = 256});
    const Outcome outcome = simulate({"", {script}}, kHardDisk, rule, kWork);
    EXPECT_EQ(outcome.background_requests, 0U);
    EXPECT_EQ(outcome.violations, 1U);
}

TEST(Simulator, GivesTheSameForTheSame) {
    const Foreground foreground = on_off({.seed = 5});
    std::vector<Outcome> outcomes;
    for (int i = 0; i < 2; ++i) {
        WindowRule rule({.window = 8 * kMillisecond, .sectors = 256});
        outcomes.push_back(simulate(foreground, kHardDisk, rule, kWork));
    }
    EXPECT_EQ(outcomes[0].end, outcomes[1].end);
    EXPECT_EQ(outcomes[0].latency_sum, outcomes[1].latency_sum);
    EXPECT_EQ(outcomes[0].background_sectors, outcomes[1].background_sectors);
}

/// Sends one request into a gap if the future says that it will be done in time.
class Prophet final : public PassThrough {
  public:
    int sent = 0;
    void begin(const Future& future) override { future_ = &future; }

  protected:
    Action decide(const Background& background, Nanoseconds now) override {
        const auto arrival = future_->next_arrival();
        if (!arrival || background_in_flight() > 0) {
            return Action::nothing();
        }
        const auto disk = future_->disk();
        const Background::Piece piece = background.peek(256);
        disk->submit({.id = 0, .sector = piece.sector, .sectors = piece.sectors}, now);
        expected_ = *disk->next_completion();
        if (expected_ > arrival->at) {
            return Action::nothing();
        }
        ++sent;
        return Action::background(256);
    }
    void background_done(const Io& /*io*/, Nanoseconds /*service*/, Nanoseconds now) override {
        EXPECT_EQ(now, expected_);
    }

  private:
    const Future* future_ = nullptr;
    Nanoseconds expected_ = 0;
};

TEST(Simulator, ShowsTheFutureToWhoMayLook) {
    for (const char* profile : {"hdd-7200", "nvme"}) {
        const Script script(50, read(30 * kMillisecond, 8));
        Prophet prophet;
        const Outcome outcome = simulate({"", {script}}, {.profile = profile}, prophet, kWork);
        EXPECT_EQ(outcome.violations, 0U);
        EXPECT_GE(prophet.sent, 50);
    }
}

TEST(Background, ReadsRunsInOrderAndBeginsAgain) {
    Background background({.first = 8000, .end = 2400000, .seed = 9});
    std::uint64_t before = 0;
    int wraps = 0;
    std::uint64_t shorter = 0;
    for (int i = 0; i < 5000; ++i) {
        const Background::Piece peeked = background.peek(512);
        const Background::Piece piece = background.take(512);
        EXPECT_EQ(piece.sector, peeked.sector);
        EXPECT_EQ(piece.sectors, peeked.sectors);
        EXPECT_GE(piece.sector, 8000);
        EXPECT_LE(piece.sector + piece.sectors, 2400000);
        EXPECT_GE(piece.sectors, kPage);
        shorter += piece.sectors < 512 ? 1 : 0;
        wraps += piece.sector < before ? 1 : 0;
        before = piece.sector + piece.sectors;
    }
    EXPECT_GT(wraps, 2);
    EXPECT_GT(shorter, 500U);
}

}  // namespace
}  // namespace lull::sim
