// SPDX-License-Identifier: MIT
// The drives behind the profile names. Each figure has its source beside it: a data sheet, a
// published measurement, or the figure that it was fitted to.
#pragma once

#include <span>

#include "tests/disk/flash.hpp"
#include "tests/disk/hard_disk.hpp"

namespace lull::disk {

constexpr Nanoseconds microseconds(double n) {
    return static_cast<Nanoseconds>(n * 1e3);
}
constexpr Nanoseconds milliseconds(double n) {
    return static_cast<Nanoseconds>(n * 1e6);
}
/// The time of one turn at `rpm` turns per minute.
constexpr Nanoseconds revolution(double rpm) {
    return static_cast<Nanoseconds>(60e9 / rpm);
}

[[nodiscard]] std::span<const HardDiskProfile> hard_disk_profiles();
[[nodiscard]] std::span<const FlashProfile> flash_profiles();

}  // namespace lull::disk
