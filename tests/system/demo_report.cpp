// SPDX-License-Identifier: MIT
#include "tests/system/demo_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lull::demo {
namespace {

constexpr double kBarWidth = 50;  // 2 + 14 + 50 + 2 + "123.45 s": within 80 columns

double ratio(double over, double under) {
    return under > 0 ? over / under : 0;
}

double rounded(double value) {
    constexpr double kDigits = 1e4;
    return std::round(value * kDigits) / kDigits;
}

std::string table_row(const std::string& name, double cold, double after, double warm) {
    return fmt::format("  {:<14}{:>10.2f} s{:>14.2f} s{:>10.2f} s{:>11.1f} x\n", name, cold, after,
                       warm, ratio(cold, after));
}

/// `length` cells, to an eighth of a cell with blocks.
std::string bar(double length, bool blocks) {
    constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!blocks) {
        return std::string(static_cast<std::size_t>(std::lround(length)), '#');
    }
    const auto eighths = static_cast<std::size_t>(std::lround(length * kEighths.size()));
    std::string text;
    for (std::size_t i = 0; i < eighths / kEighths.size(); ++i) {
        text += "█";
    }
    return text + kEighths.at(eighths % kEighths.size());
}

std::string chart(const Round& round, bool blocks) {
    const std::array<std::pair<const char*, double>, 3> rows = {{
        {"cold", round.cold.seconds},
        {"after replay", round.after.seconds},
        {"warm", round.warm.seconds},
    }};
    const double longest = std::max({rows[0].second, rows[1].second, rows[2].second});
    std::string text;
    for (const auto& [name, seconds] : rows) {
        text += fmt::format("  {:<14}{} {:.2f} s\n", name,
                            bar(ratio(seconds, longest) * kBarWidth, blocks), seconds);
    }
    return text;
}

}  // namespace

std::string as_json(const Round& median, std::size_t rounds) {
    nlohmann::ordered_json json = {
        {"cold_s", rounded(median.cold.seconds)},
        {"after_replay_s", rounded(median.after.seconds)},
        {"speedup", rounded(ratio(median.cold.seconds, median.after.seconds))},
        {"recall", rounded(median.recall)},
        {"precision", rounded(median.precision)},
        {"disk_reads_cold", median.cold.disk_reads},
        {"disk_reads_after", median.after.disk_reads},
        {"rung", median.rung},
        {"replay_s", rounded(median.replay_seconds)},
        {"warm_s", rounded(median.warm.seconds)},
        {"cold_without_collector_s", rounded(median.alone.seconds)},
        {"disk_reads_without_collector", median.alone.disk_reads},
        {"rounds", rounds},
    };
    return json.dump() + "\n";
}

std::string as_text(const Round& median, std::size_t rounds, bool blocks) {
    std::string text = fmt::format(
        "Real programs started from a cold emulated hard disk (hdd-7200), median of {}:\n\n"
        "  {:<14}{:>12}{:>16}{:>12}{:>13}\n",
        rounds, "", "cold", "after replay", "warm", "faster");
    for (std::size_t i = 0; i < median.cold.programs.size(); ++i) {
        text += table_row(median.cold.programs[i].first, median.cold.programs[i].second,
                          median.after.programs[i].second, median.warm.programs[i].second);
    }
    text += table_row("all", median.cold.seconds, median.after.seconds, median.warm.seconds);
    text += "\n" + chart(median, blocks);
    text += fmt::format(
        "\n"
        "  replay         {:.2f} s before the start, by itself\n"
        "  disk reads     {} cold, {} after the replay\n"
        "  recall         {:.4f} of the recorded pages were in memory when it was done\n"
        "  precision      {:.4f} bytes read ahead for each byte recorded\n"
        "  collector      {:.2f} s cold without it; it saw pages by \"{}\"\n",
        median.replay_seconds, median.cold.disk_reads, median.after.disk_reads, median.recall,
        median.precision, median.alone.seconds, median.rung);
    return text;
}

}  // namespace lull::demo
