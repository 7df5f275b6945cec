// SPDX-License-Identifier: MIT
#include "bootchart/compare.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bootchart/statistics.hpp"
#include "tests/bootchart/charts.hpp"

namespace lull::bootchart {
namespace {

constexpr double kTolerance = 1e-9;

TEST(StatisticsTest, DescribesAFewValues) {
    const Spread spread = spread_of({4, 1, 3, 2});
    EXPECT_EQ(spread.count, 4U);
    EXPECT_NEAR(spread.mean, 2.5, kTolerance);
    EXPECT_NEAR(spread.median, 2.5, kTolerance);
    EXPECT_NEAR(spread.deviation, std::sqrt(5.0 / 3.0), kTolerance);
    EXPECT_EQ(spread.lowest, 1);
    EXPECT_EQ(spread.highest, 4);
    EXPECT_EQ(spread_of({7, 1, 2}).median, 2);
    EXPECT_EQ(spread_of({}).count, 0U);
    EXPECT_EQ(spread_of({5}).deviation, 0);
}

// Worked by hand: means 20 and 22, variances 2.5 and 10 of five values each; Welch's degrees of
// freedom are 5.882, the 97.5 % quantile of t there is 2.459.
TEST(StatisticsTest, GivesWelchsInterval) {
    const Difference difference = difference_of({18, 19, 20, 21, 22}, {18, 20, 22, 24, 26});
    EXPECT_NEAR(difference.absolute, 2, kTolerance);
    EXPECT_NEAR(*difference.relative, 0.1, kTolerance);
    const double reach = 2.459 * std::sqrt(2.5 / 5 + 10.0 / 5);
    EXPECT_NEAR(difference.interval->low, 2 - reach, 0.01);
    EXPECT_NEAR(difference.interval->high, 2 + reach, 0.01);
    EXPECT_EQ(difference.verdict(), Verdict::kNoDifference);
}

TEST(StatisticsTest, EqualValuesAreNoCertaintyWhenTheyAreRounded) {
    const Difference exact = difference_of({10, 10}, {10.2, 10.2});
    EXPECT_EQ(exact.verdict(), Verdict::kSlower);
    const Difference rounded = difference_of({10, 10}, {10.2, 10.2}, 0.2);
    EXPECT_EQ(rounded.verdict(), Verdict::kNoDifference);
    EXPECT_EQ(difference_of({10, 10}, {10, 10}).verdict(), Verdict::kNoDifference);
}

TEST(StatisticsTest, OneValueOnASideGivesNoInterval) {
    const Difference difference = difference_of({10}, {20, 21});
    EXPECT_FALSE(difference.interval);
    EXPECT_EQ(difference.verdict(), Verdict::kNoDifference);
    EXPECT_FALSE(difference_of({0, 0}, {1, 1}).relative);
}

struct Planted {
    const char* name;
    double slower;
    /// A factor around 1 with mean `mean`.
    double (*draw)(std::mt19937_64&);
    double mean;
};

double normal(std::mt19937_64& random) {
    return std::normal_distribution<>(1, 0.02)(random);
}

double skewed(std::mt19937_64& random) {
    return 0.95 + 0.05 * std::exp(std::normal_distribution<>(0, 0.6)(random));
}

/// One boot of ten takes a tenth longer.
double with_outliers(std::mt19937_64& random) {
    const bool outlier = std::uniform_real_distribution<>()(random) < 0.1;
    return std::normal_distribution<>(outlier ? 1.1 : 1.0, 0.01)(random);
}

class CoverageTest : public testing::TestWithParam<Planted> {};

TEST_P(CoverageTest, TheIntervalCoversThePlantedSlowDown) {
    const Planted& planted = GetParam();
    constexpr int kTrials = 100;
    constexpr int kBoots = 5;
    constexpr double kSeconds = 20;
    std::mt19937_64 random(6);
    const double truth = kSeconds * planted.mean * planted.slower;
    int covered = 0;
    int covered_relative = 0;
    int found = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> a;
        std::vector<double> b;
        for (int boot = 0; boot < kBoots; ++boot) {
            a.push_back(kSeconds * planted.draw(random));
            b.push_back(kSeconds * (1 + planted.slower) * planted.draw(random));
        }
        const Difference difference = difference_of(a, b);
        const auto& sure = *difference.interval;
        covered += sure.low <= truth && truth <= sure.high ? 1 : 0;
        const double mean = difference.a.mean;
        covered_relative +=
            sure.low / mean <= planted.slower && planted.slower <= sure.high / mean ? 1 : 0;
        found += difference.verdict() == Verdict::kSlower ? 1 : 0;
    }
    EXPECT_GE(covered, 90);
    EXPECT_GE(covered_relative, 90);
    // No slow-down: at most the few that 95 % confidence allows. A tenth: nearly always found.
    if (planted.slower == 0) {
        EXPECT_LE(found, 6);
    } else if (planted.slower >= 0.1) {
        EXPECT_GE(found, 85);
    }
}

INSTANTIATE_TEST_SUITE_P(
    SetsOfFive, CoverageTest,
    testing::Values(Planted{"NormalNone", 0, normal, 1}, Planted{"Normal3", 0.03, normal, 1},
                    Planted{"Normal10", 0.1, normal, 1},
                    Planted{"SkewedNone", 0, skewed, 0.95 + 0.05 * std::exp(0.18)},
                    Planted{"Skewed3", 0.03, skewed, 0.95 + 0.05 * std::exp(0.18)},
                    Planted{"Skewed10", 0.1, skewed, 0.95 + 0.05 * std::exp(0.18)},
                    Planted{"OutliersNone", 0, with_outliers, 1.01},
                    Planted{"Outliers3", 0.03, with_outliers, 1.01},
                    Planted{"Outliers10", 0.1, with_outliers, 1.01}),
    [](const auto& info) { return info.param.name; });

/// Sets of five archives, on disk: `busy` seconds until quiet, give or take.
std::vector<std::string> write_set(const Scratch& scratch, const std::string& name, double busy,
                                   InventedBoot boot = {}) {
    std::vector<std::string> paths;
    std::mt19937 random(static_cast<std::uint32_t>(busy * 1000));
    for (std::uint32_t i = 0; i < 5; ++i) {
        boot.seed = i + 1;
        boot.hz = 25;
        boot.busy_seconds = busy + static_cast<double>(random() % 100) / 500;
        paths.push_back(scratch.path(name + std::to_string(i) + ".tgz"));
        write_tgz(paths.back(), invent(boot));
    }
    return paths;
}

struct Outcome {
    int status = 0;
    std::string out;
    std::string err;
};

Outcome run(const CompareOptions& options) {
    std::ostringstream out;
    std::ostringstream err;
    const int status = run_compare(options, out, err);
    return {status, out.str(), err.str()};
}

nlohmann::json run_json(CompareOptions options) {
    options.json = true;
    return nlohmann::json::parse(run(options).out);
}

TEST(CompareTest, FindsAPlantedSlowDown) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 13.2);
    const auto json = run_json(options);
    EXPECT_EQ(json["verdict"], "slower");
    EXPECT_EQ(json["milestone"], "quiet-disk");
    EXPECT_NEAR(json["difference"], 1.2, 0.2);
    EXPECT_LE(json["interval"][0], 1.2);
    EXPECT_GE(json["interval"][1], 1.2);
    EXPECT_EQ(json["sources"]["a"].size(), 5U);
    EXPECT_EQ(json["a"]["count"], 5);
    EXPECT_TRUE(json["warnings"].empty()) << json["warnings"];

    options.report.width = 80;
    const Outcome text = run(options);
    EXPECT_EQ(text.status, 0);
    EXPECT_NE(text.out.find("the second set is slower to quiet-disk by 1."), std::string::npos)
        << text.out;
    std::swap(options.a, options.b);
    EXPECT_EQ(run_json(options)["verdict"], "faster");
    EXPECT_NE(run(options).out.find("is faster to quiet-disk"), std::string::npos);
}

