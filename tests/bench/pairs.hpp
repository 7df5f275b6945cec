// SPDX-License-Identifier: MIT
// Paired measurements: each pair is one run with and one without, close together in time, so that
// what the machine does meanwhile hits both.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/result.hpp"

namespace lull::bench {

/// Median and quartiles.
struct Spread {
    double median = 0;
    double low = 0;
    double high = 0;
};

/// `values` must not be empty.
inline Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&values](double part) {
        return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) +
                                               0.5)];
    };
    constexpr double kQuarter = 0.25;
    return {at(2 * kQuarter), at(kQuarter), at(3 * kQuarter)};
}

struct Pair {
    double without = 0;
    double with = 0;
};

/// Runs `measure(true)` and `measure(false)` `count` times each, in alternating order.
inline Result<std::vector<Pair>> run_pairs(
    std::size_t count, const std::function<Result<double>(bool with)>& measure) {
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < count; ++i) {
        const bool with_first = i % 2 == 1;
        const auto first = measure(with_first);
        if (!first) {
            return first.error();
        }
        const auto second = measure(!with_first);
        if (!second) {
            return second.error();
        }
        pairs.push_back(with_first ? Pair{*second, *first} : Pair{*first, *second});
    }
    return pairs;
}

inline Spread differences(const std::vector<Pair>& pairs) {
    std::vector<double> values;
    for (const Pair& pair : pairs) {
        values.push_back(pair.with - pair.without);
    }
    return spread_of(std::move(values));
}

/// By how many percent `with` is more than `without`.
inline Spread percents(const std::vector<Pair>& pairs) {
    constexpr double kPercent = 100;
    std::vector<double> values;
    for (const Pair& pair : pairs) {
        values.push_back((pair.with / pair.without - 1) * kPercent);
    }
    return spread_of(std::move(values));
}

}  // namespace lull::bench
