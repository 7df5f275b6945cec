// SPDX-License-Identifier: MIT
#include "bootchart/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace lull::bootchart {
namespace {

Interval welch(const Difference& difference, double resolution, double confidence) {
    const auto squared_error = [resolution](const Spread& spread) {
        const double deviation = std::max(spread.deviation, resolution / std::sqrt(12.0));
        return deviation * deviation / static_cast<double>(spread.count);
    };
    const double a = squared_error(difference.a);
    const double b = squared_error(difference.b);
    if (!(a + b > 0)) {
        return {difference.absolute, difference.absolute};
    }
    const auto freedom = [](const Spread& spread) { return static_cast<double>(spread.count - 1); };
    const double degrees =
        (a + b) * (a + b) / (a * a / freedom(difference.a) + b * b / freedom(difference.b));
    const boost::math::students_t distribution(degrees);
    const double reach =
        boost::math::quantile(distribution, (1 + confidence) / 2) * std::sqrt(a + b);
    return {difference.absolute - reach, difference.absolute + reach};
}

}  // namespace

Spread spread_of(std::vector<double> values) {
    Spread spread;
    if (values.empty()) {
        return spread;
    }
    std::sort(values.begin(), values.end());
    const auto count = static_cast<double>(values.size());
    const std::size_t middle = values.size() / 2;
    spread.count = values.size();
    spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    spread.median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    spread.lowest = values.front();
    spread.highest = values.back();
    if (values.size() > 1) {
        double sum = 0;
        for (const double value : values) {
            sum += (value - spread.mean) * (value - spread.mean);
        }
        spread.deviation = std::sqrt(sum / (count - 1));
    }
    return spread;
}

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::kFaster:
            return "faster";
        case Verdict::kSlower:
            return "slower";
        case Verdict::kNoDifference:
            break;
    }
    return "no difference";
}

Verdict Difference::verdict() const {
    if (!interval) {
        return Verdict::kNoDifference;
    }
    if (interval->high < 0) {
        return Verdict::kFaster;
    }
    return interval->low > 0 ? Verdict::kSlower : Verdict::kNoDifference;
}

Difference difference_of(const std::vector<double>& a, const std::vector<double>& b,
                         double resolution, double confidence) {
    Difference difference;
    difference.a = spread_of(a);
    difference.b = spread_of(b);
    difference.absolute = difference.b.mean - difference.a.mean;
    if (difference.a.mean > 0) {
        difference.relative = difference.absolute / difference.a.mean;
    }
    if (a.size() > 1 && b.size() > 1) {
        difference.interval = welch(difference, resolution, confidence);
    }
    return difference;
}

}  // namespace lull::bootchart
