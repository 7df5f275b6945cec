// SPDX-License-Identifier: MIT
// What background reading gets of a disk's idle time, and what that costs the foreground, under
// each rule: `./dev bench gaps [--json] [--svg FILE]`. In simulated time, the same on each machine.
#include "tests/sim/gaps.hpp"

#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/bench/gaps_figure.hpp"

namespace lull::bench {
namespace {

using sim::CaseResult;
using sim::RuleResult;

const std::vector<std::string> kProfiles{"hdd-7200", "sata-ssd", "nvme"};

/// By profile and case.
using Results = std::map<std::pair<std::string, std::string>, CaseResult>;

/// All experiments, as many at a time as there are processors: each is alone with its own models.
Results run_all(const std::vector<std::string>& profiles, const std::vector<std::string>& cases) {
    std::vector<std::pair<std::string, std::string>> work;
    for (const std::string& profile : profiles) {
        for (const std::string& name : cases) {
            work.emplace_back(profile, name);
        }
    }
    Results results;
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    {
        std::vector<std::jthread> workers;
        for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
            workers.emplace_back([&] {
                // From the end: the fastest disk takes the longest.
                for (std::size_t done = next++; done < work.size(); done = next++) {
                    const auto& [profile, name] = work[work.size() - 1 - done];
                    CaseResult result = sim::Experiment(name, profile).all();
                    const std::lock_guard lock(mutex);
                    fmt::print(stderr, "bench: {} on {}\n", name, profile);
                    results[{profile, name}] = std::move(result);
                }
            });
        }
    }
    return results;
}

/// Where the learned rule stands between the best fixed one (0) and the ceiling (1). Nothing where
/// these are less than two percent of the idle time apart.
std::optional<double> way_to_ceiling(const CaseResult& result) {
    const double fixed = result.of("hindsight").background_share_of_idle;
    const double ceiling = result.of("clairvoyant").background_share_of_idle;
    const double learned = result.of("learned").background_share_of_idle;
    constexpr double kNoWay = 0.02;
    return ceiling - fixed >= kNoWay ? std::optional((learned - fixed) / (ceiling - fixed))
                                     : std::nullopt;
}

double of_hindsight(const CaseResult& result) {
    const double fixed = result.of("hindsight").background_share_of_idle;
    const double learned = result.of("learned").background_share_of_idle;
    // Less than a percent of the idle time is nothing that could be used.
    constexpr double kNothing = 0.01;
    return fixed > kNothing ? learned / fixed : 1;
}

nlohmann::ordered_json json_of(const Results& results) {
    nlohmann::ordered_json json;
    for (const auto& [key, result] : results) {
        const auto& [profile, name] = key;
        for (const RuleResult& rule : result.rules) {
            json["cases"][name][profile][rule.rule] = {
                {"foreground_slowdown", rule.foreground_slowdown},
                {"background_share_of_idle", rule.background_share_of_idle},
                {"violations", rule.violations}};
        }
        json["hindsight"][name][profile] = {
            {"window_ms", static_cast<double>(result.hindsight.window) / sim::kMillisecond},
            {"kib", result.hindsight.sectors / 2}};
        json["summary"][name][profile] = {
            {"foreground_run_s", static_cast<double>(result.alone.work) / sim::kSecond},
            {"idle_s", static_cast<double>(result.alone.idle) / sim::kSecond},
            {"learned_of_hindsight", of_hindsight(result)},
            {"way_from_hindsight_to_clairvoyant", nullptr}};
        if (const auto way = way_to_ceiling(result)) {
            json["summary"][name][profile]["way_from_hindsight_to_clairvoyant"] = *way;
        }
    }
    return json;
}

std::string cell(const RuleResult& rule) {
    constexpr double kTwoDigits = 10;
    const std::string slowdown = rule.foreground_slowdown < kTwoDigits
                                     ? fmt::format("{:.3f}", rule.foreground_slowdown)
                                     : fmt::format("{:.2f}", rule.foreground_slowdown);
    const std::string share = rule.background_share_of_idle < kTwoDigits
                                  ? fmt::format("{:.2f}", rule.background_share_of_idle)
                                  : fmt::format("{:.0f}", rule.background_share_of_idle);
    return fmt::format("{:>5} {:>4}", slowdown, share);
}

std::string choice(const sim::FixedChoice& fixed) {
    if (fixed.sectors == 0) {
        return "-";
    }
    const double window = static_cast<double>(fixed.window) / sim::kMillisecond;
    constexpr double kFewDigits = 10;
    return fmt::format("{:.{}f} {}K", window, window < kFewDigits ? 1 : 0, fixed.sectors / 2);
}

/// One line: a value for each case.
template <typename Value>
void row(const std::string& label, const std::vector<const CaseResult*>& cases, Value value) {
    fmt::print("{:<13}", label);
    for (const CaseResult* result : cases) {
        fmt::print(" {:>10}", value(*result));
    }
    fmt::print("\n");
}

void print_text(const Results& results, const std::vector<std::string>& profiles,
                const std::vector<std::string>& names) {
    fmt::print(
        "Beside a foreground: its run time (alone = 1), and the part of its idle time that\n"
        "an unlimited background makes use of. Budget of the last three rules: 1 %.\n");
    for (const std::string& profile : profiles) {
        std::vector<const CaseResult*> cases;
        fmt::print("\n{:<13}", profile);
        for (const std::string& name : names) {
            fmt::print(" {:>10}", name);
            cases.push_back(&results.at({profile, name}));
        }
        fmt::print("\n");
        for (const std::string& rule : sim::rule_names()) {
            row(rule, cases, [&rule](const CaseResult& result) { return cell(result.of(rule)); });
        }
        row("best: ms, KiB", cases,
            [](const CaseResult& result) { return choice(result.hindsight); });
        row("learned/best", cases,
            [](const CaseResult& result) { return fmt::format("{:.2f}", of_hindsight(result)); });
        row("way to top", cases, [](const CaseResult& result) {
            const auto way = way_to_ceiling(result);
            return way ? fmt::format("{:.0f} %", 100 * *way) : std::string("-");
        });
    }
    fmt::print(
        "\nmq_deadline and bfq: the background keeps 32 requests of 128 KiB queued, as a replay\n"
        "does, and the device takes them all. best: what hindsight chose. way to top: of the\n"
        "way from hindsight to clairvoyant, what learned goes.\n");
}

struct Options {
    bool json = false;
    std::string svg;
    std::vector<std::string> profiles = kProfiles;
    std::vector<std::string> cases = sim::case_names();
};

int bench(const Options& options) {
    const Results results = run_all(options.profiles, options.cases);
    if (!options.svg.empty()) {
        std::vector<Panel> panels;
        for (const std::string& name : options.cases) {
            panels.push_back({name, results.at({options.profiles.front(), name})});
        }
        std::ofstream file(options.svg);
        file << gaps_figure(options.profiles.front(), panels);
        if (!file.flush()) {
            fmt::print(stderr, "bench: cannot write {}\n", options.svg);
            return 1;
        }
    }
    if (options.json) {
        fmt::print("{}\n", json_of(results).dump(2));
    } else {
        print_text(results, options.profiles, options.cases);
    }
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app{"What background reading gets of a disk's idle time", "gaps"};
    Options options;
    app.add_flag("--json", options.json, "for machines");
    app.add_option("--svg", options.svg, "also draw the first profile into this file");
    app.add_option("--profile", options.profiles, "only these disks")
        ->check(CLI::IsMember(disk::profile_names()));
    app.add_option("--case", options.cases, "only these")->check(CLI::IsMember(sim::case_names()));
    CLI11_PARSE(app, argc, argv);
    return bench(options);
}

}  // namespace
}  // namespace lull::bench

int main(int argc, char** argv) {
    try {
        return lull::bench::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
    } catch (...) {
        std::fputs("bench: an unknown exception\n", stderr);
    }
    return 1;
}
