// SPDX-License-Identifier: MIT
#include <array>

#include "tests/disk/profiles.hpp"

namespace lull::disk {

namespace {

constexpr Nanoseconds microseconds(double n) {
    return static_cast<Nanoseconds>(n * 1e3);
}
constexpr Nanoseconds milliseconds(double n) {
    return static_cast<Nanoseconds>(n * 1e6);
}
constexpr Nanoseconds revolution(double rpm) {
    return static_cast<Nanoseconds>(60e9 / rpm);
}

// Western Digital Caviar SE16, 640 GB (WD6400AAKS, 2008).
constexpr HardDiskProfile kHdd7200{
    .name = "hdd-7200",
    .geometry = {.sectors = 1250263728,
                 .revolution = revolution(7200),
                 .heads = 4,
                 .zones = 24,
                 .first_rate = 113e6,
                 .last_rate = 56e6,
                 .head_switch = milliseconds(1.0),
                 .cylinder_switch = milliseconds(2.0)},
    .seek = {milliseconds(2.0), milliseconds(8.9), milliseconds(21.0)},
    .write_settle = milliseconds(2.0),
    .overhead = milliseconds(0.3),
    .hit_overhead = microseconds(60),
    .bus_rate = 300e6,
    .segments = 16,
    .segment_sectors = 2048,
    .queue_depth = 32,
    .age_weight = 0.03,
};

constexpr std::array kProfiles{kHdd7200};

}  // namespace

std::span<const HardDiskProfile> hard_disk_profiles() {
    return kProfiles;
}

}  // namespace lull::disk
