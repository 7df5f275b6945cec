// SPDX-License-Identifier: MIT
// Runs a foreground, a background and a rule on a disk in simulated time, to the end of the
// foreground. The same input gives the same outcome to the bit.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/rule.hpp"

namespace lull::sim {

struct DiskOptions {
    std::string profile = "hdd-7200";
    std::uint64_t sectors = 1ULL << 27;  ///< 64 GiB: the partition that all of it lies in
    std::uint32_t queue_depth = 0;       ///< 0: the profile's own
    std::uint64_t seed = 1;
};

struct Outcome {
    /// Run time of the foreground's own work: its gaps of kind kThink and its requests; summed over
    /// its scripts.
    Nanoseconds work = 0;
    /// No foreground request in flight, pauses left out.
    Nanoseconds idle = 0;
    Nanoseconds end = 0;  ///< of the last script
    std::uint64_t requests = 0;
    /// Foreground requests that found a background request in flight when they arrived.
    std::uint64_t violations = 0;
    Nanoseconds latency_sum = 0;  ///< of foreground requests, from arrival to completion
    Nanoseconds latency_max = 0;
    std::uint64_t background_requests = 0;  ///< sent outside of pauses
    std::uint64_t background_sectors = 0;   ///< of these
};

/// `rule` must be new.
[[nodiscard]] Outcome simulate(const Foreground& foreground, const DiskOptions& disk, Rule& rule,
                               const BackgroundOptions& background);

/// How long the background needs for a sector when it has the disk for itself, `depth` requests of
/// `sectors` in flight at any time.
[[nodiscard]] double background_ns_per_sector(const DiskOptions& disk,
                                              const BackgroundOptions& background,
                                              std::uint32_t depth, std::uint32_t sectors);

/// A copy of a model of tests/disk in its present state.
[[nodiscard]] std::unique_ptr<disk::Model> copy_of(const disk::Model& model);

}  // namespace lull::sim
