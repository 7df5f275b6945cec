// SPDX-License-Identifier: MIT
// Figures of one boot: totals, and when what was reached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootchart/boot.hpp"

namespace lull::bootchart {

/// Seconds of CPU time, all CPUs together.
struct CpuFigures {
    double user = 0;
    double system = 0;
    double iowait = 0;
    double idle = 0;
    double steal = 0;

    [[nodiscard]] double busy() const { return user + system + steal; }
    [[nodiscard]] double all() const { return busy() + iowait + idle; }
    /// 0 to 1; 0 if nothing is known.
    [[nodiscard]] double share(double part) const { return all() > 0 ? part / all() : 0; }
};

struct DiskFigures {
    std::string name;  ///< empty for the sum over the disks that count
    bool counted = true;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    double busy = 0;  ///< seconds, see DiskSample::busy_ns

    /// Bytes read and written per second of busy time; 0 if it was never busy.
    [[nodiscard]] double throughput() const {
        return busy > 0 ? static_cast<double>(read_bytes + written_bytes) / busy : 0;
    }
};

struct Figures {
    double span = 0;  ///< seconds that the chart covers
    CpuFigures cpu;
    DiskFigures disk;  ///< the sum over disks that count
    std::vector<DiskFigures> disks;
};

[[nodiscard]] Figures figures_of(const Boot& boot);

/// Milestones that every chart has, as far as its samples tell.
/// "quiet-disk": the first end of I/O, not before the last milestone that the chart itself names,
/// after which the disks were busy for less than 5 % of 3 s.
inline constexpr std::string_view kQuietDisk = "quiet-disk";
/// "idle": the same, with the CPUs busy for less than 25 % of these 3 s (the rule of
/// pybootchartgui, which looks at the CPU only).
inline constexpr std::string_view kIdle = "idle";
/// "end": the end of the chart. Most loggers stop by themselves when a login screen is there.
inline constexpr std::string_view kEnd = "end";

/// When the milestone `name` was reached, ns: one that the chart names, one of the three above, or
/// the first start of a process of that name.
[[nodiscard]] std::optional<std::int64_t> time_of(const Boot& boot, std::string_view name);

}  // namespace lull::bootchart
