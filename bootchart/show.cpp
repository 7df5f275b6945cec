// SPDX-License-Identifier: MIT
#include "bootchart/show.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bootchart/figures.hpp"
#include "bootchart/read.hpp"
#include "db/text.hpp"

namespace lull::bootchart {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsPerNs = 1e-9;
constexpr double kPercent = 100;
constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kBusiest = 15;

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) * kSecondsPerNs;
}

/// The chart's own milestones and those that every chart has, in order of time.
std::vector<Milestone> all_milestones(const Boot& boot) {
    std::vector<Milestone> all = boot.milestones;
    for (const std::string_view name : {kQuietDisk, kIdle, kEnd}) {
        if (const auto time = time_of(boot, name)) {
            all.push_back({std::string(name), *time});
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Milestone& a, const Milestone& b) { return a.at_ns < b.at_ns; });
    return all;
}

void write_facts(const Boot& boot, std::size_t width, std::ostream& out) {
    const auto line = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            out << db::wrap(fmt::format("{:<13}{}", name, db::printable(value)), width, 13) << '\n';
        }
    };
    line("title", boot.facts.title);
    line("format", boot.format);
    line("system", boot.facts.release);
    line("kernel", boot.facts.kernel);
    line("CPU", boot.facts.cpus > 0 ? fmt::format("{} x {}", boot.facts.cpus, boot.facts.cpu)
                                    : boot.facts.cpu);
    line("command line", boot.facts.kernel_cmdline);
    out << fmt::format("{:<13}{:.2f} to {:.2f} s, {} CPU, {} disk and {} process samples\n",
                       "chart", seconds(boot.begin_ns), seconds(boot.end_ns), boot.blocks.cpu,
                       boot.blocks.disks, boot.blocks.processes);
    for (const std::string& warning : boot.warnings) {
        out << db::wrap("warning: " + db::printable(warning), width, 2) << '\n';
    }
}

void write_machine(const Boot& boot, std::ostream& out) {
    const Figures figures = figures_of(boot);
    if (figures.cpu.all() > 0) {
        const CpuFigures& cpu = figures.cpu;
        out << fmt::format(
            "\nCPU          {:.1f} % busy, {:.1f} % waiting for I/O, {:.1f} % idle\n",
            cpu.share(cpu.busy()) * kPercent, cpu.share(cpu.iowait) * kPercent,
            cpu.share(cpu.idle) * kPercent);
    }
    for (const DiskFigures& disk : figures.disks) {
        out << fmt::format("{:<13}{:.1f} MB read in {}, {:.1f} MB written in {}, busy {:.1f} s{}\n",
                           db::printable(disk.name), static_cast<double>(disk.read_bytes) / 1e6,
                           disk.reads, static_cast<double>(disk.written_bytes) / 1e6, disk.writes,
                           disk.busy, disk.counted ? "" : " (part of another)");
    }
    out << '\n';
    for (const Milestone& milestone : all_milestones(boot)) {
        out << fmt::format("{:>9.2f} s  {}\n", seconds(milestone.at_ns),
                           db::printable(milestone.name));
    }
}

void write_processes(const Boot& boot, std::size_t width, std::ostream& out) {
    if (boot.processes.empty()) {
        return;
    }
    std::vector<const Process*> order;
    for (const Process& process : boot.processes) {
        order.push_back(&process);
    }
    std::stable_sort(order.begin(), order.end(), [](const Process* a, const Process* b) {
        return a->cpu_ns + a->io_wait_ns > b->cpu_ns + b->io_wait_ns;
    });
    order.resize(std::min(order.size(), kBusiest));
    const std::size_t name_width = width - 44;
    out << fmt::format("\n{}{:>8}{:>9}{:>9}{:>9}{:>9}\n",
                       db::fit(fmt::format("{} processes", boot.processes.size()), name_width),
                       "pid", "start", "seen to", "I/O wait", "CPU");
    for (const Process* process : order) {
        out << fmt::format("{}{:>8}{:>9.2f}{:>9.2f}{:>9.2f}{:>9.2f}\n",
                           db::fit(db::printable(process->name), name_width), process->pid,
                           seconds(process->start_ns), seconds(process->end_ns),
                           seconds(process->io_wait_ns), seconds(process->cpu_ns));
    }
}

Json json_of(const DiskFigures& disk) {
    return {{"name", disk.name},       {"counted", disk.counted},
            {"read", disk.read_bytes}, {"written", disk.written_bytes},
            {"reads", disk.reads},     {"writes", disk.writes},
            {"busy", disk.busy}};
}

}  // namespace

void write_text(const Boot& boot, const ShowOptions& options, std::ostream& out) {
    const std::size_t width = std::max(options.width, kMinWidth);
    write_facts(boot, width, out);
    write_machine(boot, out);
    write_processes(boot, width, out);
}

void write_json(const Boot& boot, std::ostream& out) {
    const Figures figures = figures_of(boot);
    Json json = {{"source", boot.source},
                 {"format", boot.format},
                 {"title", boot.facts.title},
                 {"kernel", boot.facts.kernel},
                 {"release", boot.facts.release},
                 {"cpu", boot.facts.cpu},
                 {"cpus", boot.facts.cpus},
                 {"kernel_cmdline", boot.facts.kernel_cmdline},
                 {"clock", boot.clock == Clock::kBoot ? "boot" : "chart"},
                 {"begin", seconds(boot.begin_ns)},
                 {"end", seconds(boot.end_ns)},
                 {"span", figures.span},
                 {"blocks",
                  {{"processes", boot.blocks.processes},
                   {"cpu", boot.blocks.cpu},
                   {"disks", boot.blocks.disks},
                   {"memory", boot.blocks.memory}}},
                 {"cpu_seconds",
                  {{"user", figures.cpu.user},
                   {"system", figures.cpu.system},
                   {"iowait", figures.cpu.iowait},
                   {"idle", figures.cpu.idle},
                   {"steal", figures.cpu.steal}}},
                 {"disk", json_of(figures.disk)},
                 {"disks", Json::array()},
                 {"milestones", Json::array()},
                 {"warnings", boot.warnings},
                 {"processes", Json::array()}};
    for (const DiskFigures& disk : figures.disks) {
        json["disks"].push_back(json_of(disk));
    }
    for (const Milestone& milestone : all_milestones(boot)) {
        json["milestones"].push_back({{"name", milestone.name}, {"at", seconds(milestone.at_ns)}});
    }
    for (const Process& process : boot.processes) {
        json["processes"].push_back({{"pid", process.pid},
                                     {"parent_pid", process.parent_pid},
                                     {"name", process.name},
                                     {"command", process.command},
                                     {"start", seconds(process.start_ns)},
                                     {"end", seconds(process.end_ns)},
                                     {"ended", process.ended},
                                     {"io_wait", seconds(process.io_wait_ns)},
                                     {"cpu", seconds(process.cpu_ns)}});
    }
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

int run_show(const ShowOptions& options, std::ostream& out, std::ostream& err) {
    const auto boot = read_boot(options.path);
    if (!boot) {
        err << "lull: " << boot.error().message() << '\n';
        return 1;
    }
    if (options.json) {
        write_json(*boot, out);
    } else {
        write_text(*boot, options, out);
    }
    return 0;
}

}  // namespace lull::bootchart
