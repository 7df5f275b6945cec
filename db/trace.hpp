// SPDX-License-Identifier: MIT
// The trace: what one run (a boot, or a command) read. It is the shape in which the collector hands
// its work to the database and the database hands it to the replayer and to `lull show`.
//
// References between the parts are indices into the vectors of the same Trace, never database ids.
// Units: pages are 4096 bytes (kPageSize) of the file or device; times are CLOCK_MONOTONIC
// nanoseconds since the start of the trace unless said otherwise; disk positions are bytes from the
// start of the device that holds the file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lull::db {

inline constexpr std::uint64_t kPageSize = 4096;

/// How much is known about the demand behind a range.
enum class Use : std::uint8_t {
    /// Asked for by read, page fault, exec or sendfile.
    kDemand = 0,
    /// Mapped into a process by fault-around because it was in memory already. A touch of such a
    /// page makes no event, so it may or may not have been used; read ahead, since its absence
    /// would cost a disk read if it was.
    kMapped = 1,
    /// Entered the page cache, and the rung cannot tell a use from kernel readahead.
    kCached = 2,
};

/// Where the page was when it was first used.
enum class Source : std::uint8_t {
    kUnknown = 0,
    kMiss = 1,       ///< waited for the disk
    kReadahead = 2,  ///< read during the trace by the kernel's readahead, before it was used
    kMemory = 3,     ///< in memory before the trace began
    kReplay = 4,     ///< read during the trace by lull itself, before it was used
};

/// One file system, known by what survives a reboot.
struct Device {
    std::string fs_uuid;      ///< as blkid prints it; empty if the file system has none
    std::string fs_type;      ///< "ext4", "xfs", "btrfs"
    std::string mount_point;  ///< where it was mounted, absolute; the shortest if several
    std::string source;       ///< block device as mounted, e.g. "/dev/sda1"; a hint only
    std::uint32_t major = 0;  ///< device number in that run; not stable over reboots
    std::uint32_t minor = 0;
};

enum class FileKind : std::uint8_t {
    kRegular = 0,
    kDevice = 1,     ///< the block device itself: metadata of its file system, page = offset / 4096
    kDirectory = 2,  ///< looked up, on file systems whose metadata is not in the device's cache
    kInode = 3,      ///< only its inode was looked up
};

struct File {
    std::uint32_t device = 0;  ///< index into Trace::devices
    FileKind kind = FileKind::kRegular;
    /// Path inside the file system, no leading mount point, starts with '/'. Bytes, not always
    /// UTF-8. Empty for kDevice, and where it could not be found out.
    std::string path;
    std::uint64_t inode = 0;
    std::uint32_t generation = 0;  ///< inode generation, 0 if unknown
    std::uint64_t size = 0;        ///< bytes, at the end of the trace
    std::int64_t mtime_ns = 0;     ///< ns since the epoch, at the end of the trace
    bool deleted = false;          ///< gone when the trace ended; cannot be replayed
};

struct Process {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string comm;
    std::string executable;  ///< path in its file system, empty for kernel threads
    std::string cgroup;      ///< path in the unified hierarchy, starts with '/'; empty if unknown
    std::string unit;        ///< systemd unit of that cgroup, empty if none
    std::uint64_t first_use_ns = 0;
};

/// A run of pages of one file with the same use, source and first user.
struct Read {
    std::uint32_t file = 0;  ///< index into Trace::files
    std::uint64_t first_page = 0;
    std::uint32_t pages = 0;  ///< >= 1
    Use use = Use::kDemand;
    Source source = Source::kUnknown;
    std::uint64_t first_use_ns = 0;
    std::optional<std::uint32_t> process;  ///< index into Trace::processes: the first user
    std::optional<std::uint64_t>
        disk_position;  ///< bytes on the device, where the file system tells
};

/// Everything that was missed. A trace with any loss is incomplete.
struct Losses {
    std::uint64_t blocks = 0;     ///< 128 KiB blocks that found the kernel's map full
    std::uint64_t names = 0;      ///< files whose name record did not fit the ring
    std::uint64_t processes = 0;  ///< processes whose record did not fit
    std::uint64_t opens = 0;      ///< fanotify queue overflows
    std::uint64_t probes = 0;     ///< probes of the rung in use that could not be attached

    [[nodiscard]] bool any() const { return (blocks | names | processes | opens | probes) != 0; }
};

/// One run.
struct Boot {
    std::string boot_id;          ///< /proc/sys/kernel/random/boot_id
    std::string kernel;           ///< uname -r
    std::string machine;          ///< uname -m
    std::string command;          ///< the command that was recorded; empty for a boot
    std::string kernel_cmdline;   ///< /proc/cmdline
    std::int64_t started_ns = 0;  ///< wall clock at the start, ns since the epoch
    std::uint64_t duration_ns = 0;
    std::string rung;  ///< how pages were seen: "events", "fentry", "add", "residency"
    /// What this rung could not tell, a sentence each; empty if nothing.
    std::vector<std::string> limits;
    Losses losses;

    [[nodiscard]] bool complete() const { return !losses.any(); }
};

struct Trace {
    Boot boot;
    std::vector<Device> devices;
    std::vector<Process> processes;
    std::vector<File> files;
    std::vector<Read> reads;
};

}  // namespace lull::db
