// SPDX-License-Identifier: MIT
// What a disk is like, by reading a few blocks of it. Only when asked for: it takes up to two
// seconds of the disk's time, and a foreground beside it falsifies both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "sched/disk/block_device.hpp"
#include "sched/idle_gate.hpp"
#include "sched/units.hpp"

namespace lull::sched {

/// What is read: a device, or in tests a model of one.
class ProbeTarget {
  public:
    virtual ~ProbeTarget() = default;
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
    /// Reads `length` bytes at each of these offsets (multiples of 4 KiB), `depth` of the reads
    /// under way at any time, past every cache of this machine. How long it took all in all.
    virtual Result<Nanoseconds> read(std::span<const std::uint64_t> offsets, std::uint32_t length,
                                     std::uint32_t depth) = 0;
};

struct ProbeOptions {
    /// Of the disk's time, spent on all reads together. A read that has been sent cannot be taken
    /// back: one that hangs in the disk is waited for.
    Nanoseconds longest = 2 * kSecond;
    std::uint64_t seed = 1;  ///< of the places; the same ones again may be in the drive's cache
};

struct DepthGain {
    std::uint32_t depth = 0;
    double gain = 0;  ///< random reads per second over those at depth 1
};

/// All for reads of 4 KiB, but for `ns_per_byte`.
struct ServiceTimes {
    /// Alone on the disk, over all of it, without strays of more than 4 times the median.
    Nanoseconds random_mean = 0;
    Nanoseconds random_median = 0;
    double ns_per_byte = 0;         ///< of one long read after another
    std::vector<DepthGain> depths;  ///< rising; empty when the disk is too slow to try
    std::uint64_t bytes = 0;        ///< read for all that
    Nanoseconds took = 0;
    /// Bytes that the disk read or wrote for others meanwhile. With more than a few pages, the
    /// figures are those of a busy disk.
    std::uint64_t other_bytes = 0;

    /// It takes at least 2 ms to get to a place, and it gets to one at a time. The slowest flash
    /// (an old SD card, 1 ms) is below that, the fastest drive that turns (15 000 rpm: half a turn
    /// takes 2 ms) above. A disk far away may be as slow, but it serves many requests at once: 16
    /// at a time are at least five times as fast as one after another, where sorting in the drive
    /// gives 2 to 3.
    [[nodiscard]] bool seeks() const;
    /// More in flight are at least 1.5 times as fast.
    [[nodiscard]] bool depth_helps() const;
    /// The most in flight with which each takes at most 1.5 times as long as alone; 1 on a disk
    /// that seeks, at most 8.
    [[nodiscard]] std::uint32_t idle_depth() const;
    [[nodiscard]] DiskTraits traits() const;
};

Result<ServiceTimes> measure(ProbeTarget& target, const ProbeOptions& options);
/// Of a whole disk or a partition. Needs leave to read the device (root). EINVAL if it has less
/// than a MiB, ENOMEDIUM if it has none.
Result<ServiceTimes> measure(const BlockDevice& device, const ProbeOptions& options);

/// The device, read past the page cache (O_DIRECT).
Result<std::unique_ptr<ProbeTarget>> open_probe_target(const BlockDevice& device);

/// What to start with where nothing has been measured: by the way it is attached, and by what it
/// says only where that is worth something. In doubt a disk that seeks, for which lull is gentlest.
DiskTraits assumed_traits(const DiskFacts& facts);

}  // namespace lull::sched
