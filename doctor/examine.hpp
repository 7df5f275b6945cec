// SPDX-License-Identifier: MIT
// Looks at disks and gathers what lull would go by.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "doctor/idle_class.hpp"
#include "sched/disk/block_stack.hpp"
#include "sched/disk/service_times.hpp"
#include "sched/disk/udev_monitor.hpp"

namespace lull::doctor {

/// How the foreground on a disk can be seen.
struct WatchFacts {
    std::string rung;  ///< as `--watch=` takes it
    std::string why;   ///< sentences for a user: what it needs, why not a better one
};

struct ExamineOptions {
    /// Disks, partitions, files or directories; none: all whole disks, and all file systems that
    /// lie on one.
    std::vector<std::string> names;
    bool probe = false;  ///< measure service times: seconds of each disk's time
    /// Tells of the watch; without it the report says nothing of that.
    std::function<WatchFacts(const sched::BlockDevice&)> watch;
    sched::SystemRoots roots;
};

struct NamedPlace {
    std::string name;  ///< as the user gave it; of a file system its mount point
    Result<sched::Place> place;
};

struct DiskReport {
    sched::BlockDevice device;
    sched::DiskFacts facts;
    IdleClass idle;
    /// None: not asked for.
    std::optional<Result<sched::ServiceTimes>> times;
    /// Measured where `times` is a value, else assumed.
    sched::DiskTraits traits;
    std::optional<WatchFacts> watch;

    [[nodiscard]] bool measured() const { return times && times->ok(); }
};

struct Report {
    std::vector<NamedPlace> places;
    std::vector<DiskReport> disks;  ///< each once
    /// Where lull hears of disks that come and go.
    sched::UdevMonitor::Source events = sched::UdevMonitor::Source::kKernel;

    /// Whether every name was one of something on a disk, and every probe worked.
    [[nodiscard]] bool complete() const;
};

/// An error only if the block devices or the mounts cannot be listed at all.
Result<Report> examine(const ExamineOptions& options);

}  // namespace lull::doctor
