// SPDX-License-Identifier: MIT
#include "bootchart/classic.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lull::bootchart {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerUs = 1'000;

constexpr std::string_view kHeader = "header";
constexpr std::string_view kStat = "proc_stat.log";
constexpr std::string_view kDisks = "proc_diskstats.log";
constexpr std::string_view kProcesses = "proc_ps.log";
constexpr std::string_view kTasks = "taskstats.log";
constexpr std::string_view kMemory = "proc_meminfo.log";
constexpr std::string_view kCommands = "cmdline2.log";
constexpr std::string_view kPaternity = "paternity.log";
constexpr std::string_view kAccounting = "kernel_pacct";
constexpr std::string_view kKernelLog = "dmesg";

}  // namespace

ClassicChart::ClassicChart(const Limits& limits)
    : header_(limits),
      stat_(limits),
      disks_(limits),
      memory_(limits),
      processes_(limits),
      tasks_(limits),
      commands_(limits),
      parents_(limits),
      paternity_(parents_),
      accounting_(parents_),
      kernel_log_(limits),
      slots_{{kHeader, &header_},       {kStat, &stat_},           {kDisks, &disks_},
             {kProcesses, &processes_}, {kTasks, &tasks_},         {kMemory, &memory_},
             {kCommands, &commands_},   {kPaternity, &paternity_}, {kAccounting, &accounting_},
             {kKernelLog, &kernel_log_}} {}

bool ClassicChart::knows(std::string_view name) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [name](const Slot& slot) { return slot.name == name; });
}

Member* ClassicChart::member(std::string_view name) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                   [name](const Slot& one) { return one.name == name; });
    if (slot == slots_.end()) {
        return nullptr;
    }
    if (slot->seen) {
        warn(fmt::format("{} is there more than once; the first one was read", name));
        return nullptr;
    }
    slot->seen = true;
    return slot->member;
}

bool ClassicChart::seen(std::string_view name) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [name](const Slot& slot) { return slot.name == name && slot.seen; });
}

std::string ClassicChart::format() const {
    if (header_.facts().version.starts_with("Android")) {
        return "android";
    }
    return seen(kTasks) || seen(kPaternity) || seen(kCommands) ? "bootchart2" : "bootchart";
}

void ClassicChart::add_processes(Boot& boot, int ticks) {
    // Both are there when the collector was told to write both; taskstats tells more.
    const bool by_tasks = tasks_.blocks() > 0 && tasks_.last_time();
    SeenProcesses& log = by_tasks ? static_cast<SeenProcesses&>(tasks_) : processes_;
    auto seen = log.take();
    if (seen.empty()) {
        return;
    }
    ProcessUnits units;
    units.tick_ns = kNsPerSecond / ticks;
    units.cpu_unit_ns = by_tasks ? kNsPerUs : units.tick_ns;
    units.io_wait_unit_ns = units.cpu_unit_ns;
    units.io_wait = by_tasks || log.has_delays() ? IoWait::kDelays : IoWait::kStates;
    units.last_complete = log.last_complete();
    units.only_changes = by_tasks;
    boot.io_wait = units.io_wait;
    const std::int64_t offset = clock_offset(seen, units.tick_ns);
    if (offset != 0) {
        boot.clock = Clock::kChart;
        warn("times count from the begin of the chart, not from the start of the kernel");
    }
    boot.processes = make_processes(std::move(seen), units, offset, parents_, commands_);
    if (units.io_wait == IoWait::kStates) {
        warn(
            "I/O waits of processes are estimated from their states; the kernel's delay accounting "
            "was off");
    }
    if (log.malformed() > 0) {
        warn(fmt::format("{} lines about processes could not be understood", log.malformed()));
    }
}

void ClassicChart::set_span(Boot& boot) {
    std::optional<std::int64_t> first;
    std::optional<std::int64_t> last;
    const auto include = [&first, &last](const auto& log) {
        if (log.first_time()) {
            first = std::min(first.value_or(*log.first_time()), *log.first_time());
            last = std::max(last.value_or(*log.last_time()), *log.last_time());
        }
    };
    include(stat_);
    include(disks_);
    include(processes_);
    include(tasks_);
    boot.begin_ns = first.value_or(0) * kNsPerBlockTime;
    boot.end_ns = last.value_or(0) * kNsPerBlockTime;
}

void ClassicChart::warn_of_gaps(Boot& boot) {
    if (!seen(kHeader)) {
        warn("no header: kernel, CPU and command line are not known");
    }
    if (boot.cpu.empty()) {
        warn(seen(kStat) ? "proc_stat.log holds no two samples: nothing is known of the CPU"
                         : "no proc_stat.log: nothing is known of the CPU");
    }
    if (!seen(kDisks)) {
        warn("no proc_diskstats.log: nothing is known of the disks");
    }
    if (boot.processes.empty()) {
        warn(seen(kProcesses) || seen(kTasks)
                 ? "the log of processes is empty"
                 : "no proc_ps.log and no taskstats.log: nothing is known of processes");
    }
    const std::size_t dropped =
        stat_.dropped() + disks_.dropped() + processes_.dropped() + tasks_.dropped();
    if (dropped > 0) {
        warn(fmt::format("{} blocks were left out: their time does not grow, or there are too many",
                         dropped));
    }
    if (disks_.too_many() || processes_.too_many() || tasks_.too_many()) {
        warn("the chart holds more than can be kept; what came too late was left out");
    }
}

Result<Boot> ClassicChart::finish() {
    constexpr std::array kLogs{kStat, kDisks, kProcesses, kTasks};
    if (std::none_of(kLogs.begin(), kLogs.end(), [this](auto name) { return seen(name); })) {
        return Error{ENODATA, "no boot chart: none of the logs of one is there"};
    }
    Boot boot;
    boot.facts = header_.facts();
    boot.format = format();
    const int ticks = stat_.ticks_per_second();
    boot.cpu = stat_.samples(ticks);
    if (stat_.cpus() > 0) {
        boot.facts.cpus = stat_.cpus();
    }
    set_span(boot);
    boot.blocks.cpu = stat_.blocks();
    boot.blocks.disks = disks_.blocks();
    boot.blocks.memory = memory_.blocks();
    boot.blocks.processes = tasks_.blocks() > 0 ? tasks_.blocks() : processes_.blocks();
    boot.disks = disks_.take();
    boot.memory = memory_.take();
    add_processes(boot, ticks);
    boot.milestones = kernel_log_.milestones();
    std::stable_sort(boot.milestones.begin(), boot.milestones.end(),
                     [](const Milestone& a, const Milestone& b) { return a.at_ns < b.at_ns; });
    warn_of_gaps(boot);
    boot.warnings = std::move(warnings_);
    return boot;
}

}  // namespace lull::bootchart
