// SPDX-License-Identifier: MIT
#include "db/show.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/database.hpp"
#include "db/progress.hpp"
#include "db/show_json.hpp"
#include "db/text.hpp"

namespace lull::db {
namespace {

constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kUserWidth = 12;
constexpr std::size_t kFromWidth = 10;
constexpr std::array<const char*, 5> kSourceWords{"?", "miss", "ahead", "memory", "lull"};
constexpr std::array<const char*, 5> kSourceNames{
    "unknown", "waited for the disk", "kernel readahead", "in memory before", "read ahead by lull"};
constexpr std::array<const char*, 3> kUseNames{"demanded", "mapped, use unknown",
                                               "cached, use unknown"};

std::string seconds(std::uint64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / 1e9);
}

/// "miss", or "miss 82%" where other sources have a share.
std::string from(const Tally& tally) {
    if (tally.bytes == 0) {
        return "-";
    }
    const auto most = std::max_element(tally.source.begin(), tally.source.end());
    const char* word = kSourceWords.at(static_cast<std::size_t>(most - tally.source.begin()));
    if (*most == tally.bytes) {
        return word;
    }
    return fmt::format("{} {}%", word, *most * 100 / tally.bytes);
}

/// The shares that are not zero, "miss 1.2 MiB (80 %), ...".
template <std::size_t N>
std::string shares(const std::array<std::uint64_t, N>& bytes,
                   const std::array<const char*, N>& names, std::uint64_t all) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < N; ++i) {
        if (bytes[i] != 0) {
            parts.push_back(
                fmt::format("{} {} ({} %)", names[i], human_size(bytes[i]), bytes[i] * 100 / all));
        }
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string losses_text(const Losses& losses) {
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count != 0) {
            parts.push_back(fmt::format("{} {}", count, what));
        }
    };
    add(losses.blocks, "blocks of 128 KiB");
    add(losses.names, "file names");
    add(losses.processes, "processes");
    add(losses.opens, "overflows of opens");
    add(losses.probes, "probes that did not attach");
    return fmt::format("INCOMPLETE: lost {}", fmt::join(parts, ", "));
}

void write_head(const ShowOptions& options, const BootSummary& run, std::ostream& out) {
    const Boot& boot = run.boot;
    const auto line = [&](const std::string& text) { out << wrap(text, options.width, 2) << '\n'; };
    line(fmt::format("{}, run {}: {}", printable(options.path), run.id,
                     boot.command.empty() ? "boot" : "command " + printable(boot.command)));
    line(fmt::format("recorded {} UTC for {:.1f} s on Linux {} {}", utc_time(boot.started_ns),
                     static_cast<double>(boot.duration_ns) / 1e9, printable(boot.kernel),
                     printable(boot.machine)));
    line(fmt::format("pages seen by {}; {}", printable(boot.rung),
                     boot.complete() ? "complete" : losses_text(boot.losses)));
    for (const std::string& limit : boot.limits) {
        line("limit: " + printable(limit));
    }
    out << '\n';
}

std::string file_name(const Trace& trace, const Row& row) {
    const File& file = trace.files[*row.index];
    if (file.kind == FileKind::kDevice) {
        return fmt::format("[metadata of {}]", printable(row.name));
    }
    if (row.name.empty()) {
        return fmt::format("[inode {} of {}]", file.inode,
                           printable(trace.devices[file.device].mount_point));
    }
    const bool slash = file.kind == FileKind::kDirectory && !row.name.ends_with('/');
    return printable(row.name) + (slash ? "/" : "") + (file.deleted ? " (deleted)" : "");
}

std::string user_name(const Trace& trace, std::optional<std::uint32_t> process) {
    return process ? printable(trace.processes[*process].comm) : "-";
}

/// The columns that all tables begin with.
std::string front(const Tally& tally) {
    return fmt::format("{:>8} {:>8} {:>6}  {} ",
                       tally.first_use_ns ? seconds(*tally.first_use_ns) : "-",
                       human_size(tally.bytes), tally.ranges, fit(from(tally), kFromWidth));
}

