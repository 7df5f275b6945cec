// SPDX-License-Identifier: MIT
// A distribution given by a few published percentiles: between them the logarithm of the value is
// linear in the probability.
#pragma once

#include <cmath>
#include <vector>

#include "tests/sim/random.hpp"

namespace lull::sim {

struct Percentile {
    double share = 0;  ///< 0..1
    double value = 0;  ///< > 0
};

/// The value at `share`; `points` in order, the first at 0, the last at 1.
[[nodiscard]] inline double quantile(const std::vector<Percentile>& points, double share) {
    std::size_t after = 1;
    while (after + 1 < points.size() && points[after].share < share) {
        ++after;
    }
    const Percentile& low = points[after - 1];
    const Percentile& high = points[after];
    return low.value *
           std::pow(high.value / low.value, (share - low.share) / (high.share - low.share));
}

/// `count` values in random order that have these percentiles exactly, whatever the seed.
[[nodiscard]] inline std::vector<double> spread_over(const std::vector<Percentile>& points,
                                                     std::size_t count, Random& random) {
    std::vector<double> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        constexpr double kMiddle = 0.5;
        values.push_back(
            quantile(points, (static_cast<double>(i) + kMiddle) / static_cast<double>(count)));
    }
    random.shuffle(values);
    return values;
}

}  // namespace lull::sim
