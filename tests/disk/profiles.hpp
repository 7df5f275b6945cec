// SPDX-License-Identifier: MIT
// The drives behind the profile names, with where each figure comes from (profiles.cpp).
#pragma once

#include <span>

#include "tests/disk/hard_disk.hpp"

namespace lull::disk {

[[nodiscard]] std::span<const HardDiskProfile> hard_disk_profiles();

}  // namespace lull::disk