TEST(CompareTest, SetsOfTheSameKindDoNotDiffer) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 12.01);
    options.fail_if_slower = 0;
    EXPECT_EQ(run_json(options)["verdict"], "no difference");
    const Outcome text = run(options);
    EXPECT_EQ(text.status, 0);
    EXPECT_NE(text.out.find("no difference to quiet-disk"), std::string::npos) << text.out;
}

TEST(CompareTest, FailsIfSlowerByMoreThanAsked) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 13.2);
    options.fail_if_slower = 5;
    EXPECT_EQ(run(options).status, kExitSlower);
    options.fail_if_slower = 20;
    EXPECT_EQ(run(options).status, 0);
    // With one boot on a side the difference alone decides.
    options.a.resize(1);
    options.fail_if_slower = 5;
    EXPECT_EQ(run(options).status, kExitSlower);
    const auto json = run_json(options);
    EXPECT_EQ(json["verdict"], "no difference");
    EXPECT_TRUE(json["interval"].is_null());
    std::swap(options.a, options.b);
    EXPECT_EQ(run(options).status, 0);
}

TEST(CompareTest, ListsTheProcessesThatChangedMostFirst) {
    const Scratch scratch;
    Members members = invent({.processes = 5});
    write_tgz(scratch.path("a.tgz"), members);
    const std::int64_t late = 1000;
    std::string& ps = members["proc_ps.log"];
    ps = block(100, {ps_line({})}) +
         block(late, {ps_line({}), ps_line({.pid = 104, .comm = "worker-4", .start = 960})}) +
         block(late + 100,
               {ps_line({}), ps_line({.pid = 104, .comm = "worker-4", .start = 960, .blkio = 900}),
                ps_line({.pid = 9, .comm = "new\x1b[2J\xff", .user = 50, .start = late + 50})});
    write_tgz(scratch.path("b.tgz"), members);
    CompareOptions options;
    options.a = {scratch.path("a.tgz")};
    options.b = {scratch.path("b.tgz")};
    const auto json = run_json(options);
    const auto& first = json["processes"][0];
    EXPECT_EQ(first["name"], "worker-4");
    EXPECT_EQ(first["boots_b"], 1);
    EXPECT_GT(first["io_wait"]["difference"], 8.0);
    EXPECT_NEAR(first["first_seen"]["difference"], 9.6 - 13.5, 0.01);
    double last = 1e9;
    for (const auto& process : json["processes"]) {
        const double size = std::abs(process["io_wait"]["difference"].get<double>()) +
                            std::abs(process["cpu"]["difference"].get<double>());
        EXPECT_LE(size, last + kTolerance);
        last = size;
    }
    const Outcome text = run(options);
    EXPECT_NE(text.out.find("new\\x1b[2J\\xff"), std::string::npos);
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
    EXPECT_NE(text.out.find("on one side only"), std::string::npos);
}

