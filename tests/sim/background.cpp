// SPDX-License-Identifier: MIT
#include "tests/sim/background.hpp"

#include <algorithm>

namespace lull::sim {

namespace {

// A replay reads through small gaps, so its runs are longer than files: for a boot of 74 MB in 1751
// ranges about 1 MiB each when gaps up to 512 KiB are read through.
constexpr double kShortestRun = 256;  // sectors: 128 KiB
constexpr double kLongestRun = 8192;  // 4 MiB
constexpr double kShortestGap = 1024;
constexpr double kLongestGap = 16384;
constexpr std::uint64_t kBlock = 8;

std::uint64_t blocks(double sectors) {
    return static_cast<std::uint64_t>(sectors) / kBlock * kBlock;
}

}  // namespace

Background::Background(const BackgroundOptions& options)
    : options_(options), random_(options.seed) {
    position_ = options.first + random_.below((options.end - options.first) / kBlock) * kBlock;
    begin_run();
}

void Background::begin_run() {
    position_ += blocks(random_.log_between(kShortestGap, kLongestGap));
    left_ = blocks(random_.log_between(kShortestRun, kLongestRun));
    if (position_ + left_ > options_.end) {
        position_ = options_.first;
    }
}

Background::Piece Background::peek(std::uint32_t wanted) const {
    const std::uint64_t sectors = std::min<std::uint64_t>(wanted, left_);
    return {position_, static_cast<std::uint32_t>(sectors)};
}

Background::Piece Background::take(std::uint32_t wanted) {
    const Piece piece = peek(wanted);
    position_ += piece.sectors;
    left_ -= piece.sectors;
    if (left_ == 0) {
        begin_run();
    }
    return piece;
}

}  // namespace lull::sim
