// SPDX-License-Identifier: MIT
// From processes as a log shows them to those of the model.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "bootchart/process_logs.hpp"

namespace lull::bootchart {
namespace {

// 30 years; times beyond are no times, and would overflow in ns.
constexpr std::int64_t kMaxNs = std::int64_t{1'000'000'000} * 86400 * 366 * 30;

std::int64_t times(std::uint64_t count, std::int64_t unit_ns) {
    const auto most = static_cast<std::uint64_t>(kMaxNs / std::max<std::int64_t>(unit_ns, 1));
    return static_cast<std::int64_t>(std::min(count, most)) * unit_ns;
}

Process convert(SeenProcess seen, const ProcessUnits& units, std::int64_t offset_ns,
                const CommandLog& commands) {
    Process process;
    process.pid = seen.pid;
    process.parent_pid = seen.parent_pid;
    process.name = std::move(seen.name);
    process.command = commands.command(seen.pid);
    process.start_ns = seen.first * kNsPerBlockTime;
    if (seen.start) {
        process.start_ns =
            std::min(process.start_ns, times(*seen.start, units.tick_ns) - offset_ns);
    }
    process.end_ns = seen.last * kNsPerBlockTime;
    process.ended = !units.only_changes && seen.last < units.last_complete;
    process.cpu_ns = times(seen.cpu, units.cpu_unit_ns);
    const bool delays = units.io_wait == IoWait::kDelays;
    if (delays) {
        process.io_wait_ns = times(seen.io_wait, units.io_wait_unit_ns);
    }
    process.samples.reserve(seen.samples.size());
    for (const SeenProcess::Sample& sample : seen.samples) {
        ProcessSample made;
        made.from_ns = std::max(sample.from * kNsPerBlockTime, process.start_ns);
        made.to_ns = sample.to * kNsPerBlockTime;
        made.cpu_ns = times(sample.cpu, units.cpu_unit_ns);
        if (delays) {
            made.io_wait_ns = times(sample.io_wait, units.io_wait_unit_ns);
        } else if (sample.in_disk_wait) {
            made.io_wait_ns = made.to_ns - made.from_ns;
            process.io_wait_ns += made.io_wait_ns;
        }
        if (made.cpu_ns > 0 || made.io_wait_ns > 0) {
            process.samples.push_back(made);
        }
    }
    return process;
}

/// The index of the process that had this pid when `child` started.
class PidIndex {
  public:
    explicit PidIndex(const std::vector<Process>& processes) : processes_(processes) {
        for (std::size_t i = 0; i < processes.size(); ++i) {
            by_pid_[processes[i].pid].push_back(i);  // in order of start
        }
    }

    [[nodiscard]] std::optional<std::size_t> find(std::uint32_t pid, std::size_t child) const {
        const auto found = by_pid_.find(pid);
        if (found == by_pid_.end()) {
            return std::nullopt;
        }
        std::optional<std::size_t> parent;
        for (const std::size_t index : found->second) {
            if (index != child && processes_[index].start_ns <= processes_[child].start_ns) {
                parent = index;
            }
        }
        return parent;
    }

  private:
    const std::vector<Process>& processes_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_pid_;
};

void resolve_parents(std::vector<Process>& processes, const Parents& parents) {
    const PidIndex index(processes);
    // Chains of processes too short for any block to show them; longer ones are a mistake.
    constexpr int kMaxHidden = 64;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        // A process whose parent died is given to another, which says nothing about its origin.
        std::uint32_t pid = parents.of(processes[i].pid).value_or(processes[i].parent_pid);
        processes[i].parent_pid = pid;
        for (int hop = 0; hop < kMaxHidden && pid != 0; ++hop) {
            processes[i].parent = index.find(pid, i);
            const auto next = parents.of(pid);
            if (processes[i].parent || !next) {
                break;
            }
            pid = *next;
        }
    }
}

}  // namespace

std::int64_t clock_offset(const std::vector<SeenProcess>& seen, std::int64_t tick_ns) {
    // A process that a block shows first started since the block before: its start, told by the
    // kernel's clock, against the moment of that block bounds the offset from both sides.
    std::vector<std::int64_t> ahead;
    std::vector<std::int64_t> lengths;
    for (const SeenProcess& process : seen) {
        if (process.start && process.before_first >= 0) {
            ahead.push_back(times(*process.start, tick_ns) - process.first * kNsPerBlockTime);
            lengths.push_back((process.first - process.before_first) * kNsPerBlockTime);
        }
    }
    constexpr std::size_t kEnough = 5;
    if (ahead.size() < kEnough) {
        return 0;
    }
    const auto median = [](std::vector<std::int64_t>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    const std::int64_t length = median(lengths);
    const std::int64_t offset = median(ahead) + length / 2;
    // The same clock gives a median between -length and 0. Logging takes time, too, and the block's
    // time is taken before it.
    constexpr std::int64_t kSlack = 10;
    return std::abs(offset) > kSlack * length ? offset : 0;
}

std::vector<Process> make_processes(std::vector<SeenProcess> seen, const ProcessUnits& units,
                                    std::int64_t offset_ns, const Parents& parents,
                                    const CommandLog& commands) {
    std::vector<Process> processes;
    processes.reserve(seen.size());
    for (SeenProcess& one : seen) {
        processes.push_back(convert(std::move(one), units, offset_ns, commands));
    }
    std::stable_sort(processes.begin(), processes.end(),
                     [](const Process& a, const Process& b) { return a.start_ns < b.start_ns; });
    resolve_parents(processes, parents);
    return processes;
}

}  // namespace lull::bootchart
