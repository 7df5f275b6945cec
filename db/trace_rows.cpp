// SPDX-License-Identifier: MIT
#include "db/trace_rows.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/connection.hpp"
#include "db/validate.hpp"

namespace lull::db {
namespace {

using Ids = std::vector<std::int64_t>;
using Indices = std::unordered_map<std::int64_t, std::uint32_t>;

// Inode numbers use all 64 bits on some file systems; SQLite's integers are signed.
std::int64_t as_signed(std::uint64_t value) {
    return std::bit_cast<std::int64_t>(value);
}
std::uint64_t as_unsigned(std::int64_t value) {
    return std::bit_cast<std::uint64_t>(value);
}

template <typename... Values>
void run(SQLite::Statement& statement, const Values&... values) {
    statement.reset();
    SQLite::bind(statement, values...);
    statement.exec();
}

/// Runs a statement that ends in RETURNING id.
template <typename... Values>
std::int64_t run_for_id(SQLite::Statement& statement, const Values&... values) {
    statement.reset();
    SQLite::bind(statement, values...);
    statement.executeStep();
    const std::int64_t id = statement.getColumn(0).getInt64();
    while (statement.executeStep()) {
    }
    return id;
}

// The columns of boots that read_boot() takes, after the id.
constexpr char kBootColumns[] =
    "boot_id, kernel, machine, command, kernel_cmdline, started_ns, duration_ns, rung, limits, "
    "lost_blocks, lost_names, lost_processes, lost_opens, lost_probes";

/// The run in the current row of `query`, whose columns from 1 on are kBootColumns.
Boot read_boot(SQLite::Statement& query) {
    Boot boot{.boot_id = query.getColumn(1).getString(),
              .kernel = query.getColumn(2).getString(),
              .machine = query.getColumn(3).getString(),
              .command = query.getColumn(4).getString(),
              .kernel_cmdline = query.getColumn(5).getString(),
              .started_ns = query.getColumn(6).getInt64(),
              .duration_ns = as_unsigned(query.getColumn(7).getInt64()),
              .rung = query.getColumn(8).getString(),
              .limits = {},
              .losses = {.blocks = as_unsigned(query.getColumn(10).getInt64()),
                         .names = as_unsigned(query.getColumn(11).getInt64()),
                         .processes = as_unsigned(query.getColumn(12).getInt64()),
                         .opens = as_unsigned(query.getColumn(13).getInt64()),
                         .probes = as_unsigned(query.getColumn(14).getInt64())}};
    const std::string limits = query.getColumn(9).getString();
    for (std::size_t start = 0; start < limits.size();) {
        const std::size_t end = std::min(limits.find('\n', start), limits.size());
        boot.limits.push_back(limits.substr(start, end - start));
        start = end + 1;
    }
    return boot;
}

std::int64_t insert_boot(SQLite::Database& connection, const Boot& boot) {
    SQLite::Statement insert(
        connection,
        fmt::format("INSERT INTO boots ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                    "?, ?) RETURNING id",
                    kBootColumns));
    const Losses& losses = boot.losses;
    return run_for_id(insert, boot.boot_id, boot.kernel, boot.machine, boot.command,
                      boot.kernel_cmdline, boot.started_ns, as_signed(boot.duration_ns), boot.rung,
                      fmt::format("{}", fmt::join(boot.limits, "\n")), as_signed(losses.blocks),
                      as_signed(losses.names), as_signed(losses.processes), as_signed(losses.opens),
                      as_signed(losses.probes));
}

Ids insert_devices(SQLite::Database& connection, const Trace& trace) {
    SQLite::Statement insert(
        connection,
        "INSERT INTO devices (fs_uuid, fs_type, mount_point, source, major, minor) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (fs_uuid, fs_type, mount_point) DO UPDATE SET "
        "source = excluded.source, major = excluded.major, minor = excluded.minor RETURNING id");
    std::vector<bool> used(trace.devices.size());
    for (const File& file : trace.files) {
        used[file.device] = true;
    }
    Ids ids(trace.devices.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const Device& device = trace.devices[i];
        if (used[i]) {
            ids[i] = run_for_id(insert, device.fs_uuid, device.fs_type, device.mount_point,
                                device.source, device.major, device.minor);
        }
    }
    return ids;
}

Ids insert_files(SQLite::Database& connection, const Trace& trace, const Ids& devices) {
    SQLite::Statement insert(
        connection,
        "INSERT INTO files (device, kind, path, inode, generation, size, mtime_ns, deleted) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (device, kind, inode, generation, path, size, mtime_ns) "
        "DO UPDATE SET deleted = excluded.deleted RETURNING id");
    Ids ids;
    ids.reserve(trace.files.size());
    for (const File& file : trace.files) {
        ids.push_back(run_for_id(insert, devices[file.device], static_cast<int>(file.kind),
                                 file.path, as_signed(file.inode), file.generation,
                                 as_signed(file.size), file.mtime_ns, file.deleted ? 1 : 0));
    }
    return ids;
}

Ids insert_processes(SQLite::Database& connection, const Trace& trace, std::int64_t boot) {
    SQLite::Statement insert(connection,
                             "INSERT INTO processes (boot, pid, parent_pid, comm, executable, "
                             "cgroup, unit, first_use_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                             "RETURNING id");
    Ids ids;
    ids.reserve(trace.processes.size());
    for (const Process& process : trace.processes) {
        ids.push_back(run_for_id(insert, boot, process.pid, process.parent_pid, process.comm,
                                 process.executable, process.cgroup, process.unit,
                                 as_signed(process.first_use_ns)));
    }
    return ids;
}

void insert_reads(SQLite::Database& connection, const Trace& trace, std::int64_t boot,
                  const Ids& files, const Ids& processes) {
    // In the order of the table: each row then lands behind the one before.
    std::vector<std::uint32_t> order(trace.reads.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const Read& left = trace.reads[a];
        const Read& right = trace.reads[b];
        return std::pair(files[left.file], left.first_page) <
               std::pair(files[right.file], right.first_page);
    });
    SQLite::Statement insert(connection,
                             "INSERT INTO reads (boot, file, first_page, pages, use, source, "
                             "first_use_ns, process, disk_position) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const std::uint32_t index : order) {
        const Read& read = trace.reads[index];
        insert.reset();
        insert.clearBindings();
        SQLite::bind(insert, boot, files[read.file], as_signed(read.first_page), read.pages,
                     static_cast<int>(read.use), static_cast<int>(read.source),
                     as_signed(read.first_use_ns));
        if (read.process) {
            insert.bind(8, processes[*read.process]);
        }
        if (read.disk_position) {
            insert.bind(9, as_signed(*read.disk_position));
        }
        insert.exec();
    }
}

void insert_lookups(SQLite::Database& connection, const Trace& trace, std::int64_t boot,
                    const Ids& files) {
    std::vector<bool> read_from(trace.files.size());
    for (const Read& read : trace.reads) {
        read_from[read.file] = true;
    }
    SQLite::Statement insert(connection,
                             "INSERT OR IGNORE INTO lookups (boot, file) VALUES (?, ?)");
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (!read_from[i]) {
            run(insert, boot, files[i]);
        }
    }
}

