// SPDX-License-Identifier: MIT
// The table of `./dev bench gaps`: one case on one disk under each rule.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/arbiter_rule.hpp"
#include "tests/sim/simulator.hpp"

namespace lull::sim {

inline constexpr double kBudget = 0.01;  ///< of the foreground's run time

/// Names of cases: gnometerm, lowriter, xterm, find_cat, steady_30, on_off.
[[nodiscard]] const std::vector<std::string>& case_names();
/// Names of rules, in the order of the table.
[[nodiscard]] const std::vector<std::string>& rule_names();

struct RuleResult {
    std::string rule;
    double foreground_slowdown = 1;  ///< run time of its own work beside the background / alone
    /// The background's progress: the time in which it would have done as much alone, at its best
    /// size, per idle time of the foreground alone. More than 1 where it takes more than the idle
    /// time.
    double background_share_of_idle = 0;
    std::uint64_t violations = 0;
};

/// What hindsight chose.
struct FixedChoice {
    Nanoseconds window = 0;
    std::uint32_t sectors = 0;  ///< 0: nothing was within the budget
};

struct CaseResult {
    Outcome alone;
    std::vector<RuleResult> rules;
    FixedChoice hindsight;

    [[nodiscard]] const RuleResult& of(const std::string& rule) const;
};

/// One case on one disk: holds what all rules share.
class Experiment {
  public:
    /// Throws std::invalid_argument for an unknown case or profile.
    Experiment(const std::string& case_name, const std::string& profile, std::uint64_t seed = 1);

    [[nodiscard]] const Outcome& alone() const { return alone_; }
    /// Any rule but hindsight and clairvoyant.
    [[nodiscard]] RuleResult run(const std::string& rule) const;
    /// Any rule, against the foreground alone with no scheduler at all.
    [[nodiscard]] RuleResult run(const std::string& name, Rule& rule) const;
    /// The fixed window and size that serve the background best at no more than the budget.
    [[nodiscard]] RuleResult hindsight(FixedChoice& choice) const;
    [[nodiscard]] RuleResult clairvoyant() const;
    [[nodiscard]] CaseResult all() const;

    [[nodiscard]] const DiskOptions& disk() const { return disk_; }
    [[nodiscard]] const sched::DiskTraits& traits() const { return traits_; }
    /// The options of "learned" or of a "fixed_N".
    [[nodiscard]] ArbiterOptions arbiter_options(const std::string& rule) const;

  private:
    [[nodiscard]] RuleResult fixed(Nanoseconds window, std::uint32_t sectors) const;
    [[nodiscard]] RuleResult result(const std::string& name, const Outcome& outcome,
                                    const Outcome& alone) const;

    DiskOptions disk_;
    sched::DiskTraits traits_;
    Foreground foreground_;
    BackgroundOptions background_;
    /// The background alone, by the size of its requests, the largest first.
    struct Speed {
        std::uint32_t sectors = 0;
        double ns_per_sector = 0;
    };
    std::vector<Speed> speeds_;
    Speed best_;
    Outcome alone_;
};

}  // namespace lull::sim
