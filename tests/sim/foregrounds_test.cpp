// SPDX-License-Identifier: MIT
#include "tests/sim/foregrounds.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/sim/simulator.hpp"

namespace lull::sim {
namespace {

constexpr double kPageBytes = 512 * 8;

const StartUp& program(const std::string& name) {
    const auto& all = start_ups();
    return *std::find_if(all.begin(), all.end(),
                         [&name](const StartUp& one) { return one.name == name; });
}

TEST(Quantile, MeetsItsPointsAndIsALineOfLogarithmsBetween) {
    const std::vector<Percentile> points{{0, 1}, {0.5, 100}, {1, 1000}};
    EXPECT_DOUBLE_EQ(quantile(points, 0), 1);
    EXPECT_DOUBLE_EQ(quantile(points, 0.25), 10);
    EXPECT_DOUBLE_EQ(quantile(points, 0.5), 100);
    EXPECT_NEAR(quantile(points, 0.75), 316.2, 0.1);
    EXPECT_DOUBLE_EQ(quantile(points, 1), 1000);
}

class EachStartUp : public testing::TestWithParam<std::string> {};

TEST_P(EachStartUp, HasThePublishedFigures) {
    StartUp one = program(GetParam());
    one.starts = 1;
    one.jitter = 0;
    const Foreground foreground = start_up(one, {});
    const Script& script = foreground.scripts.at(0);
    ASSERT_EQ(script.size(), one.requests);
    double pages = 0;
    std::size_t metadata = 0;
    std::vector<double> gaps;
    for (std::size_t i = 0; i < script.size(); ++i) {
        pages += script[i].sectors / 8.0;
        metadata += script[i].metadata ? 1 : 0;
        if (i > 0) {  // the first comes after a pause
            gaps.push_back(static_cast<double>(script[i].gap) / kMillisecond);
        }
    }
    EXPECT_NEAR(pages * kPageBytes / (1 << 20), one.mebibytes, one.mebibytes * 0.01);
    EXPECT_NEAR(static_cast<double>(metadata) / static_cast<double>(script.size()), one.metadata,
                0.01);
    std::sort(gaps.begin(), gaps.end());
    for (const Percentile& point : one.gaps) {
        if (point.share > 0 && point.share < 1) {
            const auto place =
                static_cast<std::size_t>(point.share * static_cast<double>(gaps.size() - 1));
            EXPECT_NEAR(gaps[place], point.value, point.value * 0.08) << point.share;
        }
    }
    EXPECT_LE(gaps.back(), one.gaps.back().value);
}

TEST_P(EachStartUp, IsTheSameProgramEachTime) {
    const StartUp& one = program(GetParam());
    const Script script = start_up(one, {}).scripts.at(0);
    ASSERT_EQ(script.size(), one.requests * one.starts);
    std::size_t same = 0;
    for (std::size_t i = one.requests; i < script.size(); ++i) {
        same += script[i].sector == script[i - one.requests].sector ? 1 : 0;
        EXPECT_EQ(script[i].gap_kind == GapKind::kPause, i % one.requests == 0);
    }
    const double share = static_cast<double>(same) / static_cast<double>(script.size());
    EXPECT_GT(share, 0.8);
    EXPECT_LT(share, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Programs, EachStartUp, testing::Values("gnometerm", "lowriter", "xterm"));

TEST(FindAndCat, IsATaskForEachFile) {
    const Script script = find_and_cat({}).scripts.at(0);
    std::map<std::uint32_t, std::uint64_t> bytes;
    std::set<std::uint32_t> ended;
    std::uint32_t find = script.front().task;
    std::size_t metadata = 0;
    for (const Step& step : script) {
        EXPECT_EQ(ended.count(step.task), 0U) << "a task reads after its end";
        metadata += step.metadata ? 1 : 0;
        if (step.exits) {
            ended.insert(step.task);
        }
        if (step.task != find) {
            bytes[step.task] += step.sectors * 512ULL;
        }
    }
    EXPECT_EQ(ended.size(), bytes.size());
    EXPECT_GE(bytes.size(), 6000U);
    EXPECT_GT(metadata, bytes.size() / 16);
    double sum = 0;
    for (const auto& [task, size] : bytes) {
        sum += static_cast<double>(size);
    }
    // 8353 files with 219 MB in the tree that was measured.
    EXPECT_NEAR(sum / static_cast<double>(bytes.size()), 219e6 / 8353, 8e3);
}

TEST(Steady, ComesToThirtyEachSecondOnAnyDisk) {
    for (const auto& [profile, random_read] :
         std::map<std::string, double>{{"hdd-7200", 7.7}, {"sata-ssd", 0.1}}) {
        const Foreground foreground = steady({}, milliseconds(random_read));
        Alone alone;
        const Outcome outcome = simulate(foreground, {.profile = profile}, alone,
                                         {.first = 0, .end = 1 << 20, .seed = 1});
        EXPECT_NEAR(
            static_cast<double>(outcome.requests) * kSecond / static_cast<double>(outcome.end), 30,
            1)
            << profile;
    }
}

TEST(OnOff, HasTwoCgroupsAndQuietBetweenBursts) {
    const Script script = on_off({}).scripts.at(0);
    std::size_t quiet = 0;
    std::size_t flushes = 0;
    for (const Step& step : script) {
        quiet += step.gap_kind == GapKind::kQuiet ? 1 : 0;
        flushes += step.kind == IoKind::kFlush ? 1 : 0;
        EXPECT_EQ(step.kind == IoKind::kRead, step.cgroup == 30);
        if (step.gap_kind == GapKind::kQuiet) {
            EXPECT_GE(step.gap, kSecond);
            EXPECT_LE(step.gap, 5 * kSecond);
        }
    }
    EXPECT_EQ(quiet, 40U);
    EXPECT_GT(flushes, 200U);
}

}  // namespace
}  // namespace lull::sim
