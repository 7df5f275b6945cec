// SPDX-License-Identifier: MIT
// What a rung of the page ladder hands over when recording ends, before it is turned into a
// db::Trace. Keys are those of the kernel: superblock device number, inode, 128 KiB block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/trace.hpp"

namespace lull::collector {

inline constexpr std::uint32_t kPagesPerBlock = 32;  ///< 128 KiB: one bit a page in a 32-bit mask

/// A device number as the kernel keeps it inside: major << 20 | minor (not glibc's dev_t).
using KernelDevice = std::uint32_t;
constexpr KernelDevice kernel_device(std::uint32_t major, std::uint32_t minor) {
    return major << 20 | minor;
}

constexpr std::uint32_t major_of(KernelDevice device) {
    return device >> 20;
}
constexpr std::uint32_t minor_of(KernelDevice device) {
    return device & ((1U << 20) - 1);
}

/// One 128 KiB block of one file. Each mask has one bit a page. The meaning of a page:
/// - demand & miss: waited for the disk; demand & added & ~miss: readahead (or lull's replay if
///   `own`) had read it; demand & ~added: was in memory before the trace.
/// - mapped: see db::Use::kMapped. cached: see db::Use::kCached.
/// - window: inside a fault-around window but not in the cache as far as the rung saw. It counts as
///   mapped only if it was never added and is in memory when the trace ends (it was there before).
struct RawBlock {
    KernelDevice device = 0;
    std::uint64_t inode = 0;
    std::uint32_t block = 0;
    std::uint64_t first_use_ns = 0;  ///< CLOCK_MONOTONIC
    std::uint32_t demand = 0;
    std::uint32_t mapped = 0;
    std::uint32_t window = 0;
    std::uint32_t cached = 0;
    std::uint32_t added = 0;
    std::uint32_t miss = 0;
    std::uint32_t own = 0;         ///< read into memory by lull itself
    std::uint32_t generation = 0;  ///< of the inode; 0 if unknown
    std::uint32_t user = 0;        ///< first user, see RawProcess::user(); 0 if unknown
};

struct RawFile {
    KernelDevice device = 0;
    std::uint64_t inode = 0;
    std::uint32_t generation = 0;
    db::FileKind kind = db::FileKind::kRegular;
    std::string path;  ///< inside the file system, from '/'; empty if unknown
};

/// A process and which of the programs that it ran, in one word: pids are below 2^22
/// (PID_MAX_LIMIT, include/linux/threads.h), of the count of programs the low ten bits are kept.
constexpr std::uint32_t user_of(std::uint32_t pid, std::uint32_t exec_id) {
    return pid | exec_id << 22;
}

struct RawProcess {
    [[nodiscard]] std::uint32_t user() const { return user_of(pid, exec_id); }

    std::uint32_t pid = 0;
    std::uint32_t exec_id = 0;  ///< counts the programs that one process ran
    std::uint32_t parent_pid = 0;
    KernelDevice exe_device = 0;  ///< the executable's file; 0 for kernel threads
    std::uint64_t exe_inode = 0;
    std::string comm;
    std::string cgroup;              ///< path in the unified hierarchy, from '/'; empty if unknown
    std::string executable;          ///< path inside its file system if the rung knows it
    std::uint64_t first_use_ns = 0;  ///< CLOCK_MONOTONIC
};

struct RawTrace {
    std::string rung;
    std::vector<std::string> limits;  ///< as db::Boot::limits
    db::Losses losses;
    std::vector<RawBlock> blocks;
    std::vector<RawFile> files;
    std::vector<RawProcess> processes;
};

}  // namespace lull::collector
