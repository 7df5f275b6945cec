// SPDX-License-Identifier: MIT
#include "doctor/examine.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "fs/mounts.hpp"

namespace lull::doctor {
namespace {

/// Each file system on block devices once, by its first mount.
Result<std::vector<NamedPlace>> mounted_places(const sched::SystemRoots& roots) {
    const auto mounts = fs::read_mounts(roots.mountinfo.string());
    if (!mounts) {
        return mounts.error();
    }
    std::vector<NamedPlace> places;
    std::set<std::tuple<std::uint32_t, std::uint32_t>> seen;
    for (const fs::Mount& mount : *mounts) {
        if (!seen.emplace(mount.major, mount.minor).second) {
            continue;
        }
        if (auto devices = sched::stacks_of(mount, roots)) {
            places.push_back({mount.mount_point, sched::Place{mount, *std::move(devices)}});
        }
    }
    return places;
}

Result<std::vector<sched::BlockDevice>> disks_of(const std::vector<NamedPlace>& places,
                                                 const sched::SystemRoots& roots) {
    std::vector<sched::StackNode> nodes;
    for (const NamedPlace& named : places) {
        if (named.place) {
            nodes.insert(nodes.end(), named.place->devices.begin(), named.place->devices.end());
        }
    }
    std::vector<sched::BlockDevice> disks;
    for (const dev_t number : sched::disks_below(nodes)) {
        if (auto disk = sched::BlockDevice::find(number, roots)) {
            disks.push_back(*std::move(disk));
        }
    }
    return disks;
}

Result<DiskReport> examine_disk(sched::BlockDevice device, const ExamineOptions& options) {
    auto facts = device.facts();
    if (!facts) {
        return facts.error();
    }
    DiskReport report{std::move(device), *std::move(facts), {}, {}, {}, {}};
    if (options.probe) {
        report.times = sched::measure(report.device, {.seed = std::random_device()()});
    }
    report.traits =
        report.measured() ? (*report.times)->traits() : sched::assumed_traits(report.facts);
    report.idle = idle_class(report.device, report.facts, report.traits);
    if (options.watch) {
        report.watch = options.watch(report.device);
    }
    return report;
}

}  // namespace

bool Report::complete() const {
    return std::all_of(places.begin(), places.end(),
                       [](const NamedPlace& named) { return named.place.ok(); }) &&
           std::all_of(disks.begin(), disks.end(),
                       [](const DiskReport& disk) { return !disk.times || disk.times->ok(); });
}

Result<Report> examine(const ExamineOptions& options) {
    Report report;
    for (const std::string& name : options.names) {
        report.places.push_back({name, sched::find_place(name, options.roots)});
    }
    if (options.names.empty()) {
        auto places = mounted_places(options.roots);
        if (!places) {
            return places.error();
        }
        report.places = *std::move(places);
    }
    auto disks = options.names.empty() ? sched::whole_disks(options.roots)
                                       : disks_of(report.places, options.roots);
    if (!disks) {
        return disks.error();
    }
    for (sched::BlockDevice& device : *disks) {
        // One that has gone since is no part of the report.
        if (auto disk = examine_disk(std::move(device), options)) {
            report.disks.push_back(*std::move(disk));
        }
    }
    boost::asio::io_context io;
    sched::UdevMonitor::Options events;
    events.roots = options.roots;
    if (const auto monitor = sched::UdevMonitor::open(io, events)) {
        report.events = monitor->source();
    }
    return report;
}

}  // namespace lull::doctor
