// SPDX-License-Identifier: MIT
#include "tests/sim/gaps.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/sim/clairvoyant.hpp"
#include "tests/sim/foregrounds.hpp"
#include "tests/sim/kernel_rules.hpp"
#include "tests/sim/window_rule.hpp"

namespace lull::sim {

namespace {

const std::string kFixed = "fixed_";

Foreground make_case(const std::string& name, const CaseOptions& options,
                     const sched::DiskTraits& traits) {
    for (const StartUp& program : start_ups()) {
        if (program.name == name) {
            return start_up(program, options);
        }
    }
    if (name == "find_cat") {
        return find_and_cat(options);
    }
    if (name == "steady_30") {
        return steady(options, traits.random_service);
    }
    if (name == "on_off") {
        return on_off(options);
    }
    throw std::invalid_argument("no such case: " + name);
}

/// The windows that hindsight may choose: 0, and 50 us to 300 ms in steps of a fifth.
std::vector<Nanoseconds> window_ladder() {
    constexpr double kShortest = 0.05;  // ms
    constexpr double kLongest = 300;
    constexpr double kStep = 1.2;
    std::vector<Nanoseconds> windows{0};
    double window = kShortest;
    while (window <= kLongest) {
        windows.push_back(milliseconds(window));
        window *= kStep;
    }
    return windows;
}

}  // namespace

const std::vector<std::string>& case_names() {
    static const std::vector<std::string> names{"gnometerm", "lowriter",  "xterm",
                                                "find_cat",  "steady_30", "on_off"};
    return names;
}

const std::vector<std::string>& rule_names() {
    static const std::vector<std::string> names{
        "cfq_2_6_35", "bfq",     "mq_deadline", "fixed_1",    "fixed_2",
        "fixed_4",    "fixed_8", "fixed_16",    "fixed_30",   "fixed_50",
        "fixed_100",  "learned", "hindsight",   "clairvoyant"};
    return names;
}

const RuleResult& CaseResult::of(const std::string& rule) const {
    const auto found = std::find_if(rules.begin(), rules.end(),
                                    [&rule](const RuleResult& one) { return one.rule == rule; });
    if (found == rules.end()) {
        throw std::invalid_argument("no such rule: " + rule);
    }
    return *found;
}

Experiment::Experiment(const std::string& case_name, const std::string& profile, std::uint64_t seed)
    : disk_{.profile = profile}, traits_(traits_of(disk_)) {
    foreground_ = make_case(case_name, {.sectors = disk_.sectors, .seed = seed}, traits_);
    background_ = {.first = 0, .end = disk_.sectors, .seed = seed + 1000};
    for (std::uint32_t sectors = Background::kLongest; sectors >= 32; sectors /= 2) {
        speeds_.push_back(
            {sectors, background_ns_per_sector(disk_, background_, traits_.idle_depth, sectors)});
    }
    best_ = *std::min_element(speeds_.begin(), speeds_.end(), [](const Speed& a, const Speed& b) {
        return a.ns_per_sector < b.ns_per_sector;
    });
    Alone nobody;
    alone_ = simulate(foreground_, disk_, nobody, background_);
}

RuleResult Experiment::result(const std::string& name, const Outcome& outcome,
                              const Outcome& alone) const {
    return {name, static_cast<double>(outcome.work) / static_cast<double>(alone.work),
            static_cast<double>(outcome.background_sectors) * best_.ns_per_sector /
                static_cast<double>(alone_.idle),
            outcome.violations};
}

RuleResult Experiment::run(const std::string& name, Rule& rule) const {
    return result(name, simulate(foreground_, disk_, rule, background_), alone_);
}

ArbiterOptions Experiment::arbiter_options(const std::string& rule) const {
    ArbiterOptions options{.gate = {}, .disk = traits_};
    if (rule.rfind(kFixed, 0) == 0) {
        options.gate.rule = sched::GateRule::kFixed;
        options.gate.fixed_window = std::stoi(rule.substr(kFixed.size())) * kMillisecond;
        // As published for such disks: 256 KiB to 1 MiB where a way costs more than the data.
        constexpr std::uint32_t kOnHardDisk = 1024;
        constexpr std::uint32_t kOnFlash = 256;
        options.sectors = traits_.seeks ? kOnHardDisk : kOnFlash;
    }
    return options;
}

RuleResult Experiment::run(const std::string& rule) const {
    if (const auto kernel = make_kernel_rule(rule, traits_.seeks)) {
        // The same scheduler without a background is what the user would compare with.
        const auto same = make_kernel_rule(rule, traits_.seeks);
        WithoutBackground quiet(*same);
        const Outcome alone = simulate(foreground_, disk_, quiet, background_);
        return result(rule, simulate(foreground_, disk_, *kernel, background_), alone);
    }
    if (rule != "learned" && rule.rfind(kFixed, 0) != 0) {
        throw std::invalid_argument("no such rule: " + rule);
    }
    ArbiterRule arbiter(arbiter_options(rule));
    return run(rule, arbiter);
}

RuleResult Experiment::fixed(Nanoseconds window, std::uint32_t sectors) const {
    WindowRule rule({.window = window, .sectors = sectors, .depth = traits_.idle_depth});
    return run("hindsight", rule);
}

RuleResult Experiment::hindsight(FixedChoice& choice) const {
    const std::vector<Nanoseconds> windows = window_ladder();
    RuleResult best{.rule = "hindsight"};
    for (const Speed& speed : speeds_) {
        // A size can bring no more than its own speed allows, however short the window.
        if (best.background_share_of_idle >= best_.ns_per_sector / speed.ns_per_sector) {
            continue;
        }
        // The shortest window within the budget: what a shorter one wins it pays for.
        std::size_t low = 0;
        std::size_t high = windows.size();
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            const RuleResult one = fixed(windows[middle], speed.sectors);
            if (one.foreground_slowdown > 1 + kBudget) {
                low = middle + 1;
                continue;
            }
            high = middle;
            if (one.background_share_of_idle > best.background_share_of_idle) {
                best = one;
                choice = {windows[middle], speed.sectors};
            }
        }
    }
    return best;
}

RuleResult Experiment::clairvoyant() const {
    const auto at_price = [this](double price) {
        Clairvoyant rule({.depth = traits_.idle_depth, .sectors = best_.sectors, .price = price});
        return run("clairvoyant", rule);
    };
    constexpr double kAnyPrice = 1e12;
    RuleResult best = at_price(kAnyPrice);
    if (best.foreground_slowdown <= 1 + kBudget) {
        return best;
    }
    best = at_price(0);
    double low = 1;  // ns a sector
    double high = 1e7;
    constexpr int kHalvings = 12;
    for (int i = 0; i < kHalvings; ++i) {
        const double price = std::sqrt(low * high);
        const RuleResult one = at_price(price);
        if (one.foreground_slowdown > 1 + kBudget) {
            high = price;
            continue;
        }
        low = price;
        if (one.background_share_of_idle > best.background_share_of_idle) {
            best = one;
        }
    }
    return best;
}

CaseResult Experiment::all() const {
    CaseResult all;
    all.alone = alone_;
    for (const std::string& rule : rule_names()) {
        all.rules.push_back(rule == "hindsight"     ? hindsight(all.hindsight)
                            : rule == "clairvoyant" ? clairvoyant()
                                                    : run(rule));
    }
    return all;
}

}  // namespace lull::sim
