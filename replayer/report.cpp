// SPDX-License-Identifier: MIT
#include "replayer/report.hpp"

#include <map>

#include <fmt/format.h>

#include "db/text.hpp"

namespace lull::replayer {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kNameColumns = 17;
constexpr std::size_t kFirstNames = 3;

std::string size(std::uint64_t pages) {
    return db::human_size(pages * db::kPageSize);
}

std::string name_of(const DiskReport& disk) {
    return db::printable(disk.device.mount_point.empty() ? disk.device.source
                                                         : disk.device.mount_point);
}

std::string times(std::uint64_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void write_head(const ReplayReport& report, std::ostream& out) {
    for (const std::string& warning : report.warnings) {
        out << db::printable(warning) << '\n';
    }
    const std::string from = times(report.databases, "database");
    if (report.dry_run) {
        out << "Plan from " << from << ". Names were looked up; nothing was opened for reading.\n";
        return;
    }
    out << fmt::format("Replay of {}: {}, depth {}, class {}\n", from, report.engine, report.depth,
                       report.io_class.value_or("unknown"));
}

void write_row(const std::string& name, const Tally& tally, bool dry_run, std::ostream& out) {
    out << db::fit(name, kNameColumns)
        << fmt::format(" {:>7} {:>10}", tally.ranges, size(tally.asked));
    if (dry_run) {
        out << fmt::format(" {:>10} {:>10}\n", size(tally.gap), size(tally.skipped));
        return;
    }
    out << fmt::format(" {:>10} {:>10} {:>10} {:>10}\n", size(tally.resident_before),
                       size(tally.read), size(tally.skipped), size(tally.resident_after));
}

void write_table(const ReplayReport& report, std::ostream& out) {
    out << fmt::format("{:<{}} {:>7} {:>10}", "file system", kNameColumns, "reads", "asked");
    out << (report.dry_run ? fmt::format(" {:>10} {:>10}\n", "gaps", "skipped")
                           : fmt::format(" {:>10} {:>10} {:>10} {:>10}\n", "in memory", "read",
                                         "skipped", "afterwards"));
    for (const DiskReport& disk : report.disks) {
        write_row(name_of(disk), disk.tally, report.dry_run, out);
    }
    if (report.disks.size() > 1) {
        write_row("together", report.total(), report.dry_run, out);
    }
}

void write_speed(const ReplayReport& report, std::ostream& out) {
    const Tally total = report.total();
    const double seconds = report.seconds();
    const double megabytes = static_cast<double>(total.read * db::kPageSize) / 1e6;
    out << fmt::format("Read {:.1f} MB in {:.2f} s, {:.1f} MB/s; {} through gaps", megabytes,
                       seconds, seconds > 0 ? megabytes / seconds : 0.0, size(total.gap));
    out << (total.visits > 0 ? fmt::format("; {} visited\n", times(total.visits, "name")) : "\n");
    if (total.unknown_after > 0) {
        out << fmt::format("The kernel does not tell of {} whether they are in memory.\n",
                           size(total.unknown_after));
    }
}

void write_skips(const ReplayReport& report, std::ostream& out) {
    struct Sum {
        std::uint64_t files = 0;
        std::uint64_t pages = 0;
        std::vector<const Skip*> first;
    };
    std::map<SkipReason, Sum> sums;
    for (const Skip& skip : report.skips.all()) {
        Sum& sum = sums[skip.reason];
        ++sum.files;
        sum.pages += skip.pages;
        if (sum.first.size() < kFirstNames && !skip.path.empty()) {
            sum.first.push_back(&skip);
        }
    }
    for (const auto& [reason, sum] : sums) {
        out << fmt::format("Skipped, {}: {}, {}\n", to_string(reason), times(sum.files, "file"),
                           size(sum.pages));
        for (const Skip* skip : sum.first) {
            out << "  " << db::shorten(db::printable(skip->path), kColumns - 2) << '\n';
        }
    }
}

void write_plan(const ReplayReport& report, std::ostream& out) {
    for (const DiskReport& disk : report.disks) {
        if (disk.chunks.empty()) {
            continue;
        }
        out << fmt::format("\n{:>6} {:>14} {:>10} {:>9} {}\n", "order", "position", "bytes", "page",
                           name_of(disk));
        std::uint64_t order = 0;
        for (const Chunk& chunk : disk.chunks) {
            const db::File& file = report.demand.files[chunk.file];
            const std::string position =
                chunk.position ? std::to_string(*chunk.position) : std::string("-");
            const std::string path = db::printable(display_path(disk.device, file));
            out << fmt::format("{:>6} {:>14} {:>10} {:>9} {}\n", ++order, position,
                               chunk.pages * db::kPageSize, chunk.first_page,
                               db::shorten(path, kColumns - 43));
        }
    }
}

}  // namespace

Tally ReplayReport::total() const {
    Tally sum;
    for (const DiskReport& disk : disks) {
        sum += disk.tally;
    }
    return sum;
}

double ReplayReport::seconds() const {
    double sum = 0;
    for (const DiskReport& disk : disks) {
        sum += disk.seconds;
    }
    return sum;
}

void write_text(const ReplayReport& report, std::ostream& out) {
    write_head(report, out);
    write_table(report, out);
    if (!report.dry_run) {
        write_speed(report, out);
    }
    write_skips(report, out);
    write_plan(report, out);
}

}  // namespace lull::replayer
