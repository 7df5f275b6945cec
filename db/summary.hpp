// SPDX-License-Identifier: MIT
// What a trace adds up to: by file, by process, by unit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/trace.hpp"

namespace lull::db {

enum class By { kFile, kProcess, kUnit };

/// kTime: first use. kDisk: file system, then the first position on it; unknown ones last. kSize:
/// most bytes first. kPath: the bytes of the name. Equal ones keep the order of the trace.
enum class Sort { kTime, kDisk, kSize, kPath };

/// A set of reads. Sizes are bytes, whole pages.
struct Tally {
    std::uint64_t bytes = 0;
    std::uint64_t ranges = 0;
    std::uint64_t files = 0;                ///< different ones
    std::array<std::uint64_t, 5> source{};  ///< bytes by Source
    std::array<std::uint64_t, 3> use{};     ///< bytes by Use
    std::optional<std::uint64_t> first_use_ns;
    std::optional<std::uint32_t> first_user;  ///< index into Trace::processes, if it is known
    /// The smallest position, as (index into Trace::devices, bytes on it).
    std::optional<std::pair<std::uint32_t, std::uint64_t>> disk;
};

struct Row {
    /// kFile: the path from the root of the machine. kProcess: comm. kUnit: the unit. Raw bytes;
    /// empty if unknown.
    std::string name;
    /// Into Trace::files or Trace::processes; empty for kUnit and for reads by nobody known.
    std::optional<std::uint32_t> index;
    Tally tally;
};

/// One row for each file, or for each process or unit that was the first user of a range.
[[nodiscard]] std::vector<Row> summarize(const Trace& trace, By by, Sort sort);

/// Everything; `files` counts those without reads too.
[[nodiscard]] Tally total(const Trace& trace);

/// The path of a file from the root of the machine, raw bytes: its mount point and its path in the
/// file system. The mount point alone for a device; empty if the path is unknown.
[[nodiscard]] std::string full_path(const Trace& trace, const File& file);

}  // namespace lull::db