Error too_many(const char* what) {
    return {EINVAL, fmt::format("the run has more {} than a run can have", what)};
}

Error out_of_range(const char* what) {
    return {EINVAL, fmt::format("a {} of the run is out of range or missing", what)};
}

/// The value of a column if it fits T, which is unsigned.
template <typename T>
bool narrow(const SQLite::Column& column, T& into) {
    const std::int64_t value = column.getInt64();
    into = static_cast<T>(value);
    return column.isInteger() && value >= 0 &&
           static_cast<std::uint64_t>(into) == static_cast<std::uint64_t>(value);
}

template <typename T>
bool narrow_enum(const SQLite::Column& column, T& into) {
    std::uint8_t value = 0;
    const bool fits = narrow(column, value);
    into = static_cast<T>(value);
    return fits;
}

/// Fills trace.devices with the devices of its files; `devices` maps ids to indices.
Result<Indices> select_devices(SQLite::Database& connection, std::int64_t boot, Trace& trace) {
    SQLite::Statement query(
        connection,
        "SELECT id, fs_uuid, fs_type, mount_point, source, major, minor FROM devices WHERE id IN "
        "(SELECT device FROM files WHERE id IN (SELECT file FROM reads WHERE boot = ?1 UNION "
        "SELECT file FROM lookups WHERE boot = ?1)) ORDER BY id");
    query.bind(1, boot);
    Indices indices;
    while (query.executeStep()) {
        if (trace.devices.size() == kMaxDevices) {
            return too_many("devices");
        }
        Device device{.fs_uuid = query.getColumn(1).getString(),
                      .fs_type = query.getColumn(2).getString(),
                      .mount_point = query.getColumn(3).getString(),
                      .source = query.getColumn(4).getString()};
        if (!narrow(query.getColumn(5), device.major) ||
            !narrow(query.getColumn(6), device.minor)) {
            return out_of_range("device");
        }
        indices.emplace(query.getColumn(0).getInt64(), trace.devices.size());
        trace.devices.push_back(std::move(device));
    }
    return indices;
}

