// SPDX-License-Identifier: MIT
#include "tests/bootchart/charts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

namespace lull::bootchart {
namespace {

struct FreeWriter {
    void operator()(archive* one) const { ::archive_write_free(one); }
};
struct FreeEntry {
    void operator()(archive_entry* one) const { ::archive_entry_free(one); }
};

}  // namespace

void write_tgz(const std::string& path, const Members& members) {
    const std::unique_ptr<archive, FreeWriter> writer(::archive_write_new());
    ::archive_write_add_filter_gzip(writer.get());
    ::archive_write_set_filter_option(writer.get(), "gzip", "compression-level", "1");
    ::archive_write_set_format_ustar(writer.get());
    if (::archive_write_open_filename(writer.get(), path.c_str()) != ARCHIVE_OK) {
        throw std::runtime_error(::archive_error_string(writer.get()));
    }
    for (const auto& [name, content] : members) {
        const std::unique_ptr<archive_entry, FreeEntry> entry(::archive_entry_new());
        ::archive_entry_set_pathname(entry.get(), name.c_str());
        ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
        ::archive_entry_set_filetype(entry.get(), AE_IFREG);
        ::archive_entry_set_perm(entry.get(), 0644);
        ::archive_write_header(writer.get(), entry.get());
        ::archive_write_data(writer.get(), content.data(), content.size());
    }
    if (::archive_write_close(writer.get()) != ARCHIVE_OK) {
        throw std::runtime_error(::archive_error_string(writer.get()));
    }
}

void write_directory(const std::string& path, const Members& members) {
    std::filesystem::create_directories(path);
    for (const auto& [name, content] : members) {
        std::ofstream(path + "/" + name, std::ios::binary) << content;
    }
}

std::string block(std::int64_t time, const std::vector<std::string>& lines) {
    std::string text = fmt::format("{}\n", time);
    for (const std::string& line : lines) {
        text.append(line).append("\n");
    }
    return text + "\n";
}

std::string ps_line(const PsLine& line) {
    return fmt::format(
        "{} ({}) {} {} 0 0 0 -1 4202752 593 6281 0 0 {} {} 0 0 20 0 1 0 {} 1208320 97 4294967295 "
        "134512640 135460575 3215765968 3215764220 134647326 0 0 0 2 3222492493 0 0 0 1 0 0 {} 0 0",
        line.pid, line.comm, line.state, line.parent, line.user, line.system, line.start,
        line.blkio);
}

std::string disk_line(const DiskLine& line) {
    return fmt::format("   8       0 {} {} 0 {} 0 {} 0 {} 0 0 {} 0", line.name, line.reads,
                       line.sectors_read, line.writes, line.sectors_written, line.busy_ms);
}

Members invent(const InventedBoot& boot) {
    std::mt19937 random(boot.seed);
    const auto ticks = static_cast<std::int64_t>(boot.seconds * 100);
    const auto busy_ticks = static_cast<std::int64_t>(boot.busy_seconds * 100);
    const std::int64_t step = std::max(1, 100 / boot.hz);
    constexpr std::int64_t kBegin = 150;
    const std::int64_t life = std::max<std::int64_t>(step * 2, ticks / 10);
    Members members;
    members["header"] = fmt::format(
        "version = 0.9\ntitle = Boot chart for test (today)\nsystem.uname = {}\nsystem.release = "
        "Example 1\nsystem.cpu = model name : {} ({})\nsystem.kernel.options = {}\n",
        boot.kernel, boot.cpu, boot.cpus, boot.cmdline);
    std::string stat;
    std::string disks;
    std::string ps;
    DiskLine disk;
    std::int64_t used = 0;
    std::int64_t idle = 0;
    for (std::int64_t time = kBegin; time <= kBegin + ticks; time += step) {
        const bool busy = time - kBegin < busy_ticks;
        const std::int64_t work = busy ? step * boot.cpus / 2 : 0;
        used += work;
        idle += step * boot.cpus - work;
        std::vector<std::string> lines{fmt::format("cpu  {} 0 0 {} 0 0 0 0 0 0", used, idle)};
        for (int cpu = 0; cpu < boot.cpus; ++cpu) {
            lines.push_back(fmt::format("cpu{} {} 0 0 {} 0 0 0 0 0 0", cpu, used / boot.cpus,
                                        idle / boot.cpus));
        }
        stat += block(time, lines);
        disks += block(time, {disk_line(disk), disk_line({.name = "sda1",
                                                          .reads = disk.reads,
                                                          .sectors_read = disk.sectors_read,
                                                          .busy_ms = disk.busy_ms})});
        if (busy) {
            disk.reads += 4 + static_cast<int>(random() % 3);
            disk.sectors_read += 800 + static_cast<int>(random() % 100);
            disk.busy_ms += step * 8;
        }
        lines = {ps_line({})};
        for (int i = 0; i < boot.processes; ++i) {
            const std::int64_t start = kBegin + i * busy_ticks / boot.processes;
            if (time < start || time >= start + life) {
                continue;
            }
            const std::int64_t age = time - start;
            lines.push_back(ps_line({.pid = 100 + i,
                                     .comm = fmt::format("worker-{}", i),
                                     .state = age % 3 == 0 ? 'D' : 'S',
                                     .parent = 1,
                                     .user = age / 4,
                                     .system = age / 8,
                                     .start = start,
                                     .blkio = age / 3}));
        }
        ps += block(time, lines);
    }
    members["proc_stat.log"] = stat;
    members["proc_diskstats.log"] = disks;
    members["proc_ps.log"] = ps;
    return members;
}

Scratch::Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "lull-chart-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("no temporary directory");
    }
    path_ = name;
}

Scratch::~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace lull::bootchart
