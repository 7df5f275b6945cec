// SPDX-License-Identifier: MIT
#include "sched/learned_window.hpp"

#include <algorithm>
#include <cmath>

namespace lull::sched {

namespace {

/// Gaps after which what was is worth 1/e: some start-ups of a program, a minute of steady work.
constexpr double kMemory = 512;
/// So many gaps of the general history stand in for what is not known of a kind.
constexpr double kBorrowed = 16;
/// Plans are made again after so many gaps, of the first few after each: it costs some ten
/// microseconds.
constexpr std::uint32_t kPlanEvery = 64;
constexpr std::uint32_t kPlanAlways = 32;
/// A gap counts for no more foreground time than this: nobody is slowed down while away.
constexpr Nanoseconds kLongestCounted = 2 * kSecond;
/// The budget that may be saved up, in collisions.
constexpr double kSaved = 8;
/// Gaps that begin a history of nothing: spread evenly over the doublings from 1 ms to 1 s.
constexpr double kPrior = 16;
constexpr double kShare = 16;

}  // namespace

LearnedWindow::Context::Context() : history(kMemory / 2) {}

void LearnedWindow::Mean::add(double next) {
    count = std::min(count + 1, kShare);
    value += (next - value) / count;
}

LearnedWindow::LearnedWindow(double budget) : budget_(budget), all_(kMemory), contexts_(kContexts) {
    constexpr int kPriorGaps = 40;
    constexpr double kStep = 1.1885;  // 1.1885^40 = 1000
    double gap = static_cast<double>(kMillisecond);
    for (int i = 0; i < kPriorGaps; ++i) {
        all_.add(static_cast<Nanoseconds>(gap), kPrior / kPriorGaps);
        gap *= kStep;
    }
    time_per_gap_.value = static_cast<double>(20 * kMillisecond);
    make_plans();
}

void LearnedWindow::disk_changed(bool seeks, Nanoseconds random_service, double ns_per_sector) {
    seeks_ = seeks;
    random_service_ = random_service;
    ns_per_sector_ = ns_per_sector;
    first_service_ = {};
    approach_ = {};
    balance_ = std::min(balance_, cap());
    make_plans();
}

std::size_t LearnedWindow::context_of(const Gap& gap) {
    constexpr Nanoseconds kShort = 2 * kMillisecond;
    constexpr Nanoseconds kMiddle = 16 * kMillisecond;
    const std::size_t ending = gap.last.kind != ForegroundIo::Kind::kRead ? 2
                               : gap.sequential                           ? 0
                                                                          : 1;
    const std::size_t previous = gap.previous < kShort ? 0 : gap.previous < kMiddle ? 1 : 2;
    return (ending * 2 + (gap.new_task ? 1 : 0)) * kPrevious + previous;
}

bool LearnedWindow::is_sequential(std::size_t context) {
    return context / kPrevious / 2 == 0;
}

double LearnedWindow::return_seek(bool sequential) const {
    if (!seeks_) {
        return 0;
    }
    const Mean& disturbed = first_service_[sequential ? 1 : 0][1];
    const Mean& usual = first_service_[sequential ? 1 : 0][0];
    // Before enough was measured: a sequential reader loses a whole seek, one that jumps about only
    // what our place is further away than its own.
    constexpr double kEnough = 4;
    const double expected = static_cast<double>(random_service_) * (sequential ? 0.9 : 0.3);
    if (disturbed.count < kEnough || usual.count < kEnough) {
        return expected;
    }
    return std::max(disturbed.value - usual.value, 0.0);
}

WindowCosts LearnedWindow::costs_of(std::size_t context) const {
    constexpr double kEnough = 2;
    const double approach =
        approach_.count >= kEnough ? approach_.value : static_cast<double>(random_service_);
    constexpr std::uint32_t kSmallest = 128;  // 64 KiB
    constexpr Nanoseconds kLongest = 50 * kMillisecond;
    const auto shortest = static_cast<Nanoseconds>(ns_per_sector_ * kSmallest);
    return {approach, return_seek(is_sequential(context)), shortest, std::max(shortest, kLongest)};
}

double LearnedWindow::cap() const {
    return kSaved * (static_cast<double>(random_service_) + return_seek(true));
}

void LearnedWindow::accrue(Nanoseconds now, Nanoseconds most) {
    if (accrued_at_ >= 0) {
        balance_ += budget_ * static_cast<double>(std::min(now - accrued_at_, most));
        balance_ = std::min(balance_, cap());
    }
    accrued_at_ = now;
}

void LearnedWindow::gap_ended(const Gap& gap, Nanoseconds length, Nanoseconds now) {
    const std::size_t context = context_of(gap);
    all_.add(length);
    contexts_[context].history.add(length);
    for (Context& each : contexts_) {
        each.recent *= 1 - 1 / kMemory;
    }
    contexts_[context].recent += 1;
    if (last_gap_end_ >= 0) {
        time_per_gap_.count = std::min(time_per_gap_.count, kMemory);
        const auto time = static_cast<double>(std::min(now - last_gap_end_, kLongestCounted));
        ++time_per_gap_.count;
        time_per_gap_.value += (time - time_per_gap_.value) / (time_per_gap_.count + kPrior);
    }
    last_gap_end_ = now;
    accrue(now, kLongestCounted);
    if (ran_) {
        balance_ -= return_seek(is_sequential(context));
    }
    first_pending_ = true;
    first_after_ours_ = ran_;
    first_sequential_ = is_sequential(context);
    first_arrived_ = now;
    if (in_flight_ > 0) {
        met_ = true;
        met_at_ = now;
    }
    ran_ = false;
    ++gaps_;
    ++gaps_since_plans_;
}

void LearnedWindow::foreground_arrived(Nanoseconds now) {
    if (accrued_at_ < 0) {
        accrued_at_ = now;
    }
}

void LearnedWindow::foreground_completed(Nanoseconds now) {
    if (first_pending_) {
        first_pending_ = false;
        const Nanoseconds begun = std::max(first_arrived_, std::min(free_at_, now));
        first_service_[first_sequential_ ? 1 : 0][first_after_ours_ ? 1 : 0].add(
            static_cast<double>(now - begun));
    }
}

void LearnedWindow::background_sent() {
    ++in_flight_;
}

void LearnedWindow::background_done(std::uint32_t sectors, Nanoseconds service, Nanoseconds now) {
    if (in_flight_ == 0) {
        return;
    }
    --in_flight_;
    free_at_ = now;
    if (met_) {
        balance_ -= static_cast<double>(now - met_at_);
        met_ = in_flight_ > 0;
        met_at_ = now;
        first_after_ours_ = true;
    } else if (!ran_) {
        approach_.add(std::max(static_cast<double>(service) - ns_per_sector_ * sectors, 0.0));
    }
    ran_ = !first_pending_;
}

/// What is known of a kind of gap, with as much of the general history as it takes to begin with.
GapHistory::Bins LearnedWindow::blended(std::size_t context) const {
    GapHistory::Bins bins = contexts_[context].history.bins();
    const double borrowed = kBorrowed / std::max(all_.total(), 1.0);
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
        bins[bin].count += borrowed * all_.bins()[bin].count;
        bins[bin].length += borrowed * all_.bins()[bin].length;
    }
    return bins;
}

