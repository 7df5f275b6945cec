// SPDX-License-Identifier: MIT
#include "bootchart/figures.hpp"

#include <algorithm>

namespace lull::bootchart {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr std::int64_t kQuietNs = 3'000'000'000;
constexpr double kQuietShare = 0.05;
constexpr double kIdleShare = 0.25;

/// Busy time of one device, as a function of time that only grows.
class Busy {
  public:
    void add(std::int64_t from_ns, std::int64_t to_ns, std::int64_t busy_ns) {
        total_ += static_cast<double>(busy_ns);
        samples_.push_back({from_ns, to_ns, static_cast<double>(busy_ns), total_});
    }

    [[nodiscard]] double between(std::int64_t from_ns, std::int64_t to_ns) const {
        return until(to_ns) - until(from_ns);
    }

    /// Ends of the samples are where it may become quiet.
    void add_ends(std::vector<std::int64_t>& ends) const {
        for (const Sample& sample : samples_) {
            ends.push_back(sample.to_ns);
        }
    }

  private:
    struct Sample {
        std::int64_t from_ns;
        std::int64_t to_ns;
        double busy;
        double total;  ///< with all before
    };

    [[nodiscard]] double until(std::int64_t at_ns) const {
        const auto sample =
            std::partition_point(samples_.begin(), samples_.end(),
                                 [at_ns](const Sample& one) { return one.to_ns <= at_ns; });
        if (sample == samples_.end()) {
            return total_;
        }
        const std::int64_t after = std::max<std::int64_t>(at_ns - sample->from_ns, 0);
        const auto length = static_cast<double>(sample->to_ns - sample->from_ns);
        return sample->total - sample->busy * (1 - static_cast<double>(after) / length);
    }

    std::vector<Sample> samples_;
    double total_ = 0;
};

std::vector<Busy> disk_activity(const Boot& boot) {
    std::vector<Busy> disks;
    for (const Disk& disk : boot.disks) {
        if (!disk.counted || disk.samples.empty()) {
            continue;
        }
        Busy& busy = disks.emplace_back();
        for (const DiskSample& sample : disk.samples) {
            busy.add(sample.from_ns, sample.to_ns,
                     std::min(sample.busy_ns, sample.to_ns - sample.from_ns));
        }
    }
    return disks;
}

Busy cpu_activity(const Boot& boot) {
    Busy busy;
    for (const CpuSample& sample : boot.cpu) {
        busy.add(sample.from_ns, sample.to_ns, sample.busy_ns());
    }
    return busy;
}

std::optional<std::int64_t> quiet_from(const Boot& boot, bool cpu_too) {
    const std::vector<Busy> disks = disk_activity(boot);
    if (disks.empty() || (cpu_too && boot.cpu.empty())) {
        return std::nullopt;
    }
    const Busy cpu = cpu_too ? cpu_activity(boot) : Busy();
    const double cpus = std::max(1U, boot.facts.cpus);
    const auto quiet = [&](std::int64_t at) {
        constexpr auto kLength = static_cast<double>(kQuietNs);
        double disk_ns = 0;
        for (const Busy& disk : disks) {
            disk_ns += disk.between(at, at + kQuietNs);
        }
        return disk_ns < kQuietShare * kLength &&
               (!cpu_too || cpu.between(at, at + kQuietNs) < kIdleShare * kLength * cpus);
    };
    // It becomes quiet where something ends: a sample with I/O, or with work of a CPU.
    std::vector<std::int64_t> ends;
    for (const Busy& disk : disks) {
        disk.add_ends(ends);
    }
    const std::int64_t first_io = *std::min_element(ends.begin(), ends.end());
    std::int64_t not_before = first_io;
    if (!boot.milestones.empty()) {
        not_before = std::max(first_io, boot.milestones.back().at_ns);
        ends.push_back(not_before);
    }
    cpu.add_ends(ends);
    std::sort(ends.begin(), ends.end());
    for (const std::int64_t at : ends) {
        if (at + kQuietNs > boot.end_ns) {
            break;
        }
        if (at >= not_before && quiet(at)) {
            return at;
        }
    }
    return std::nullopt;
}

}  // namespace

Figures figures_of(const Boot& boot) {
    Figures figures;
    figures.span = static_cast<double>(boot.span_ns()) * kSecondsPerNs;
    for (const CpuSample& sample : boot.cpu) {
        figures.cpu.user += static_cast<double>(sample.user_ns) * kSecondsPerNs;
        figures.cpu.system += static_cast<double>(sample.system_ns) * kSecondsPerNs;
        figures.cpu.iowait += static_cast<double>(sample.iowait_ns) * kSecondsPerNs;
        figures.cpu.idle += static_cast<double>(sample.idle_ns) * kSecondsPerNs;
        figures.cpu.steal += static_cast<double>(sample.steal_ns) * kSecondsPerNs;
    }
    const auto add = [](DiskFigures& sum, const DiskSample& sample) {
        sum.read_bytes += sample.read_bytes;
        sum.written_bytes += sample.written_bytes;
        sum.reads += sample.reads;
        sum.writes += sample.writes;
        sum.busy += static_cast<double>(sample.busy_ns) * kSecondsPerNs;
    };
    for (const Disk& disk : boot.disks) {
        DiskFigures& one = figures.disks.emplace_back();
        one.name = disk.name;
        one.counted = disk.counted;
        for (const DiskSample& sample : disk.samples) {
            add(one, sample);
            if (disk.counted) {
                add(figures.disk, sample);
            }
        }
    }
    return figures;
}

std::optional<std::int64_t> time_of(const Boot& boot, std::string_view name) {
    for (const Milestone& milestone : boot.milestones) {
        if (milestone.name == name) {
            return milestone.at_ns;
        }
    }
    if (name == kQuietDisk || name == kIdle) {
        return quiet_from(boot, name == kIdle);
    }
    if (name == kEnd) {
        return boot.end_ns;
    }
    std::optional<std::int64_t> first;
    for (const Process& process : boot.processes) {
        if (process.name == name) {
            first = std::min(first.value_or(process.start_ns), process.start_ns);
        }
    }
    return first;
}

}  // namespace lull::bootchart
