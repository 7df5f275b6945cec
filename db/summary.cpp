// SPDX-License-Identifier: MIT
#include "db/summary.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace lull::db {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

void count(Tally& tally, const Trace& trace, const Read& read) {
    const std::uint64_t bytes = read.pages * kPageSize;
    tally.bytes += bytes;
    ++tally.ranges;
    tally.source.at(static_cast<std::size_t>(read.source)) += bytes;
    tally.use.at(static_cast<std::size_t>(read.use)) += bytes;
    if (!tally.first_use_ns || read.first_use_ns < *tally.first_use_ns) {
        tally.first_use_ns = read.first_use_ns;
        tally.first_user = read.process;
    }
    if (read.disk_position) {
        const std::pair place(trace.files[read.file].device, *read.disk_position);
        tally.disk = tally.disk ? std::min(*tally.disk, place) : place;
    }
}

std::vector<std::uint32_t> reads_by_file(const Trace& trace) {
    std::vector<std::uint32_t> order(trace.reads.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return trace.reads[a].file < trace.reads[b].file;
    });
    return order;
}

std::vector<Row> by_file(const Trace& trace) {
    std::vector<Row> rows(trace.files.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        rows[i].name = full_path(trace, trace.files[i]);
        rows[i].index = i;
        rows[i].tally.files = 1;
    }
    for (const Read& read : trace.reads) {
        count(rows[read.file].tally, trace, read);
    }
    return rows;
}

/// Rows of reads that have the same `key(read)`, with `make(read)` for the first of each.
template <typename Key, typename Make>
std::vector<Row> by_key(const Trace& trace, const Key& key, const Make& make) {
    struct Place {
        std::size_t row;
        std::uint32_t last_file;
    };
    std::map<decltype(key(trace.reads.front())), Place> places;
    std::vector<Row> rows;
    for (const std::uint32_t index : reads_by_file(trace)) {
        const Read& read = trace.reads[index];
        const auto [entry, is_new] = places.try_emplace(key(read), Place{rows.size(), read.file});
        if (is_new) {
            rows.push_back(make(read));
        }
        Row& row = rows[entry->second.row];
        if (is_new || entry->second.last_file != read.file) {
            ++row.tally.files;
            entry->second.last_file = read.file;
        }
        count(row.tally, trace, read);
    }
    return rows;
}

std::vector<Row> by_process(const Trace& trace) {
    return by_key(
        trace, [](const Read& read) { return read.process; },
        [&](const Read& read) {
            return Row{read.process ? trace.processes[*read.process].comm : std::string(),
                       read.process,
                       {}};
        });
}

std::vector<Row> by_unit(const Trace& trace) {
    const auto unit = [&](const Read& read) {
        return read.process ? trace.processes[*read.process].unit : std::string();
    };
    return by_key(trace, unit, [&](const Read& read) { return Row{unit(read), std::nullopt, {}}; });
}

bool earlier(const Row& left, const Row& right, Sort sort) {
    switch (sort) {
        case Sort::kTime:
            return left.tally.first_use_ns.value_or(kNever) <
                   right.tally.first_use_ns.value_or(kNever);
        case Sort::kDisk:
            return std::pair(!left.tally.disk, left.tally.disk) <
                   std::pair(!right.tally.disk, right.tally.disk);
        case Sort::kSize:
            return left.tally.bytes > right.tally.bytes;
        case Sort::kPath:
            return left.name < right.name;
    }
    return false;
}

}  // namespace

std::string full_path(const Trace& trace, const File& file) {
    const std::string& mount = trace.devices[file.device].mount_point;
    if (file.kind == FileKind::kDevice) {
        return mount;
    }
    if (file.path.empty() || mount == "/" || mount.empty()) {
        return file.path;
    }
    return file.path == "/" ? mount : mount + file.path;
}

std::vector<Row> summarize(const Trace& trace, By by, Sort sort) {
    std::vector<Row> rows = by == By::kFile      ? by_file(trace)
                            : by == By::kProcess ? by_process(trace)
                                                 : by_unit(trace);
    std::stable_sort(rows.begin(), rows.end(), [sort](const Row& left, const Row& right) {
        return earlier(left, right, sort);
    });
    return rows;
}

Tally total(const Trace& trace) {
    Tally tally;
    tally.files = trace.files.size();
    for (const Read& read : trace.reads) {
        count(tally, trace, read);
    }
    return tally;
}

}  // namespace lull::db
