// SPDX-License-Identifier: MIT
// Unlimited work as a replay has it: runs of sectors in order of their place on the disk, with
// gaps between them, from the beginning again when the end is reached.
#pragma once

#include <cstdint>

#include "tests/sim/random.hpp"

namespace lull::sim {

struct BackgroundOptions {
    std::uint64_t first = 0;  ///< the part of the disk that it reads
    std::uint64_t end = 0;
    std::uint64_t seed = 1;
};

class Background {
  public:
    /// The longest request: 1 MiB in sectors. A run of the plan may be longer.
    static constexpr std::uint32_t kLongest = 2048;
    /// 4 KiB.
    static constexpr std::uint32_t kShortest = 8;

    struct Piece {
        std::uint64_t sector = 0;
        std::uint32_t sectors = 0;
    };

    explicit Background(const BackgroundOptions& options);

    /// Where the next request begins.
    [[nodiscard]] std::uint64_t position() const { return position_; }
    /// What take(wanted) would give.
    [[nodiscard]] Piece peek(std::uint32_t wanted) const;
    /// The next request, of `wanted` sectors unless the run ends before.
    Piece take(std::uint32_t wanted);

  private:
    void begin_run();

    BackgroundOptions options_;
    Random random_;
    std::uint64_t position_ = 0;
    std::uint64_t left_ = 0;  ///< of the run
};

}  // namespace lull::sim
