// SPDX-License-Identifier: MIT
#include "db/text.hpp"

#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/doctor.hpp"

namespace lull::doctor {
namespace {

constexpr std::size_t kIndent = 14;
constexpr std::uint64_t kSector = 512;

/// "0.083 ms", "12.9 ms"
std::string milliseconds(sched::Nanoseconds time) {
    return fmt::format("{:.3g} ms", static_cast<double>(time) / 1e6);
}

std::string megabytes_per_second(double ns_per_byte) {
    return fmt::format("{:.0f} MB/s", 1e3 / ns_per_byte);
}

/// "dm-0 (LUKS2 home) > sda2 > sda"; with several below "md0 (raid1) > [sda2 > sda | sdb1 > sdb]".
std::string stack_text(const sched::StackNode& node) {
    std::string text = db::printable(node.name);
    if (!node.about.empty()) {
        text += " (" + db::printable(node.about) + ")";
    }
    if (!node.ends.empty()) {
        text += " - " + node.ends;
    }
    if (node.below.size() == 1) {
        return text + " > " + stack_text(node.below.front());
    }
    for (std::size_t i = 0; i < node.below.size(); ++i) {
        text += (i == 0 ? " > [" : " | ") + stack_text(node.below[i]);
    }
    return text + (node.below.empty() ? "" : "]");
}

std::string place_text(const NamedPlace& named) {
    if (!named.place) {
        return db::printable(named.place.error().message());
    }
    std::string text = db::printable(named.name);
    if (named.place->mount) {
        const fs::Mount& mount = *named.place->mount;
        text += " (" + mount.fs_type;
        text +=
            mount.mount_point == named.name ? ")" : " at " + db::printable(mount.mount_point) + ")";
    }
    const auto& devices = named.place->devices;
    if (!named.place->mount && devices.size() == 1 && devices.front().below.empty()) {
        return text + ": a whole disk";
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        text += (i == 0 ? ": " : " | ") + stack_text(devices[i]);
    }
    return text;
}

std::string queue_text(const sched::DiskFacts& facts) {
    if (facts.hardware_queues == 0) {
        return fmt::format("none: the driver takes bios; reads ahead {} KiB", facts.read_ahead_kb);
    }
    return fmt::format("{} (of {}), {} requests; depth {}{}; reads ahead {} KiB", facts.scheduler,
                       fmt::join(facts.schedulers, ", "), facts.nr_requests, facts.queue_depth,
                       facts.hardware_queues > 1
                           ? fmt::format(" in each of {} hardware queues", facts.hardware_queues)
                           : std::string(),
                       facts.read_ahead_kb);
}

std::string assumed_text(const DiskReport& disk) {
    return fmt::format("it {}, and a random read of 4 KiB takes {}",
                       disk.traits.seeks ? "seeks" : "does not seek",
                       milliseconds(disk.traits.random_service));
}

std::string measured_text(const DiskReport& disk) {
    if (!disk.times) {
        return "Nothing (--probe reads a few blocks). Assumed: " + assumed_text(disk) + ".";
    }
    if (!disk.times->ok()) {
        return "Failed: " + db::printable(disk.times->error().message()) +
               ". Assumed: " + assumed_text(disk) + ".";
    }
    const sched::ServiceTimes& times = **disk.times;
    std::string text =
        fmt::format("It {}. A random read of 4 KiB takes {} (median {}), a long one goes at {}.",
                    times.seeks() ? "seeks" : "does not seek", milliseconds(times.random_mean),
                    milliseconds(times.random_median), megabytes_per_second(times.ns_per_byte));
    for (const sched::DepthGain& one : times.depths) {
        text += fmt::format(" {} at once: {:.1f} x.", one.depth, one.gain);
    }
    if (disk.facts.rotational != times.seeks()) {
        text += fmt::format(" The driver says otherwise (rotational {}).",
                            disk.facts.rotational ? 1 : 0);
    }
    if (times.other_bytes > 0) {
        text += fmt::format(" Others moved {} meanwhile: measure again on a quiet disk.",
                            db::human_size(times.other_bytes));
    }
    return text;
}

std::string plan_text(const DiskReport& disk) {
    if (disk.facts.transport == sched::Transport::kMemory) {
        return "Nothing to gain: it is memory.";
    }
    if (disk.traits.seeks) {
        return "Reads ahead sorted by position. One request of the IDLE class in flight, and only "
               "when the foreground has been away for long enough. A head start pays here.";
    }
    return fmt::format(
        "Reads ahead in order of need. Up to {} request{} of the IDLE class in flight while the "
        "foreground is away. There is little to gain, so no head start.",
        disk.traits.idle_depth, disk.traits.idle_depth == 1 ? "" : "s");
}

class Writer {
  public:
    Writer(std::size_t width, std::ostream& out) : width_(width), out_(out) {}

    void paragraph(std::string_view text, std::size_t indent) {
        out_ << db::wrap(text, width_, indent) << '\n';
    }
    void line(std::string_view label, std::string_view text) {
        constexpr std::size_t kMargin = 2;  // which wrap() would take off
        const auto labelled = fmt::format("{:<{}}{}", label, kIndent - kMargin, text);
        out_ << std::string(kMargin, ' ') << db::wrap(labelled, width_ - kMargin, kIndent) << '\n';
    }

  private:
    std::size_t width_;
    std::ostream& out_;
};

void write_disk(const DiskReport& disk, Writer& writer) {
    const sched::DiskFacts& facts = disk.facts;
    writer.paragraph(
        fmt::format("{}: {}, {}, {}{}{}", disk.device.name(),
                    facts.model.empty() ? "no model name" : db::printable(facts.model),
                    db::human_size(facts.sectors * kSector), to_string(facts.transport),
                    facts.removable ? ", removable" : "", facts.read_only ? ", read-only" : ""),
        4);
    writer.line("scheduler", queue_text(facts));
    writer.line("idle class", disk.idle.why);
    if (disk.watch) {
        writer.line("watch", disk.watch->rung + ". " + disk.watch->why);
    }
    writer.line("measured", measured_text(disk));
    writer.line("lull", plan_text(disk));
}

}  // namespace

void write_text(const Report& report, std::size_t width, std::ostream& out) {
    Writer writer(width, out);
    for (const NamedPlace& named : report.places) {
        writer.paragraph(place_text(named), 4);
    }
    for (const DiskReport& disk : report.disks) {
        out << '\n';
        write_disk(disk, writer);
    }
    out << '\n';
    writer.paragraph(report.events == sched::UdevMonitor::Source::kUdev
                         ? "Disks that come and go are told by udevd."
                         : "Disks that come and go are told by the kernel itself: no udevd runs.",
                     0);
}

}  // namespace lull::doctor
