// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bootchart/compare.hpp"
#include "db/text.hpp"

namespace lull::bootchart {
namespace {

constexpr std::size_t kMinWidth = 70;
constexpr std::size_t kIndent = 2;
constexpr double kPercent = 100;
using Unit = Quantity::Unit;

std::string bytes(double value) {
    return db::human_size(static_cast<std::uint64_t>(std::llround(std::abs(value))));
}

std::string amount(double value, Unit unit) {
    switch (unit) {
        case Unit::kSeconds:
            return fmt::format("{:.2f} s", value);
        case Unit::kBytes:
            return bytes(value);
        case Unit::kBytesPerSecond:
            return bytes(value) + "/s";
        case Unit::kShare:
            return fmt::format("{:.1f} %", value * kPercent);
        case Unit::kCount:
            break;
    }
    return fmt::format("{:.0f}", value);
}

std::string change(double value, Unit unit) {
    return (value < 0 ? "-" : "+") + amount(std::abs(value), unit);
}

std::string interval(const Difference& difference, Unit unit) {
    if (!difference.interval) {
        return "";
    }
    return change(difference.interval->low, unit) + " .. " +
           change(difference.interval->high, unit);
}

/// "b is faster by 2.31 s (10.2 %), between 1.80 s and 2.82 s with 95 % confidence"
std::string sentence(const Comparison& comparison) {
    const Difference& difference = comparison.decisive().difference;
    const std::string percent =
        difference.relative ? fmt::format(" ({:.1f} %)", std::abs(*difference.relative) * kPercent)
                            : "";
    const std::string by = fmt::format("{:.2f} s{}", std::abs(difference.absolute), percent);
    const std::string what = fmt::format("to {}", db::printable(comparison.milestone));
    if (!difference.interval) {
        return fmt::format(
            "no difference that could be told from chance {}: the second set is {} by {}, but one "
            "boot on a side does not tell how much boots vary",
            what, difference.absolute < 0 ? "faster" : "slower", by);
    }
    const Interval& sure = *difference.interval;
    if (difference.verdict() == Verdict::kNoDifference) {
        return fmt::format(
            "no difference {}: the second set lies between {} and {} of the first (95 % "
            "confidence)",
            what, change(sure.low, Unit::kSeconds), change(sure.high, Unit::kSeconds));
    }
    const double low = std::min(std::abs(sure.low), std::abs(sure.high));
    const double high = std::max(std::abs(sure.low), std::abs(sure.high));
    return fmt::format(
        "the second set is {} {} by {}; between {:.2f} s and {:.2f} s with 95 % confidence",
        to_string(difference.verdict()), what, by, low, high);
}

class Table {
  public:
    Table(std::size_t width, std::ostream& out)
        : name_(std::max(width, kMinWidth) - kNumbers), out_(out) {}

    void head(const char* title) const {
        out_ << fmt::format("\n{}{:>11}{:>11}{:>12}  {}\n", db::fit(title, name_), "first",
                            "second", "change", "95 % confidence");
    }
    void row(const Quantity& quantity) const {
        const Difference& difference = quantity.difference;
        out_ << fmt::format(
            "  {}{:>11}{:>11}{:>12}  {}\n", db::fit(db::printable(quantity.name), name_ - kIndent),
            amount(difference.a.mean, quantity.unit), amount(difference.b.mean, quantity.unit),
            change(difference.absolute, quantity.unit), interval(difference, quantity.unit));
    }

  private:
    static constexpr std::size_t kNumbers = 11 + 11 + 12 + 2 + 24;

    std::size_t name_;
    std::ostream& out_;
};

void write_set(const char* name, const std::vector<std::string>& sources, const Spread& spread,
               std::ostream& out) {
    out << fmt::format("  {:<7}{} boot{}: mean {:.2f} s, median {:.2f} s, {:.2f} to {:.2f} s", name,
                       sources.size(), sources.size() == 1 ? "" : "s", spread.mean, spread.median,
                       spread.lowest, spread.highest);
    if (spread.count > 1) {
        out << fmt::format(", deviation {:.2f} s", spread.deviation);
    }
    out << '\n';
}

void write_processes(const Comparison& comparison, const ReportOptions& options,
                     std::ostream& out) {
    constexpr double kSmallest = 0.005;
    std::size_t shown = 0;
    constexpr std::size_t kNumbers = 8 + 27 + 18 + 18;
    const std::size_t name_width = std::max(options.width, kMinWidth + 20) - kNumbers;
    for (const ProcessChange& process : comparison.processes) {
        if (shown == options.processes || process.size() < kSmallest) {
            break;
        }
        if (shown++ == 0) {
            out << fmt::format("\n{}{:>8}{:>27}{:>18}{:>18}\n",
                               db::fit("processes, largest changes first", name_width), "boots",
                               "first seen (change)", "I/O wait (change)", "CPU (change)");
        }
        const auto pair = [](const Difference& difference) {
            return fmt::format("{:.2f} s ({:+.2f})", difference.b.mean, difference.absolute);
        };
        const bool both = process.boots_a > 0 && process.boots_b > 0;
        out << fmt::format("  {}{:>8}{:>27}{:>18}{:>18}\n",
                           db::fit(db::printable(process.name), name_width - kIndent),
                           fmt::format("{}, {}", process.boots_a, process.boots_b),
                           both ? pair(process.first_seen) : "on one side only",
                           pair(process.io_wait), pair(process.cpu));
    }
}

}  // namespace

void write_text(const Comparison& comparison, const ReportOptions& options, std::ostream& out) {
    const std::size_t width = std::max(options.width, kMinWidth);
    const Difference& decisive = comparison.decisive().difference;
    out << db::wrap(sentence(comparison), width, kIndent) << '\n';
    write_set("first", comparison.sources_a, decisive.a, out);
    write_set("second", comparison.sources_b, decisive.b, out);
    for (const std::string& warning : comparison.warnings) {
        out << db::wrap("warning: " + db::printable(warning), width, kIndent) << '\n';
    }
    const Table table(width, out);
    const auto section = [&table](const char* title, const std::vector<Quantity>& quantities) {
        const bool any = std::any_of(quantities.begin(), quantities.end(), [](const Quantity& one) {
            return one.difference.a.highest > 0 || one.difference.b.highest > 0;
        });
        if (!any) {
            return;
        }
        table.head(title);
        for (const Quantity& quantity : quantities) {
            table.row(quantity);
        }
    };
    section("milestones", comparison.milestones);
    section("disk", comparison.disk);
    section("CPU", comparison.cpu);
    write_processes(comparison, options, out);
}

}  // namespace lull::bootchart
