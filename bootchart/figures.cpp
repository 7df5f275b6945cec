// SPDX-License-Identifier: MIT
#include "bootchart/figures.hpp"

#include <algorithm>

namespace lull::bootchart {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr std::int64_t kQuietNs = 3'000'000'000;
constexpr double kQuietShare = 0.05;
constexpr double kIdleShare = 0.25;

/// Busy time in an interval, as a share of it that may exceed 1 for several devices.
struct Busy {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    double ns = 0;
};

double part_in(const Busy& busy, std::int64_t from_ns, std::int64_t to_ns) {
    const std::int64_t from = std::max(busy.from_ns, from_ns);
    const std::int64_t to = std::min(busy.to_ns, to_ns);
    if (to <= from) {
        return 0;
    }
    return busy.ns * static_cast<double>(to - from) /
           static_cast<double>(busy.to_ns - busy.from_ns);
}

/// How busy something was in a window that only moves forward.
class Window {
  public:
    explicit Window(std::vector<Busy> all) : all_(std::move(all)) {
        std::stable_sort(all_.begin(), all_.end(),
                         [](const Busy& a, const Busy& b) { return a.to_ns < b.to_ns; });
        for (const Busy& one : all_) {
            longest_ = std::max(longest_, one.to_ns - one.from_ns);
        }
    }

    /// `from_ns` must not fall from call to call.
    double busy_ns(std::int64_t from_ns, std::int64_t to_ns) {
        while (first_ < all_.size() && all_[first_].to_ns <= from_ns) {
            ++first_;
        }
        double sum = 0;
        for (std::size_t i = first_; i < all_.size() && all_[i].to_ns - longest_ < to_ns; ++i) {
            sum += part_in(all_[i], from_ns, to_ns);
        }
        return sum;
    }

    [[nodiscard]] const std::vector<Busy>& all() const { return all_; }

  private:
    std::vector<Busy> all_;
    std::int64_t longest_ = 0;
    std::size_t first_ = 0;
};

Window disk_window(const Boot& boot) {
    std::vector<Busy> all;
    for (const Disk& disk : boot.disks) {
        if (!disk.counted) {
            continue;
        }
        for (const DiskSample& sample : disk.samples) {
            const auto length = static_cast<double>(sample.to_ns - sample.from_ns);
            all.push_back({sample.from_ns, sample.to_ns,
                           std::min(static_cast<double>(sample.busy_ns), length)});
        }
    }
    return Window(std::move(all));
}

Window cpu_window(const Boot& boot) {
    std::vector<Busy> all;
    for (const CpuSample& sample : boot.cpu) {
        all.push_back({sample.from_ns, sample.to_ns, static_cast<double>(sample.busy_ns())});
    }
    return Window(std::move(all));
}

std::optional<std::int64_t> quiet_from(const Boot& boot, bool cpu_too) {
    Window disk = disk_window(boot);
    Window cpu = cpu_too ? cpu_window(boot) : Window({});
    if (disk.all().empty() || (cpu_too && cpu.all().empty())) {
        return std::nullopt;
    }
    const std::int64_t not_before = boot.milestones.empty() ? 0 : boot.milestones.back().at_ns;
    const double cpus = std::max(1U, boot.facts.cpus);
    const auto quiet = [&](std::int64_t at) {
        constexpr auto kLength = static_cast<double>(kQuietNs);
        return disk.busy_ns(at, at + kQuietNs) < kQuietShare * kLength &&
               (!cpu_too || cpu.busy_ns(at, at + kQuietNs) < kIdleShare * kLength * cpus);
    };
    // It becomes quiet where something ends: a sample with I/O, or with work of a CPU.
    std::vector<std::int64_t> ends{not_before};
    for (const Busy& one : disk.all()) {
        ends.push_back(one.to_ns);
    }
    for (const Busy& one : cpu.all()) {
        ends.push_back(one.to_ns);
    }
    std::sort(ends.begin(), ends.end());
    const std::int64_t first_io = disk.all().front().to_ns;
    for (const std::int64_t at : ends) {
        if (at < std::max(not_before, first_io)) {
            continue;
        }
        if (at + kQuietNs > boot.end_ns) {
            break;
        }
        if (quiet(at)) {
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
