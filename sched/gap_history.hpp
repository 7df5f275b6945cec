// SPDX-License-Identifier: MIT
// How long the gaps of a foreground are: a histogram that forgets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sched/units.hpp"

namespace lull::sched {

/// Four bins to each doubling, from 16 us to 17 s; what is shorter or longer counts in the first
/// or the last.
class GapHistory {
  public:
    static constexpr std::size_t kPerDoubling = 4;
    static constexpr int kLowest = 14;  ///< 2^14 ns
    static constexpr int kDoublings = 20;
    static constexpr std::size_t kBins = 1 + kPerDoubling * kDoublings;

    /// Of each bin, decayed: how many gaps, and how long they were together.
    struct Bin {
        double count = 0;
        double length = 0;
    };
    using Bins = std::array<Bin, kBins>;

    /// What was is worth 1 - 1/`memory` as much with each gap.
    explicit GapHistory(double memory) : keep_(1 - 1 / memory) {}

    void add(Nanoseconds gap, double count = 1) {
        total_ = 0;
        for (Bin& bin : bins_) {
            bin.count *= keep_;
            bin.length *= keep_;
            total_ += bin.count;
        }
        Bin& bin = bins_[bin_of(gap)];
        bin.count += count;
        bin.length += count * static_cast<double>(gap);
        total_ += count;
    }

    [[nodiscard]] const Bins& bins() const { return bins_; }
    [[nodiscard]] double total() const { return total_; }

    [[nodiscard]] static std::size_t bin_of(Nanoseconds gap) {
        if (gap < Nanoseconds{1} << kLowest) {
            return 0;
        }
        const auto length = static_cast<std::uint64_t>(gap);
        const int top = std::bit_width(length) - 1;
        if (top >= kLowest + kDoublings) {
            return kBins - 1;
        }
        const std::uint64_t quarter = length >> (top - 2) & 3U;
        return 1 + static_cast<std::size_t>(top - kLowest) * kPerDoubling + quarter;
    }
    /// Where the bin begins.
    [[nodiscard]] static Nanoseconds edge_of(std::size_t bin) {
        if (bin == 0) {
            return 0;
        }
        const std::size_t doubling = (bin - 1) / kPerDoubling;
        const auto quarter = static_cast<Nanoseconds>((bin - 1) % kPerDoubling);
        return (Nanoseconds{4} + quarter) << (kLowest - 2 + static_cast<int>(doubling));
    }

  private:
    double keep_;
    double total_ = 0;
    Bins bins_{};
};

}  // namespace lull::sched