/// Finds the price at which the expected cost of all kinds of gaps together is what the budget
/// allows, and makes all plans at that price.
void LearnedWindow::make_plans() {
    gaps_since_plans_ = 0;
    // What was saved up may be spent, what was overspent is saved.
    const double allowed =
        budget_ * time_per_gap_.value * std::clamp(0.9 + balance_ / cap(), 0.05, 1.5);
    double recent = 0;
    for (std::size_t i = 0; i < kContexts; ++i) {
        contexts_[i].planner.set(blended(i), costs_of(i));
        recent += contexts_[i].recent;
    }
    const auto cost_at = [&](double price) {
        double cost = 0;
        for (const Context& context : contexts_) {
            const double share = recent > 0 ? context.recent / recent : 1.0 / kContexts;
            cost += share * context.planner.plan(price).cost;
        }
        return cost;
    };
    double low = 1e-4;
    double high = 1e2;
    constexpr int kSteps = 16;
    for (int step = 0; step < kSteps; ++step) {
        const double middle = std::sqrt(low * high);
        (cost_at(middle) <= allowed ? low : high) = middle;
    }
    for (std::size_t i = 0; i < kContexts; ++i) {
        contexts_[i].plan = contexts_[i].planner.plan(low);
        WindowCosts near = costs_of(i);
        near.approach = near.return_seek = 0;
        near_planner_.set(blended(i), near);
        contexts_[i].near_plan = near_planner_.plan(low);
    }
}

const WindowPlan& LearnedWindow::plan(const Gap& gap) const {
    return contexts_[context_of(gap)].plan;
}

Permission LearnedWindow::ask(const std::optional<Gap>& gap, bool near, Nanoseconds now) {
    if (!gap) {
        return {50 * kMillisecond, kNever};
    }
    const std::size_t context = context_of(*gap);
    const WindowCosts costs = costs_of(context);
    const Nanoseconds elapsed = now - gap->begin;
    // So long a gap is none of this foreground's habits: it is away.
    if (elapsed >= kLongestCounted) {
        return {costs.longest, kNever};
    }
    if (gaps_since_plans_ >= kPlanEvery || (gaps_since_plans_ > 0 && gaps_ < kPlanAlways)) {
        make_plans();
    }
    accrue(now, kLongestCounted);
    if (balance_ < 0) {
        const auto recovers = static_cast<Nanoseconds>(-balance_ / budget_) + 1;
        return {0, std::min(now + recovers, gap->begin + kLongestCounted)};
    }
    const WindowPlan& plan = near ? contexts_[context].near_plan : contexts_[context].plan;
    const Nanoseconds away = gap->begin + kLongestCounted;
    if (plan.start == kNever || elapsed < plan.start) {
        return {0, plan.start == kNever ? away : std::min(away, gap->begin + plan.start)};
    }
    Nanoseconds longest = request_length(elapsed, costs);
    if (plan.stop != kNever && (plan.again == kNever || elapsed < plan.again)) {
        const Nanoseconds way = ran_ ? 0 : static_cast<Nanoseconds>(costs.approach);
        const Nanoseconds left = plan.stop - elapsed - way;
        if (left < costs.shortest) {
            return {0, plan.again == kNever ? away : std::min(away, gap->begin + plan.again)};
        }
        longest = std::min(longest, left);
    }
    return {longest + (ran_ ? 0 : static_cast<Nanoseconds>(costs.approach)), kNever};
}

}  // namespace lull::sched
