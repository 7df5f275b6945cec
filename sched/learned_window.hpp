// SPDX-License-Identifier: MIT
// The idle window that is learned: from the gaps of this foreground, within a budget of its time.
// sched/README.md, "When", has the derivation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/foreground.hpp"
#include "sched/gap_history.hpp"
#include "sched/units.hpp"
#include "sched/window_plan.hpp"

namespace lull::sched {

/// Whether an IDLE request may go.
struct Permission {
    Nanoseconds longest = 0;  ///< disk time that it may take; 0: it may not go
    /// When the answer may change without an event; kNever: it cannot.
    Nanoseconds ask_again = kNever;
};

class LearnedWindow {
  public:
    /// `budget`: the part of the foreground's time that it may lose by us.
    explicit LearnedWindow(double budget);

    void disk_changed(bool seeks, Nanoseconds random_service, double ns_per_sector);
    void foreground_arrived(Nanoseconds now);
    void foreground_completed(Nanoseconds now);
    void gap_ended(const Gap& gap, Nanoseconds length, Nanoseconds now);
    void background_sent();
    void background_done(std::uint32_t sectors, Nanoseconds service, Nanoseconds now);

    /// Only while no foreground request is in flight. `near`: our request lies next to where the
    /// foreground read last, so that neither of us has a way to go.
    [[nodiscard]] Permission ask(const std::optional<Gap>& gap, bool near, Nanoseconds now);

    /// What the foreground may still lose now; negative: it lost more than its budget.
    [[nodiscard]] double balance() const { return balance_; }
    /// Of the gaps that are like this one.
    [[nodiscard]] const WindowPlan& plan(const Gap& gap) const;

  private:
    /// Kinds of gaps: by what ended, whether by a new task, and how long the gap before was.
    static constexpr std::size_t kEndings = 3;
    static constexpr std::size_t kPrevious = 3;
    static constexpr std::size_t kContexts = kEndings * 2 * kPrevious;

    struct Context {
        Context();
        GapHistory history;
        double recent = 0;  ///< share among the last gaps, decayed
        WindowPlan plan;
        WindowPlan near_plan;  ///< for a request next to where the foreground read
        WindowPlanner planner;
    };
    /// A mean of what was measured; the first values count more than one in kShare.
    struct Mean {
        void add(double value);
        double value = 0;
        double count = 0;
    };

    [[nodiscard]] static std::size_t context_of(const Gap& gap);
    [[nodiscard]] static bool is_sequential(std::size_t context);
    [[nodiscard]] WindowCosts costs_of(std::size_t context) const;
    [[nodiscard]] double return_seek(bool sequential) const;
    void accrue(Nanoseconds now, Nanoseconds most);
    [[nodiscard]] double cap() const;
    [[nodiscard]] GapHistory::Bins blended(std::size_t context) const;
    void make_plans();

    double budget_;
    bool seeks_ = true;
    Nanoseconds random_service_ = 10 * kMillisecond;
    double ns_per_sector_ = 5000;

    GapHistory all_;
    std::vector<Context> contexts_;
    WindowPlanner near_planner_;
    Mean time_per_gap_;
    std::uint32_t gaps_since_plans_ = 0;
    std::uint64_t gaps_ = 0;

    /// What the foreground's first request after a gap takes, by whether it was sequential before,
    /// and whether we ran in the gap.
    std::array<std::array<Mean, 2>, 2> first_service_;
    Mean approach_;
    double balance_ = 0;
    Nanoseconds accrued_at_ = -1;

    // The gap that is open, or has just ended.
    bool ran_ = false;  ///< we sent in this gap
    std::uint32_t in_flight_ = 0;
    bool met_ = false;
    Nanoseconds met_at_ = 0;
    Nanoseconds free_at_ = 0;  ///< our last request left the disk
    bool first_pending_ = false;
    bool first_after_ours_ = false;
    bool first_sequential_ = false;
    Nanoseconds first_arrived_ = 0;
    Nanoseconds last_gap_end_ = -1;
};

}  // namespace lull::sched
