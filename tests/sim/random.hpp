// SPDX-License-Identifier: MIT
// Seeded numbers that are the same with every standard library: std::mt19937_64 is fixed by the
// standard, its distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace lull::sim {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    /// Uniform in [0, 1).
    double unit() {
        constexpr int kMantissa = 53;
        return static_cast<double>(engine_() >> (64 - kMantissa)) * std::ldexp(1.0, -kMantissa);
    }
    /// Uniform in [low, high).
    double between(double low, double high) { return low + (high - low) * unit(); }
    /// Its logarithm is uniform in [log low, log high). 0 < low.
    double log_between(double low, double high) { return low * std::pow(high / low, unit()); }
    /// Log-normal.
    double log_normal(double median, double sigma) {
        const double radius = std::sqrt(-2 * std::log(1 - unit()));
        return median * std::exp(sigma * radius * std::cos(2 * std::numbers::pi * unit()));
    }
    /// Uniform among 0 .. count - 1. 0 < count.
    std::uint64_t below(std::uint64_t count) { return engine_() % count; }
    bool chance(double probability) { return unit() < probability; }

    template <typename T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i > 1; --i) {
            std::swap(values[i - 1], values[below(i)]);
        }
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace lull::sim
