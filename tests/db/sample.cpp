// SPDX-License-Identifier: MIT
#include "tests/db/sample.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp

#include "db/text.hpp"

namespace lull::db {
namespace {

Boot sample_boot(int boot) {
    return {.boot_id = fmt::format("00000000-0000-4000-8000-{:012}", boot),
            .kernel = "6.18.44-test",
            .machine = "x86_64",
            .command = "",
            .kernel_cmdline = "root=UUID=1234 quiet",
            .started_ns = 1'790'000'000'000'000'000 + boot,
            .duration_ns = 12'500'000'000,
            .rung = "events",
            .limits = {"mapped pages may not have been used", "a second limit"},
            .losses = {.blocks = 1, .names = 2, .processes = 3, .opens = 4, .probes = 5}};
}

std::vector<File> sample_files() {
    const std::string longest = "/" + std::string(255, 'a') + "/" + std::string(255, '\xff');
    return {
        {.path = "/usr/bin/bash", .inode = 10, .generation = 7, .size = 1'234'567, .mtime_ns = -5},
        {.path = "/tmp/line\nbreak", .inode = 11, .size = 9000, .mtime_ns = 1},
        {.path = "/home/caf\xe9/\x01\x1b[31m", .inode = 12, .size = 9000, .mtime_ns = 2},
        {.path = longest, .inode = 0xffff'ffff'ffff'fff0, .size = 9000, .mtime_ns = 3},
        {.device = 1, .path = "/var/lib/gone", .inode = 13, .size = 0, .deleted = true},
        {.kind = FileKind::kDevice, .path = "", .size = std::uint64_t{1} << 40},
        {.device = 1, .kind = FileKind::kDirectory, .path = "/", .inode = 2, .size = 4096},
        {.device = 1, .kind = FileKind::kInode, .path = "", .inode = 99},
    };
}

}  // namespace

Trace sample_trace(int boot) {
    Trace trace;
    trace.boot = sample_boot(boot);
    trace.devices = {{"0b5e-ext4", "ext4", "/", "/dev/sda1", 8, 1},
                     {"77aa-xfs", "xfs", "/var", "/dev/mapper/var", 253, 0}};
    trace.processes = {{1, 0, "systemd", "/usr/lib/systemd/systemd", "/init.scope", "", 1000},
                       {321, 1, "ba\xffsh", "/usr/bin/bash", "/system.slice/a.service", "a.service",
                        2'000'000'000},
                       {2, 0, "kthreadd", "", "", "", 5}};
    trace.files = sample_files();
    trace.reads = {
        {0, 0, 32, Use::kDemand, Source::kMiss, 1'000'000, 0, 4096},
        {0, 40, 8, Use::kDemand, Source::kReadahead, 2'000'000, 1, 1 << 20},
        {1, 0, 3, Use::kMapped, Source::kMemory, 3'000'000, 1, std::nullopt},
        {2, 1, 1, Use::kCached, Source::kUnknown, 4'000'000, std::nullopt, 12345},
        {3, 2, 1, Use::kDemand, Source::kReplay, 5'000'000'000, 2, 8192},
        {4, 0, 1, Use::kDemand, Source::kMiss, 6'000'000, 1, std::nullopt},
        {5, (std::uint64_t{1} << 28) - 1, 1, Use::kDemand, Source::kMiss, 7, std::nullopt,
         std::uint64_t{1} << 39},
    };
    return trace;
}

Trace large_trace(std::size_t reads) {
    constexpr std::size_t kReadsPerFile = 20;
    constexpr std::uint32_t kProcesses = 200;
    Trace trace;
    trace.boot = sample_boot(1);
    trace.boot.losses = {};
    trace.devices = {{"0b5e-ext4", "ext4", "/", "/dev/sda1", 8, 1}};
    for (std::uint32_t i = 0; i < kProcesses; ++i) {
        trace.processes.push_back(
            {i + 1, 1, fmt::format("worker{}", i), "/usr/bin/worker", "/", "", i});
    }
    for (std::size_t i = 0; i < reads; ++i) {
        const std::size_t file = i / kReadsPerFile;
        if (i % kReadsPerFile == 0) {
            trace.files.push_back(
                {.path = fmt::format("/usr/lib/package-{}/file-{}", file % 97, file),
                 .inode = file + 100,
                 .size = kReadsPerFile * 40 * kPageSize,
                 .mtime_ns = 1'700'000'000'000'000'000});
        }
        trace.reads.push_back({static_cast<std::uint32_t>(file), i % kReadsPerFile * 40, 32,
                               Use::kDemand, Source::kMiss, i * 1000,
                               static_cast<std::uint32_t>(i % kProcesses), i * 131072});
    }
    return trace;
}

std::vector<std::string> lines_of(const Trace& trace) {
    const auto device = [&](std::uint32_t index) {
        const Device& d = trace.devices[index];
        return fmt::format("{} {} {} {} {}:{}", d.fs_uuid, d.fs_type, d.mount_point, d.source,
                           d.major, d.minor);
    };
    const auto file = [&](std::uint32_t index) {
        const File& f = trace.files[index];
        return fmt::format("[{}] {} {} {} {} {} {} {}", device(f.device), static_cast<int>(f.kind),
                           hex(f.path), f.inode, f.generation, f.size, f.mtime_ns, f.deleted);
    };
    const auto process = [&](std::uint32_t index) {
        const Process& p = trace.processes[index];
        return fmt::format("[{} {} {} {} {} {} {}]", p.pid, p.parent_pid, hex(p.comm), p.executable,
                           p.cgroup, p.unit, p.first_use_ns);
    };
    const Boot& b = trace.boot;
    std::vector<std::string> lines{fmt::format(
        "boot {} {} {} {} {} {} {} {} {} {} {} {} {}", b.boot_id, b.kernel, b.machine, b.command,
        b.kernel_cmdline, b.started_ns, b.duration_ns, b.rung, b.losses.blocks, b.losses.names,
        b.losses.processes, b.losses.opens, b.losses.probes)};
    for (const std::string& limit : b.limits) {
        lines.push_back("limit " + limit);
    }
    for (std::uint32_t i = 0; i < trace.files.size(); ++i) {
        lines.push_back("file " + file(i));
    }
    for (std::uint32_t i = 0; i < trace.processes.size(); ++i) {
        lines.push_back("process " + process(i));
    }
    for (const Read& r : trace.reads) {
        lines.push_back(fmt::format("read {} {}+{} {} {} {} {} {}", file(r.file), r.first_page,
                                    r.pages, static_cast<int>(r.use), static_cast<int>(r.source),
                                    r.first_use_ns, r.process ? process(*r.process) : "-",
                                    r.disk_position ? fmt::format("{}", *r.disk_position) : "-"));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::filesystem::path TemporaryDirectory::in_memory() {
    const std::filesystem::path shm = "/dev/shm";
    return std::filesystem::is_directory(shm) ? shm : std::filesystem::temp_directory_path();
}

TemporaryDirectory::TemporaryDirectory(const std::filesystem::path& parent) {
    std::string name = parent / "lull-db-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("mkdtemp");
    }
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
}

std::vector<std::string> TemporaryDirectory::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
        names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << content;
}

void sql(const std::string& path, const std::string& statements) {
    SQLite::Database connection(path, SQLite::OPEN_READWRITE);
    connection.exec(statements);
}

}  // namespace lull::db