TEST(CompareTest, TakesTheMilestoneThatIsAskedFor) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 13.2);
    options.milestone = "worker-20";
    const auto json = run_json(options);
    EXPECT_EQ(json["milestone"], "worker-20");
    EXPECT_NEAR(json["difference"], 0.6, 0.15);
    options.milestone = "nobody";
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("nobody"), std::string::npos);
    options.milestone = "";
    options.b.push_back(scratch.path("absent.tgz"));
    EXPECT_EQ(run(options).status, 1);
}

TEST(CompareTest, WarnsWhenMachinesDiffer) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 12,
                          {.cpus = 4,
                           .kernel = "Linux 6.12",
                           .cmdline = "root=/dev/sda1 ro",
                           .cpu = "Example CPU 2"});
    const std::string warnings = run_json(options)["warnings"].dump();
    for (const char* what : {"kernels differ", "CPUs differ", "numbers of CPUs differ",
                             "kernel command lines differ", "Linux 6.12", "Example CPU 2"}) {
        EXPECT_NE(warnings.find(what), std::string::npos) << what << warnings;
    }
    EXPECT_NE(run(options).out.find("warning: "), std::string::npos);
}

TEST(CompareTest, TellsDisksAndCpu) {
    const Scratch scratch;
    CompareOptions options;
    options.a = write_set(scratch, "a", 12);
    options.b = write_set(scratch, "b", 13.2);
    const auto json = run_json(options);
    const auto find = [&json](const char* section, const char* name) {
        for (const auto& one : json[section]) {
            if (one["name"] == name) {
                return one;
            }
        }
        return nlohmann::json();
    };
    EXPECT_NEAR(find("disk", "busy")["difference"], 1.2 * 0.8, 0.2);
    EXPECT_GT(find("disk", "bytes read")["difference"], 0);
    EXPECT_GT(find("disk", "throughput")["a"]["mean"], 1e6);
    EXPECT_NEAR(find("cpu", "busy")["difference"], 1.2, 0.2);
    EXPECT_NEAR(find("cpu", "share idle")["a"]["mean"], 1 - 12.0 / 20 / 2, 0.02);
}

}  // namespace
}  // namespace lull::bootchart