Result<Indices> select_files(SQLite::Database& connection, std::int64_t boot, Trace& trace,
                             const Indices& devices) {
    SQLite::Statement query(
        connection,
        "SELECT id, device, kind, path, inode, generation, size, mtime_ns, deleted FROM files "
        "WHERE id IN (SELECT file FROM reads WHERE boot = ?1 UNION SELECT file FROM lookups WHERE "
        "boot = ?1) ORDER BY id");
    query.bind(1, boot);
    Indices indices;
    while (query.executeStep()) {
        if (trace.files.size() == kMaxFiles) {
            return too_many("files");
        }
        const auto device = devices.find(query.getColumn(1).getInt64());
        File file{.path = query.getColumn(3).getString(),
                  .inode = as_unsigned(query.getColumn(4).getInt64()),
                  .mtime_ns = query.getColumn(7).getInt64(),
                  .deleted = query.getColumn(8).getInt64() != 0};
        if (device == devices.end() || !narrow_enum(query.getColumn(2), file.kind) ||
            !narrow(query.getColumn(5), file.generation) ||
            !narrow(query.getColumn(6), file.size)) {
            return out_of_range("file");
        }
        file.device = device->second;
        indices.emplace(query.getColumn(0).getInt64(), trace.files.size());
        trace.files.push_back(std::move(file));
    }
    return indices;
}

Result<Indices> select_processes(SQLite::Database& connection, std::int64_t boot, Trace& trace) {
    SQLite::Statement query(connection,
                            "SELECT id, pid, parent_pid, comm, executable, cgroup, unit, "
                            "first_use_ns FROM processes WHERE boot = ? ORDER BY id");
    query.bind(1, boot);
    Indices indices;
    while (query.executeStep()) {
        if (trace.processes.size() == kMaxProcesses) {
            return too_many("processes");
        }
        Process process{.comm = query.getColumn(3).getString(),
                        .executable = query.getColumn(4).getString(),
                        .cgroup = query.getColumn(5).getString(),
                        .unit = query.getColumn(6).getString()};
        if (!narrow(query.getColumn(1), process.pid) ||
            !narrow(query.getColumn(2), process.parent_pid) ||
            !narrow(query.getColumn(7), process.first_use_ns)) {
            return out_of_range("process");
        }
        indices.emplace(query.getColumn(0).getInt64(), trace.processes.size());
        trace.processes.push_back(std::move(process));
    }
    return indices;
}

