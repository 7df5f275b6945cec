// SPDX-License-Identifier: MIT
#include "tests/bench/memory.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

namespace lull::bench {
namespace {

/// The number behind "KEY:" in a file of procfs; 0 if it is not there.
std::uint64_t number_in(const std::string& path, const std::string& key) {
    std::ifstream file(path);
    for (std::string word; file >> word;) {
        if (word == key) {
            std::uint64_t number = 0;
            file >> number;
            return number;
        }
    }
    return 0;
}

}  // namespace

MemoryPeak memory_now(pid_t pid, const std::string& proc) {
    constexpr std::uint64_t kKibibyte = 1024;
    const std::string base = proc + "/" + std::to_string(pid);
    MemoryPeak now;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(base + "/fdinfo", gone)) {
        now.kernel_then += number_in(entry.path(), "memlock:");
    }
    now.total = now.kernel_then + number_in(base + "/status", "VmRSS:") * kKibibyte;
    return now;
}

MemoryPeak memory_peak(pid_t pid, const std::stop_token& stop) {
    constexpr auto kInterval = std::chrono::milliseconds(5);
    MemoryPeak peak;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        const MemoryPeak now = memory_now(pid);
        if (now.total > peak.total) {
            peak = now;
        }
        stopped.wait_for(lock, stop, kInterval, [] { return false; });
    }
    return peak;
}

}  // namespace lull::bench
