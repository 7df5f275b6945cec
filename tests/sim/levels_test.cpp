// SPDX-License-Identifier: MIT
// What levels must be worth: tables A and B against the mails (./dev bench levels prints them).
#include "tests/sim/levels.hpp"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

namespace lull::sim {
namespace {

using sched::kSecond;
using sched::LevelLaw;

ReadersResult run(const char* profile, ReaderRule& rule, std::size_t readers,
                  Nanoseconds duration) {
    ReadersSetup setup;
    setup.profile = profile;
    setup.readers = readers;
    setup.duration = duration;
    return run_readers(setup, rule);
}

const std::vector<int> kLevelsA{0, 1, 1, 3, 6, 3, 4};
const std::vector<int> kLevelsB{0, 1, 2, 3, 4, 5, 6, 7};

TEST(TableA, SharesAreThoseOfTheMail) {
    constexpr std::array<double, 7> kMail{2.24, 1.94, 1.92, 1.35, 0.48, 1.35, 1};
    const auto rule = arbiter_readers(kLevelsA, LevelLaw::kLinear);
    const auto result = run("hdd-2004", *rule, kLevelsA.size(), 30 * kSecond);
    for (std::size_t i = 0; i < kMail.size(); ++i) {
        const double share = result.bytes_per_second(i) / result.bytes_per_second(6);
        EXPECT_NEAR(share / kMail[i], 1, 0.2) << i;
    }
}

TEST(TableA, NobodyWaitsForMoreThanARound) {
    const auto rule = arbiter_readers(kLevelsA, LevelLaw::kLinear);
    const auto result = run("hdd-2004", *rule, kLevelsA.size(), 30 * kSecond);
    for (const auto& reader : result.readers) {
        EXPECT_LE(reader.longest, 900 * sched::kMillisecond);
    }
}

TEST(TableA, LevelsCostNoThroughput) {
    const auto levels = arbiter_readers(kLevelsA, LevelLaw::kLinear);
    const auto same = arbiter_readers(std::vector<int>(kLevelsA.size(), 4), LevelLaw::kLinear);
    const double with =
        run("hdd-2004", *levels, kLevelsA.size(), 30 * kSecond).total_bytes_per_second();
    const double without =
        run("hdd-2004", *same, kLevelsA.size(), 30 * kSecond).total_bytes_per_second();
    EXPECT_GE(with, 0.97 * without);
}

TEST(TableB, EachLevelHas1point6TimesTheDiskTimeOfTheNext) {
    const auto rule = arbiter_readers(kLevelsB, LevelLaw::kGeometric);
    const auto result = run("hdd-2012", *rule, kLevelsB.size(), 600 * kSecond);
    for (std::size_t i = 0; i + 1 < kLevelsB.size(); ++i) {
        const double step = static_cast<double>(result.readers[i].disk_time) /
                            static_cast<double>(result.readers[i + 1].disk_time);
        EXPECT_NEAR(step, 1.6, 0.05) << i;
    }
}

TEST(TableB, VirtualTimeGivesAFifthMoreThanRoundRobin) {
    const auto geometric = arbiter_readers(kLevelsB, LevelLaw::kGeometric);
    const auto round_robin = round_robin_2012(kLevelsB);
    const double now =
        run("hdd-2012", *geometric, kLevelsB.size(), 600 * kSecond).total_bytes_per_second();
    const auto before = run("hdd-2012", *round_robin, kLevelsB.size(), 600 * kSecond);
    EXPECT_GE(now, 1.20 * before.total_bytes_per_second());
    for (std::size_t i = 0; i + 1 < kLevelsB.size(); ++i) {
        EXPECT_GT(before.bytes_per_second(i), before.bytes_per_second(i + 1)) << i;
    }
}

TEST(Readers, AreTheSameEachTime) {
    const auto bytes = [] {
        const auto rule = arbiter_readers(kLevelsB, LevelLaw::kGeometric);
        const auto result = run("hdd-2012", *rule, kLevelsB.size(), 10 * kSecond);
        return std::accumulate(result.readers.begin(), result.readers.end(), std::uint64_t{0},
                               [](std::uint64_t hash, const ReadersResult::Reader& reader) {
                                   return hash * 31 + reader.bytes +
                                          static_cast<std::uint64_t>(reader.longest);
                               });
    };
    EXPECT_EQ(bytes(), bytes());
}

}  // namespace
}  // namespace lull::sim
