// SPDX-License-Identifier: MIT
// How much memory a process holds, in its address space and in the kernel's BPF maps.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include <sys/types.h>

namespace lull::bench {

struct MemoryPeak {
    std::uint64_t total = 0;        ///< bytes: resident set and BPF objects at the same moment
    std::uint64_t kernel_then = 0;  ///< bytes of them in BPF maps and programs
};

/// Bytes now; zeros if the process is gone. `proc` is where procfs is mounted.
MemoryPeak memory_now(pid_t pid, const std::string& proc = "/proc");

/// Looks every few milliseconds until told to stop or the process is gone.
MemoryPeak memory_peak(pid_t pid, const std::stop_token& stop);

}  // namespace lull::bench
