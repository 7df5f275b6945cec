// SPDX-License-Identifier: MIT
// What became of the pages of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replayer/skip.hpp"

namespace lull::replayer {

/// Pages. asked = resident_before + read + skipped, once the replay is over.
struct Tally {
    std::uint64_t ranges = 0;           ///< reads in the plan
    std::uint64_t visits = 0;           ///< directories and inodes in the plan
    std::uint64_t asked = 0;            ///< in the plan
    std::uint64_t gap = 0;              ///< of them, in gaps that are read through
    std::uint64_t resident_before = 0;  ///< in memory already, not read
    std::uint64_t read = 0;             ///< read
    std::uint64_t skipped = 0;          ///< not read, see the skips
    std::uint64_t resident_after = 0;  ///< of asked, in memory when all was read: the kernel's word
    std::uint64_t unknown_after = 0;   ///< of asked, what the kernel does not tell

    Tally& operator+=(const Tally& other) {
        ranges += other.ranges;
        visits += other.visits;
        asked += other.asked;
        gap += other.gap;
        resident_before += other.resident_before;
        read += other.read;
        skipped += other.skipped;
        resident_after += other.resident_after;
        unknown_after += other.unknown_after;
        return *this;
    }
};

/// Skips, one for each file and reason.
class SkipList {
  public:
    void add(const Skip& skip) {
        const auto [place, is_new] =
            index_.try_emplace(std::pair(skip.reason, skip.path), skips_.size());
        if (is_new) {
            skips_.push_back(skip);
        } else {
            skips_[place->second].pages += skip.pages;
        }
    }
    [[nodiscard]] const std::vector<Skip>& all() const { return skips_; }

  private:
    std::vector<Skip> skips_;
    std::map<std::pair<SkipReason, std::string>, std::size_t> index_;
};

struct Account {
    Tally tally;
    SkipList skips;
};

}  // namespace lull::replayer
