// SPDX-License-Identifier: MIT
// `lull compare`: what changed between two sets of boots, and how sure that is.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bootchart/boot.hpp"
#include "bootchart/statistics.hpp"

namespace lull::bootchart {

/// One thing that was measured in both sets.
struct Quantity {
    enum class Unit : std::uint8_t { kSeconds, kBytes, kBytesPerSecond, kCount, kShare };

    std::string name;  ///< "quiet-disk", "bytes read", ...
    Unit unit = Unit::kSeconds;
    Difference difference;
};

/// All processes of one name together, by boot.
struct ProcessChange {
    std::string name;
    std::size_t boots_a = 0;  ///< in how many boots it was seen
    std::size_t boots_b = 0;
    /// Seconds; first_seen over the boots that have it, the others over all boots (0 where it was
    /// not seen).
    Difference first_seen;
    Difference io_wait;
    Difference cpu;

    /// What the order goes by: |change of I/O wait| + |change of CPU time|.
    [[nodiscard]] double size() const;
};

struct Comparison {
    std::vector<std::string> sources_a;
    std::vector<std::string> sources_b;
    std::string milestone;             ///< the one that the verdict is about
    std::vector<Quantity> milestones;  ///< reached in all boots, in order of a's mean; seconds
    std::vector<Quantity> disk;
    std::vector<Quantity> cpu;
    std::vector<ProcessChange> processes;  ///< largest changes first
    std::vector<std::string> warnings;

    /// That of `milestone`; it is always there.
    [[nodiscard]] const Quantity& decisive() const;
    /// Whether b is slower by more than this: the verdict is "slower" and the means differ by more.
    /// With one boot on a side there is no verdict, and the difference alone decides.
    [[nodiscard]] bool slower_by(double percent) const;
};

/// `milestone` empty: the first of these that all boots reached: "startup finished",
/// graphical.target, multi-user.target, default.target, quiet-disk, idle, end. ENODATA if a boot
/// did not reach the wanted one, EINVAL if a set is empty.
[[nodiscard]] Result<Comparison> compare(const std::vector<Boot>& a, const std::vector<Boot>& b,
                                         const std::string& milestone = "");

struct ReportOptions {
    std::size_t width = 80;      ///< columns
    std::size_t processes = 20;  ///< of text; JSON has all
};

void write_text(const Comparison& comparison, const ReportOptions& options, std::ostream& out);

/// One object; sizes in bytes, times in seconds, shares from 0 to 1, everything valid UTF-8.
void write_json(const Comparison& comparison, std::ostream& out);

struct CompareOptions {
    std::vector<std::string> a;
    std::vector<std::string> b;
    std::string milestone;
    std::optional<double> fail_if_slower;  ///< percent
    bool json = false;
    ReportOptions report;
};

inline constexpr int kExitSlower = 3;

/// Reads, compares, reports. The exit status: 0, 1 if something failed (told on `err`), kExitSlower
/// if `fail_if_slower` is given and b is slower by more.
int run_compare(const CompareOptions& options, std::ostream& out, std::ostream& err);

}  // namespace lull::bootchart
