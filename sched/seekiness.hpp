// SPDX-License-Identifier: MIT
// Whether a client jumps about (CFQ 4.20's seek history).
#pragma once

#include <bit>
#include <cstdint>

#include "sched/units.hpp"

namespace lull::sched {

class Seekiness {
  public:
    static constexpr Sector kFar = 800;          ///< 400 KiB: CFQQ_SEEK_THR
    static constexpr std::uint32_t kSmall = 64;  ///< 32 KiB: CFQQ_SECT_THR_NONROT
    static constexpr int kMany = 4;              ///< jumps of the last 32; CFQQ_SEEKY: more

    /// A request of `sectors` at `sector` after one that ended at `end`. Where seeks cost nothing a
    /// small request counts in place of a far one, since it cannot make use of the disk's width.
    void add(bool disk_seeks, Sector end, Sector sector, std::uint32_t sectors) {
        const Sector distance = sector > end ? sector - end : end - sector;
        const bool jump = disk_seeks ? distance > kFar : sectors < kSmall;
        history_ = history_ << 1U | (jump ? 1U : 0U);
    }
    [[nodiscard]] bool is_seeky() const { return std::popcount(history_) > kMany; }

  private:
    std::uint32_t history_ = 0;
};

}  // namespace lull::sched
