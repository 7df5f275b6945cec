// SPDX-License-Identifier: MIT
#include "db/validate.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "db/text.hpp"

namespace lull::db {
namespace {

constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();

Error broken(std::string what) {
    return {EINVAL, std::move(what)};
}

Result<void> fits(std::string_view name, std::uint64_t value) {
    if (value > kMaxSigned) {
        return broken(fmt::format("{} {} is out of range", name, value));
    }
    return {};
}

Result<void> short_enough(std::string_view name, const std::string& text) {
    if (text.size() > kMaxText) {
        return broken(fmt::format("{} of {} bytes is too long", name, text.size()));
    }
    return {};
}

/// The first error of several checks.
Result<void> all_of(std::initializer_list<Result<void>> checks) {
    const auto* bad = std::find_if(checks.begin(), checks.end(),
                                   [](const Result<void>& check) { return !check.ok(); });
    return bad == checks.end() ? Result<void>{} : *bad;
}

Result<void> validate_boot(const Boot& boot) {
    for (const std::string& limit : boot.limits) {
        if (limit.empty() || limit.find('\n') != std::string::npos) {
            return broken("a limit of the run is not a line of text");
        }
    }
    return all_of({short_enough("boot id", boot.boot_id), short_enough("kernel", boot.kernel),
                   short_enough("machine", boot.machine), short_enough("command", boot.command),
                   short_enough("kernel command line", boot.kernel_cmdline),
                   short_enough("rung", boot.rung), fits("duration", boot.duration_ns),
                   fits("lost blocks", boot.losses.blocks), fits("lost names", boot.losses.names),
                   fits("lost processes", boot.losses.processes),
                   fits("lost opens", boot.losses.opens), fits("lost probes", boot.losses.probes)});
}

Result<void> validate_device(const Device& device) {
    if (device.mount_point.find('\0') != std::string::npos ||
        (!device.mount_point.empty() && device.mount_point.front() != '/')) {
        return broken("mount point '" + printable(device.mount_point) + "' is not absolute");
    }
    return all_of({short_enough("file system UUID", device.fs_uuid),
                   short_enough("file system type", device.fs_type),
                   short_enough("mount point", device.mount_point),
                   short_enough("device name", device.source)});
}

Result<void> validate_process(const Process& process) {
    return all_of({short_enough("comm", process.comm),
                   short_enough("executable", process.executable),
                   short_enough("cgroup", process.cgroup), short_enough("unit", process.unit),
                   fits("first use", process.first_use_ns)});
}

Result<void> validate_file(const File& file, const Trace& trace) {
    if (file.device >= trace.devices.size()) {
        return broken(
            fmt::format("a file is on device {} of {}", file.device, trace.devices.size()));
    }
    if (file.kind > FileKind::kInode) {
        return broken("a file is of an unknown kind");
    }
    return all_of({validate_path(file.path), fits("file size", file.size)});
}

Result<void> validate_read(const Read& read, const Trace& trace) {
    if (read.file >= trace.files.size()) {
        return broken(fmt::format("a read is of file {} of {}", read.file, trace.files.size()));
    }
    if (read.process && *read.process >= trace.processes.size()) {
        return broken(
            fmt::format("a read is by process {} of {}", *read.process, trace.processes.size()));
    }
    if (read.pages == 0 || read.first_page >= kMaxPage || read.pages > kMaxPage - read.first_page) {
        return broken(fmt::format("{} pages from page {} on are no range of a file", read.pages,
                                  read.first_page));
    }
    if (read.use > Use::kCached || read.source > Source::kReplay) {
        return broken("a read has an unknown use or source");
    }
    return all_of({fits("first use", read.first_use_ns),
                   fits("disk position", read.disk_position.value_or(0))});
}

Result<void> validate_disjoint(const Trace& trace) {
    std::vector<std::uint32_t> order(trace.reads.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const Read& left = trace.reads[a];
        const Read& right = trace.reads[b];
        return std::pair(left.file, left.first_page) < std::pair(right.file, right.first_page);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const Read& before = trace.reads[order[i - 1]];
        const Read& read = trace.reads[order[i]];
        if (before.file == read.file && before.first_page + before.pages > read.first_page) {
            return broken(fmt::format("page {} of '{}' is in two ranges", read.first_page,
                                      printable(trace.files[read.file].path)));
        }
    }
    return {};
}

Result<void> validate_counts(const Trace& trace) {
    if (trace.devices.size() > kMaxDevices || trace.files.size() > kMaxFiles ||
        trace.processes.size() > kMaxProcesses || trace.reads.size() > kMaxReads) {
        return broken(fmt::format("{} devices, {} files, {} processes and {} reads are no run",
                                  trace.devices.size(), trace.files.size(), trace.processes.size(),
                                  trace.reads.size()));
    }
    return {};
}

/// The first error of `check` over the items of `range`.
template <typename Range, typename Check>
Result<void> each(const Range& range, const Check& check) {
    for (const auto& item : range) {
        if (auto result = check(item); !result) {
            return result;
        }
    }
    return {};
}

}  // namespace

Result<void> validate_path(const std::string& path) {
    if (path.empty()) {
        return {};
    }
    if (path.size() > kMaxPath) {
        return broken(fmt::format("a path of {} bytes is too long", path.size()));
    }
    if (path.front() != '/') {
        return broken("path '" + printable(path) + "' does not start with '/'");
    }
    if (path.find('\0') != std::string::npos) {
        return broken("path '" + printable(path) + "' holds a NUL byte");
    }
    const std::string_view all = path;
    for (std::size_t start = 1; start < all.size();) {
        const std::size_t end = std::min(all.find('/', start), all.size());
        const std::string_view component = all.substr(start, end - start);
        if (component.empty() || component == "." || component == ".." || end + 1 == all.size()) {
            return broken("path '" + printable(path) + "' is not in its plain form");
        }
        start = end + 1;
    }
    return {};
}

Result<void> validate(const Trace& trace) {
    if (auto result = all_of({validate_counts(trace), validate_boot(trace.boot)}); !result) {
        return result;
    }
    if (auto result = all_of(
            {each(trace.devices, validate_device), each(trace.processes, validate_process),
             each(trace.files, [&](const File& file) { return validate_file(file, trace); }),
             each(trace.reads, [&](const Read& read) { return validate_read(read, trace); })});
        !result) {
        return result;
    }
    return validate_disjoint(trace);
}

}  // namespace lull::db
