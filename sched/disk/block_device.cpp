// SPDX-License-Identifier: MIT
#include "sched/disk/block_device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace lull::sched {
namespace {

namespace stdfs = std::filesystem;

std::uint32_t number_or_zero(const stdfs::path& file) {
    const auto number = read_number(file);
    return number && *number <= UINT32_MAX ? static_cast<std::uint32_t>(*number) : 0;
}

std::string value_or_empty(const stdfs::path& file) {
    auto value = read_value(file);
    return value ? *std::move(value) : std::string();
}

/// "8:17" of a file `dev`.
std::optional<dev_t> parse_number(const std::string& text) {
    unsigned major_number = 0;
    unsigned minor_number = 0;
    const char* end = text.data() + text.size();
    const auto [colon, code] = std::from_chars(text.data(), end, major_number);
    if (code != std::errc{} || colon == end || *colon != ':') {
        return std::nullopt;
    }
    const auto [stop, second_code] = std::from_chars(colon + 1, end, minor_number);
    if (second_code != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return ::makedev(major_number, minor_number);
}

bool begins(const std::string& text, std::string_view with) {
    return text.starts_with(with);
}

/// By the names of the directories that lead to the disk, e.g.
/// /sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb
Transport transport_of(const stdfs::path& directory) {
    struct Mark {
        std::string_view prefix;
        Transport transport;
    };
    // The first mark that any part has wins: a disk behind USB or virtio is a SCSI disk as well.
    static constexpr std::array kOfTheBus{
        Mark{"usb", Transport::kUsb},       Mark{"virtio", Transport::kVirtio},
        Mark{"session", Transport::kIscsi}, Mark{"nvme", Transport::kNvme},
        Mark{"mmc_host", Transport::kMmc},  Mark{"ata", Transport::kAta},
        Mark{"target", Transport::kScsi},
    };
    static constexpr std::array kOfTheName{
        Mark{"nbd", Transport::kNbd},     Mark{"loop", Transport::kLoop},
        Mark{"zram", Transport::kMemory}, Mark{"ram", Transport::kMemory},
        Mark{"pmem", Transport::kMemory}, Mark{"nvme", Transport::kNvme},
    };
    const std::string name = directory.filename().string();
    for (const Mark& mark : kOfTheName) {
        if (begins(name, mark.prefix)) {
            return mark.transport;
        }
    }
    for (const Mark& mark : kOfTheBus) {
        const bool found = std::any_of(directory.begin(), directory.end(), [&](const auto& part) {
            return part.string().starts_with(mark.prefix);
        });
        if (found) {
            return mark.transport;
        }
    }
    return Transport::kOther;
}

/// SCSI and NVMe have a model, SCSI a vendor too ("ATA" says nothing), MMC a name.
std::string model_of(const stdfs::path& directory) {
    const auto device = directory / "device";
    std::string model = value_or_empty(device / "model");
    if (model.empty()) {
        return stdfs::exists(device / "cid") ? value_or_empty(device / "name") : model;
    }
    const std::string vendor = value_or_empty(device / "vendor");
    const bool says_something = !vendor.empty() && vendor != "ATA" && !begins(vendor, "0x");
    return says_something ? vendor + " " + model : model;
}

std::uint32_t count_entries(const stdfs::path& directory) {
    std::error_code absent;
    std::uint32_t count = 0;
    for (stdfs::directory_iterator entry(directory, absent), end; !absent && entry != end;
         entry.increment(absent)) {
        ++count;
    }
    return count;
}

void add_queue_facts(const stdfs::path& directory, DiskFacts& facts) {
    const auto queue = directory / "queue";
    facts.rotational = number_or_zero(queue / "rotational") != 0;
    facts.nr_requests = number_or_zero(queue / "nr_requests");
    facts.read_ahead_kb = number_or_zero(queue / "read_ahead_kb");
    facts.logical_block = number_or_zero(queue / "logical_block_size");
    auto choice = parse_choice(value_or_empty(queue / "scheduler"));
    facts.scheduler = choice.chosen.empty() ? "none" : choice.chosen;
    facts.schedulers = std::move(choice.offered);
    facts.hardware_queues = count_entries(directory / "mq");
    facts.queue_depth = number_or_zero(directory / "device" / "queue_depth");
    if (facts.queue_depth == 0) {
        facts.queue_depth = number_or_zero(directory / "mq" / "0" / "nr_tags");
    }
}

/// The number of the node `path`, if it is a block device's.
std::optional<dev_t> number_of_node(const stdfs::path& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0 && S_ISBLK(facts.st_mode)) {
        return facts.st_rdev;
    }
    return std::nullopt;
}

/// sysfs spells the slash of "cciss/c0d0" as '!'.
std::string sysfs_name(std::string name) {
    std::replace(name.begin(), name.end(), '/', '!');
    return name;
}

/// The device-mapper device whose name is `name`, as /dev/mapper has it.
std::optional<stdfs::path> mapped(const std::string& name, const stdfs::path& sys) {
    std::error_code absent;
    for (stdfs::directory_iterator entry(sys / "block", absent), end; !absent && entry != end;
         entry.increment(absent)) {
        if (value_or_empty(entry->path() / "dm" / "name") == name) {
            return entry->path();
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(Transport transport) {
    static constexpr std::array<std::string_view, 11> kNames{
        "ata", "scsi", "usb", "nvme", "mmc", "virtio", "nbd", "iscsi", "loop", "memory", "other"};
    return kNames.at(static_cast<std::size_t>(transport));
}

BlockDevice::BlockDevice(stdfs::path directory, stdfs::path dev, dev_t number)
    : directory_(std::move(directory)),
      dev_(std::move(dev)),
      name_(directory_.filename().string()),
      number_(number),
      partition_(stdfs::exists(directory_ / "partition")) {
    std::replace(name_.begin(), name_.end(), '!', '/');
}

Result<BlockDevice> BlockDevice::in(const stdfs::path& directory, const SystemRoots& roots) {
    std::error_code absent;
    auto real = stdfs::canonical(directory, absent);
    const auto number = absent ? std::nullopt : parse_number(value_or_empty(real / "dev"));
    if (!number) {
        return Error{ENODEV, directory.filename().string()};
    }
    return BlockDevice(std::move(real), roots.dev, *number);
}

Result<BlockDevice> BlockDevice::find(dev_t number, const SystemRoots& roots) {
    const auto name = std::to_string(major(number)) + ":" + std::to_string(minor(number));
    return in(roots.sys / "dev/block" / name, roots);
}

Result<BlockDevice> BlockDevice::find(const std::string& name, const SystemRoots& roots) {
    constexpr std::string_view kDev = "/dev/";
    constexpr std::string_view kMapper = "mapper/";
    const auto of_kernel = roots.sys / "class/block";
    if (!begins(name, "/")) {
        return name.empty() ? Error{ENODEV, name} : in(of_kernel / sysfs_name(name), roots);
    }
    const bool in_dev = begins(name, kDev);
    const std::string rest = in_dev ? name.substr(kDev.size()) : std::string();
    if (const auto number = number_of_node(in_dev ? roots.dev / rest : stdfs::path(name))) {
        return find(*number, roots);
    }
    if (begins(rest, kMapper)) {
        const auto directory = mapped(rest.substr(kMapper.size()), roots.sys);
        return directory ? in(*directory, roots) : Error{ENODEV, name};
    }
    return rest.empty() ? Error{ENODEV, name} : in(of_kernel / sysfs_name(rest), roots);
}

stdfs::path BlockDevice::node() const {
    return dev_ / name_;
}

Result<DiskFacts> BlockDevice::facts() const {
    const auto sectors = read_number(directory_ / "size");
    if (!sectors) {
        return Error{ENODEV, name_};
    }
    DiskFacts facts;
    facts.sectors = *sectors;
    facts.read_only = number_or_zero(directory_ / "ro") != 0;
    if (!partition_) {
        facts.removable = number_or_zero(directory_ / "removable") != 0;
        facts.model = model_of(directory_);
        facts.transport = transport_of(directory_);
        add_queue_facts(directory_, facts);
    }
    return facts;
}

Result<TemporaryValue> BlockDevice::set_queue(const std::string& file,
                                              const std::string& value) const {
    return TemporaryValue::set(directory_ / "queue" / file, value);
}

}  // namespace lull::sched
