// SPDX-License-Identifier: MIT
// The model of one boot as a boot chart tells it: every reader gives this, and everything that
// compares or draws takes it.
//
// Times are nanoseconds on the clock of the chart: since the kernel started (CLOCK_BOOTTIME), or
// since the chart began where it says so (Boot::clock). Series of different kinds are sampled at
// different moments: join them by time, never by index. A sample tells what happened from `from_ns`
// (excluded) to `to_ns`; series are in order of time and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lull::bootchart {

/// Time of all CPUs together: a second of a machine with two CPUs is two seconds here.
struct CpuSample {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t user_ns = 0;    ///< user and nice, guests included
    std::int64_t system_ns = 0;  ///< kernel, interrupts
    std::int64_t iowait_ns = 0;  ///< idle with I/O under way
    std::int64_t idle_ns = 0;
    std::int64_t steal_ns = 0;  ///< taken by the host of a virtual machine

    [[nodiscard]] std::int64_t busy_ns() const { return user_ns + system_ns + steal_ns; }
    [[nodiscard]] std::int64_t all_ns() const { return busy_ns() + iowait_ns + idle_ns; }
};

struct DiskSample {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t reads = 0;   ///< requests
    std::uint64_t writes = 0;  ///< requests
    /// With a request in flight. The kernel counts it when requests end, so it can exceed the
    /// length of the sample; on devices with many requests in flight it tells little.
    std::int64_t busy_ns = 0;
};

struct Disk {
    std::string name;  ///< as the kernel calls it: "sda", "nvme0n1", "dm-0", "sda1"
    /// Whether its I/O belongs into a sum over disks. Partitions of a disk that is listed too, and
    /// devices that are made of others (dm, md, loop, ...), would be counted twice.
    bool counted = true;
    std::vector<DiskSample> samples;  ///< samples without I/O are left out
};

struct MemorySample {
    std::int64_t at_ns = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;
    std::uint64_t buffers_bytes = 0;
    std::uint64_t cached_bytes = 0;
    std::uint64_t swap_used_bytes = 0;
};

struct ProcessSample {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t io_wait_ns = 0;  ///< see Boot::io_wait
};

struct Process {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;       ///< the first parent that is known: orphans keep theirs
    std::optional<std::size_t> parent;  ///< index into Boot::processes
    std::string name;                   ///< the last one it had (comm, or argv[0] on Android)
    std::string command;                ///< executable and arguments, if the chart tells
    std::int64_t start_ns = 0;          ///< when it started, or was seen first if that is unknown
    std::int64_t end_ns = 0;            ///< when it was seen last
    bool ended = false;                 ///< gone before the chart ended
    std::int64_t cpu_ns = 0;            ///< in all its life, as far as seen
    std::int64_t io_wait_ns = 0;
    std::vector<ProcessSample> samples;  ///< those with CPU time or I/O wait
};

struct Milestone {
    std::string name;  ///< "multi-user.target", "idle", a line of the kernel log
    std::int64_t at_ns = 0;
};

/// How the I/O wait of processes is known.
enum class IoWait : std::uint8_t {
    kUnknown = 0,
    kStates = 1,  ///< estimate: a process seen in state D is taken to have waited for the sample
    kDelays = 2,  ///< the kernel's delay accounting
};

enum class Clock : std::uint8_t {
    kBoot = 0,   ///< since the kernel started
    kChart = 1,  ///< since the chart began
};

/// What the chart says about itself; a fact that is not told is empty or 0.
struct Facts {
    std::string version;         ///< of the program that wrote the chart
    std::string title;           ///< "Boot chart for HOST (DATE)"
    std::string kernel;          ///< uname -a or what there is of it
    std::string release;         ///< of the distribution
    std::string cpu;             ///< model
    unsigned cpus = 0;           ///< their number
    std::string kernel_cmdline;  ///< /proc/cmdline
};

/// Timed blocks of the logs of a classic archive, for those who check a reader.
struct BlockCounts {
    std::size_t processes = 0;
    std::size_t cpu = 0;
    std::size_t disks = 0;
    std::size_t memory = 0;
};

struct Boot {
    std::string source;  ///< where it was read from
    std::string format;  ///< "bootchart", "bootchart2", "android", "systemd-bootchart", ...
    Facts facts;
    Clock clock = Clock::kBoot;
    std::int64_t begin_ns = 0;  ///< the first and the last moment that the chart shows
    std::int64_t end_ns = 0;
    BlockCounts blocks;
    std::vector<CpuSample> cpu;
    std::vector<Disk> disks;
    std::vector<MemorySample> memory;
    std::vector<Process> processes;  ///< in order of their start
    IoWait io_wait = IoWait::kUnknown;
    std::vector<Milestone> milestones;  ///< in order of time
    /// What is missing or was repaired, a sentence each.
    std::vector<std::string> warnings;

    [[nodiscard]] std::int64_t span_ns() const { return end_ns - begin_ns; }
};

}  // namespace lull::bootchart
