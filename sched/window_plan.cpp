// SPDX-License-Identifier: MIT
#include "sched/window_plan.hpp"

#include <algorithm>

namespace lull::sched {

namespace {

double edge_time(std::size_t edge) {
    return static_cast<double>(GapHistory::edge_of(std::min(edge, GapHistory::kBins - 1)));
}

}  // namespace

Nanoseconds request_length(Nanoseconds elapsed, const WindowCosts& costs) {
    constexpr Nanoseconds kPart = 4;
    return std::clamp(elapsed / kPart, costs.shortest, std::max(costs.shortest, costs.longest));
}

void WindowPlanner::set(const GapHistory::Bins& bins, const WindowCosts& costs) {
    costs_ = costs;
    for (std::size_t bin = GapHistory::kBins; bin-- > 0;) {
        count_[bin] = count_[bin + 1] + bins[bin].count;
        length_[bin] = length_[bin + 1] + bins[bin].length;
        const auto request =
            static_cast<double>(request_length(GapHistory::edge_of(bin), costs)) / 2;
        rest_[bin] = rest_[bin + 1] + bins[bin].count * request;
    }
    total_ = count_[0];
    // A gap that ends on our way to our place costs half of that way on the mean.
    for (std::size_t edge = 0; edge < GapHistory::kBins; ++edge) {
        const Nanoseconds arrived =
            GapHistory::edge_of(edge) + static_cast<Nanoseconds>(costs.approach);
        const std::size_t end = GapHistory::bin_of(arrived);
        first_rest_[edge] = (count_[edge] - count_[end]) * costs.approach / 2;
    }
}

double WindowPlanner::gain_after(std::size_t edge) const {
    return length_[edge] - edge_time(edge) * count_[edge];
}

double WindowPlanner::gain_from(std::size_t edge) const {
    return gain_after(edge) - costs_.approach * count_[edge];
}

double WindowPlanner::cost_from(std::size_t edge) const {
    return rest_[edge] + first_rest_[edge] + costs_.return_seek * count_[edge];
}

WindowPlan WindowPlanner::plan(double price) const {
    WindowPlan best;
    if (total_ <= 0) {
        return best;
    }
    // What is given up by stopping at an edge, and what starting again there would bring; gain and
    // cost fall apart into a part of the start and one of the stop.
    double best_worth = 0;
    double least_given_up = 0;  // never to stop gives up nothing
    std::size_t stop = GapHistory::kBins;
    for (std::size_t start = GapHistory::kBins; start-- > 0;) {
        const double worth = gain_from(start) - cost_from(start) / price - least_given_up;
        if (worth > best_worth) {
            best_worth = worth;
            best.start = GapHistory::edge_of(start);
            const bool stops = stop < GapHistory::kBins;
            best.stop = stops ? GapHistory::edge_of(stop) : kNever;
            best.gain = (gain_from(start) - (stops ? gain_after(stop) : 0)) / total_;
            best.cost = (cost_from(start) - (stops ? rest_[stop] : 0)) / total_;
        }
        const double given_up = gain_after(start) - rest_[start] / price;
        if (given_up < least_given_up) {
            least_given_up = given_up;
            stop = start;
        }
    }
    if (best.stop == kNever) {
        return best;
    }
    double best_again = 0;
    for (std::size_t edge = GapHistory::bin_of(best.stop) + 1; edge < GapHistory::kBins; ++edge) {
        const double worth = gain_from(edge) - cost_from(edge) / price;
        if (worth > best_again || (count_[edge] <= 0 && best.again == kNever)) {
            best_again = std::max(worth, 0.0);
            best.again = GapHistory::edge_of(edge);
        }
    }
    return best;
}

}  // namespace lull::sched