/// The read in the current row, or nothing if it is out of range.
std::optional<Read> read_row(SQLite::Statement& query, const Indices& files,
                             const Indices& processes) {
    Read read;
    const auto file = files.find(query.getColumn(0).getInt64());
    if (file == files.end() || !narrow(query.getColumn(1), read.first_page) ||
        !narrow(query.getColumn(2), read.pages) || !narrow_enum(query.getColumn(3), read.use) ||
        !narrow_enum(query.getColumn(4), read.source) ||
        !narrow(query.getColumn(5), read.first_use_ns)) {
        return std::nullopt;
    }
    read.file = file->second;
    if (const auto column = query.getColumn(6); !column.isNull()) {
        const auto process = processes.find(column.getInt64());
        if (process == processes.end()) {
            return std::nullopt;
        }
        read.process = process->second;
    }
    if (const auto column = query.getColumn(7); !column.isNull()) {
        if (!narrow(column, read.disk_position.emplace())) {
            return std::nullopt;
        }
    }
    return read;
}

Result<void> select_reads(SQLite::Database& connection, std::int64_t boot, Trace& trace,
                          const Indices& files, const Indices& processes) {
    SQLite::Statement query(connection,
                            "SELECT file, first_page, pages, use, source, first_use_ns, process, "
                            "disk_position FROM reads WHERE boot = ? ORDER BY file, first_page");
    query.bind(1, boot);
    while (query.executeStep()) {
        if (trace.reads.size() == kMaxReads) {
            return too_many("reads");
        }
        const auto read = read_row(query, files, processes);
        if (!read) {
            return out_of_range("read");
        }
        trace.reads.push_back(*read);
    }
    return {};
}

Result<Trace> select_trace(SQLite::Database& connection, std::int64_t boot_id) {
    Trace trace;
    SQLite::Statement query(connection,
                            fmt::format("SELECT id, {} FROM boots WHERE id = ?", kBootColumns));
    query.bind(1, boot_id);
    if (!query.executeStep()) {
        return Error{ENOENT, "no such run"};
    }
    trace.boot = read_boot(query);
    const auto devices = select_devices(connection, boot_id, trace);
    if (!devices) {
        return devices.error();
    }
    const auto files = select_files(connection, boot_id, trace, *devices);
    if (!files) {
        return files.error();
    }
    const auto processes = select_processes(connection, boot_id, trace);
    if (!processes) {
        return processes.error();
    }
    if (auto reads = select_reads(connection, boot_id, trace, *files, *processes); !reads) {
        return reads.error();
    }
    return trace;
}

}  // namespace

std::int64_t insert_trace(SQLite::Database& connection, const Trace& trace) {
    const std::int64_t boot = insert_boot(connection, trace.boot);
    const Ids devices = insert_devices(connection, trace);
    const Ids files = insert_files(connection, trace, devices);
    const Ids processes = insert_processes(connection, trace, boot);
    insert_reads(connection, trace, boot, files, processes);
    insert_lookups(connection, trace, boot, files);
    return boot;
}

Result<Trace> read_trace(SQLite::Database& connection, std::int64_t boot_id) {
    const std::string name = fmt::format("run {}", boot_id);
    return guarded(name, [&]() -> Result<Trace> {
        auto trace = select_trace(connection, boot_id);
        if (!trace) {
            return trace.error().in(name);
        }
        if (const auto valid = validate(*trace); !valid) {
            return valid.error().in(name);
        }
        return trace;
    });
}

Result<std::vector<BootSummary>> read_boots(SQLite::Database& connection) {
    return guarded("runs", [&]() -> Result<std::vector<BootSummary>> {
        std::vector<BootSummary> boots;
        SQLite::Statement query(connection,
                                fmt::format("SELECT id, {} FROM boots ORDER BY id", kBootColumns));
        while (query.executeStep()) {
            boots.push_back({query.getColumn(0).getInt64(), read_boot(query)});
        }
        return boots;
    });
}

}  // namespace lull::db
