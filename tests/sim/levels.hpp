// SPDX-License-Identifier: MIT
// Sequential readers of several levels on one disk, in simulated time: the tests of the mails of
// 2004 and 2012 (tables A and B of the README).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/units.hpp"
#include "sched/weights.hpp"
#include "tests/disk/model.hpp"

namespace lull::sim {

using sched::Nanoseconds;

/// Whose turn it is among the readers, under one rule; each has one request at a time.
class ReaderRule {
  public:
    virtual ~ReaderRule() = default;
    virtual void has_work(std::size_t reader, std::uint64_t sector, std::uint32_t sectors,
                          Nanoseconds now) = 0;
    virtual void done(std::size_t reader, std::uint64_t sector, std::uint32_t sectors,
                      Nanoseconds service, Nanoseconds now) = 0;
    struct Choice {
        std::optional<std::size_t> reader;      ///< whose request is sent now
        Nanoseconds ask_again = sched::kNever;  ///< if no event comes before
    };
    virtual Choice choose(Nanoseconds now) = 0;
    /// For which the disk was kept for the reader, the seeks to it included.
    [[nodiscard]] virtual Nanoseconds disk_time(std::size_t reader) const = 0;
};

/// The arbiter, all readers in one group.
[[nodiscard]] std::unique_ptr<ReaderRule> arbiter_readers(const std::vector<int>& levels,
                                                          sched::LevelLaw law);
/// CFQ as it was in Linux 3.6, low_latency on: queues by key, slices that shrink so that all fit
/// 300 ms, residual slices.
[[nodiscard]] std::unique_ptr<ReaderRule> round_robin_2012(const std::vector<int>& levels);

struct ReadersResult {
    struct Reader {
        std::uint64_t bytes = 0;
        Nanoseconds longest = 0;  ///< from asking for a request to having it
        Nanoseconds disk_time = 0;
    };
    std::vector<Reader> readers;
    Nanoseconds time = 0;

    [[nodiscard]] double bytes_per_second(std::size_t reader) const;
    [[nodiscard]] double total_bytes_per_second() const;
};

struct ReadersSetup {
    std::string profile;
    std::size_t readers = 0;
    Nanoseconds duration = 30 * sched::kSecond;
    std::uint32_t sectors = 256;                    ///< of each request: 128 KiB, as readahead
    Nanoseconds think = 200 * sched::kMicrosecond;  ///< between a request and the next
};
/// Each reader has a file of its own, one behind the other in the middle eighth of the disk, so
/// that all are read at about the same rate. One request is in the disk at a time (queueing off).
[[nodiscard]] ReadersResult run_readers(const ReadersSetup& setup, ReaderRule& rule);

}  // namespace lull::sim