std::string row_text(const Trace& trace, By by, const Row& row, std::size_t width) {
    std::string text = front(row.tally);
    std::string rest;
    if (by == By::kFile) {
        text += fit(user_name(trace, row.tally.first_user), kUserWidth) + ' ';
        rest = file_name(trace, row);
    } else if (by == By::kProcess) {
        text += fmt::format("{:>5} {:>7} ", row.tally.files,
                            row.index ? fmt::format("{}", trace.processes[*row.index].pid) : "-");
        const std::string unit = row.index ? printable(trace.processes[*row.index].unit) : "";
        rest = user_name(trace, row.index) + (unit.empty() ? "" : " (" + unit + ")");
    } else {
        text += fmt::format("{:>5} ", row.tally.files);
        rest = row.name.empty() ? "(no unit)" : printable(row.name);
    }
    const std::size_t used = columns(text);
    return text + shorten(rest, width > used ? width - used : 0);
}

std::string title(By by) {
    constexpr char kFront[] = "first, s     read ranges  from       ";
    switch (by) {
        case By::kFile:
            return kFront + fit("first user", kUserWidth) + " file";
        case By::kProcess:
            return std::string(kFront) + "files     pid process";
        case By::kUnit:
            break;
    }
    return std::string(kFront) + "files unit";
}

void write_total(const Trace& trace, std::size_t rows, const ShowOptions& options,
                 std::ostream& out) {
    const Tally all = total(trace);
    const auto line = [&](const std::string& text) { out << wrap(text, options.width, 2) << '\n'; };
    out << fmt::format("{:>8} {:>8} {:>6}\n\n", "total", human_size(all.bytes), all.ranges);
    line(fmt::format("{} rows; {} ranges of {} files by {} processes", rows, all.ranges, all.files,
                     trace.processes.size()));
    if (all.bytes != 0) {
        line("from: " + shares(all.source, kSourceNames, all.bytes));
        line("use: " + shares(all.use, kUseNames, all.bytes));
    }
}

void show_table(const ShowOptions& options, const BootSummary& run, const Trace& trace,
                std::ostream& out) {
    write_head(options, run, out);
    out << title(options.by) << '\n';
    const auto rows = summarize(trace, options.by, options.sort);
    for (const Row& row : rows) {
        out << row_text(trace, options.by, row, options.width) << '\n';
    }
    write_total(trace, rows.size(), options, out);
}

Result<BootSummary> choose(const Database& database, const ShowOptions& options) {
    const auto boots = database.boots();
    if (!boots) {
        return boots.error().in(options.path);
    }
    if (boots->empty()) {
        return Error{ENOENT, options.path + ": holds no run yet"};
    }
    if (!options.boot) {
        return boots->back();
    }
    const auto found = std::find_if(boots->begin(), boots->end(), [&](const BootSummary& boot) {
        return boot.id == *options.boot;
    });
    if (found == boots->end()) {
        return Error{ENOENT, fmt::format("{}: run {} (it holds {} to {})", options.path,
                                         *options.boot, boots->front().id, boots->back().id)};
    }
    return *found;
}

}  // namespace

Result<void> show(const ShowOptions& options, std::ostream& out) {
    const auto database = Database::open(options.path);
    if (!database) {
        return database.error();
    }
    const auto run = choose(*database, options);
    if (!run) {
        return run.error();
    }
    Result<Trace> trace = [&] {
        const Progress progress(progress_stream(options.progress), database->connection(),
                                fmt::format("reading run {}", run->id));
        return database->trace(run->id);
    }();
    if (!trace) {
        return trace.error().in(options.path);
    }
    ShowOptions page = options;
    page.width = std::max(options.width, kMinWidth);
    if (options.json) {
        show_json(page, *run, *trace, out);
    } else {
        show_table(page, *run, *trace, out);
    }
    return {};
}

}  // namespace lull::db
