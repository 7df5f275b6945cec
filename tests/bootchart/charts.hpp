// SPDX-License-Identifier: MIT
// Boot charts made on the spot, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lull::bootchart {

/// Name in the archive -> content, in the order of the map.
using Members = std::map<std::string, std::string>;

/// A gzipped tar of them. `path` gets it.
void write_tgz(const std::string& path, const Members& members);
void write_directory(const std::string& path, const Members& members);

/// One block of a log: the time in 10 ms, lines, an empty line.
[[nodiscard]] std::string block(std::int64_t time, const std::vector<std::string>& lines);

/// A line of /proc/PID/stat.
struct PsLine {
    int pid = 1;
    std::string comm = "init";
    char state = 'S';
    int parent = 0;
    std::int64_t user = 0;
    std::int64_t system = 0;
    std::int64_t start = 0;
    std::int64_t blkio = 0;
};
[[nodiscard]] std::string ps_line(const PsLine& line);

/// A line of /proc/diskstats.
struct DiskLine {
    std::string name = "sda";
    std::int64_t reads = 0;
    std::int64_t sectors_read = 0;
    std::int64_t writes = 0;
    std::int64_t sectors_written = 0;
    std::int64_t busy_ms = 0;
};
[[nodiscard]] std::string disk_line(const DiskLine& line);

/// A whole boot, invented: `processes` start evenly and live for a tenth of it, read and compute;
/// the disk is busy until `busy_seconds` and then rests.
struct InventedBoot {
    double seconds = 20;
    double busy_seconds = 15;
    int hz = 5;
    int processes = 40;
    int cpus = 2;
    std::uint32_t seed = 1;
    std::string kernel = "Linux 6.1.0-1-amd64";
    std::string cmdline = "root=/dev/sda1 ro quiet";
    std::string cpu = "Example CPU 1";
};
[[nodiscard]] Members invent(const InventedBoot& boot);

/// A directory that goes when the object does.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

}  // namespace lull::bootchart
