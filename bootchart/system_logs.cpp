// SPDX-License-Identifier: MIT
#include "bootchart/system_logs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "bootchart/fields.hpp"

namespace lull::bootchart {
namespace {

constexpr std::uint64_t kSectorBytes = 512;
constexpr std::uint64_t kKibibyte = 1024;
constexpr int kUsualTicks = 100;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

// No honest counter grows by more from one block to the next; sums in ns then cannot overflow.
constexpr std::uint64_t kMaxTicks = std::uint64_t{1} << 35;
constexpr std::uint64_t kMaxMs = std::uint64_t{1} << 38;
constexpr std::uint64_t kMaxSectors = std::uint64_t{1} << 31;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Whether the device is made of other devices or of memory.
bool is_made(std::string_view name) {
    constexpr std::array<std::string_view, 8> kPrefixes{"dm-",  "md",   "loop",   "ram",
                                                        "zram", "drbd", "bcache", "zd"};
    return std::any_of(kPrefixes.begin(), kPrefixes.end(), [name](std::string_view prefix) {
        return name.starts_with(prefix) && name.size() > prefix.size() &&
               (is_digit(name[prefix.size()]) || name[prefix.size()] == '_');
    });
}

/// "sda" for "sda1", "nvme0n1" for "nvme0n1p2"; empty if the name cannot be a partition's.
std::string_view disk_of(std::string_view name) {
    std::string_view disk = name;
    while (!disk.empty() && is_digit(disk.back())) {
        disk.remove_suffix(1);
    }
    if (disk.empty() || disk.size() == name.size()) {
        return {};
    }
    const bool numbered_disk =
        disk.back() == 'p' && disk.size() >= 2 && is_digit(disk[disk.size() - 2]);
    return numbered_disk ? disk.substr(0, disk.size() - 1) : disk;
}

}  // namespace

void choose_counted(std::vector<Disk>& disks) {
    std::unordered_set<std::string_view> names;
    for (const Disk& disk : disks) {
        names.insert(disk.name);
    }
    bool any = false;
    for (Disk& disk : disks) {
        const bool partition = names.contains(disk_of(disk.name));
        disk.counted = !partition && !is_made(disk.name);
        any = any || (disk.counted && !disk.samples.empty());
    }
    if (any) {
        return;
    }
    // A machine whose disks are hidden: one layer of what is left, the topmost that can be told.
    for (const std::string_view prefix : {"dm-", "md", ""}) {
        for (Disk& disk : disks) {
            const bool partition = names.contains(disk_of(disk.name));
            disk.counted = !partition && disk.name.starts_with(prefix) && !disk.samples.empty();
            any = any || disk.counted;
        }
        if (any) {
            return;
        }
    }
}

void StatLog::begin_block(std::int64_t time) {
    time_ = time;
    cpus_in_block_ = 0;
}

void StatLog::data(std::string_view text) {
    if (text.starts_with("cpu ")) {
        Fields fields(text.substr(4));
        Row row{time_, {}};
        for (std::uint64_t& ticks : row.ticks) {
            if (fields.at_end()) {
                break;  // kernels before 2.6.11 have no steal, those of 2.4 neither irq nor iowait
            }
            ticks = fields.clamped_count();
        }
        if (fields.ok() && (rows_.empty() || rows_.back().time != time_)) {
            rows_.push_back(row);
        }
    } else if (text.starts_with("cpu")) {
        ++cpus_in_block_;
    } else if (text.starts_with("btime ") && !boot_time_) {
        boot_time_ = to_number<std::int64_t>(trim(text.substr(6)));
    }
}

void StatLog::end_block(bool /*complete*/) {
    // CPUs come and go while a machine starts.
    cpus_ = std::max(cpus_, cpus_in_block_);
}

std::optional<std::int64_t> StatLog::first_time() const {
    return rows_.empty() ? std::nullopt : std::optional(rows_.front().time);
}

std::optional<std::int64_t> StatLog::last_time() const {
    return rows_.empty() ? std::nullopt : std::optional(rows_.back().time);
}

int StatLog::ticks_per_second() const {
    // USER_HZ of the architectures, and HZ of kernels that leaked it.
    constexpr std::array<int, 5> kKnown{100, 250, 300, 1000, 1024};
    if (rows_.size() < 2 || cpus_ == 0) {
        return kUsualTicks;
    }
    double ticks = 0;
    for (std::size_t i = 0; i < kFields; ++i) {
        ticks += static_cast<double>(rows_.back().ticks[i]) -
                 static_cast<double>(rows_.front().ticks[i]);
    }
    const double seconds =
        static_cast<double>(rows_.back().time - rows_.front().time) * kNsPerBlockTime / 1e9;
    const double rate = ticks / seconds / cpus_;
    if (rate <= 0) {
        return kUsualTicks;
    }
    return *std::min_element(kKnown.begin(), kKnown.end(), [rate](int a, int b) {
        return std::abs(std::log(rate / a)) < std::abs(std::log(rate / b));
    });
}

std::vector<CpuSample> StatLog::samples(int ticks_per_second) const {
    const std::int64_t tick = kNsPerSecond / ticks_per_second;
    std::vector<CpuSample> samples;
    if (rows_.empty()) {
        return samples;
    }
    samples.reserve(rows_.size() - 1);
    auto highest = rows_.front().ticks;
    for (std::size_t i = 1; i < rows_.size(); ++i) {
        std::array<std::int64_t, kFields> spent{};
        for (std::size_t field = 0; field < kFields; ++field) {
            // iowait and idle may step back (proc(5)); what is then made good is not counted twice.
            const std::uint64_t now = std::max(rows_[i].ticks[field], highest[field]);
            spent[field] =
                static_cast<std::int64_t>(std::min(now - highest[field], kMaxTicks)) * tick;
            highest[field] = now;
        }
        samples.push_back({.from_ns = rows_[i - 1].time * kNsPerBlockTime,
                           .to_ns = rows_[i].time * kNsPerBlockTime,
                           .user_ns = spent[0] + spent[1],
                           .system_ns = spent[2] + spent[5] + spent[6],
                           .iowait_ns = spent[4],
                           .idle_ns = spent[3],
                           .steal_ns = spent[7]});
    }
    return samples;
}

void DiskLog::begin_block(std::int64_t time) {
    previous_time_ = last_seen_.value_or(time);
    if (!first_time_) {
        first_time_ = time;
    }
    last_seen_ = time;
    time_ = time;
    next_in_block_ = 0;
}

void DiskLog::data(std::string_view text) {
    Fields fields(text);
    fields.skip(2);
    const std::string_view name = fields.next();
    Counters now;
    now.reads = fields.count();
    const std::uint64_t second = fields.count();
    const std::uint64_t third = fields.count();
    const std::uint64_t fourth = fields.count();
    if (!fields.ok() || name.empty()) {
        return;
    }
    if (fields.at_end()) {  // reads, sectors read, writes, sectors written
        now.sectors_read = second;
        now.writes = third;
        now.sectors_written = fourth;
    } else {  // reads, merged, sectors, ms; writes likewise; in flight, busy ms, ...
        now.sectors_read = third;
        now.writes = fields.count();
        fields.skip(1);
        now.sectors_written = fields.count();
        fields.skip(2);
        now.busy_ms = fields.count();
        if (!fields.ok()) {
            return;
        }
    }
    // Disks mostly come in the same order in every block.
    std::size_t place = next_in_block_;
    if (place >= entries_.size() || entries_[place].disk.name != name) {
        const auto found = index_.find(name);
        if (found != index_.end()) {
            place = found->second;
        } else if (entries_.size() == limits_.devices) {
            too_many_ = true;
            return;
        } else {
            place = entries_.size();
            index_.emplace(name, place);
            Entry entry;
            entry.disk.name = name;
            // What is there when the chart begins did its I/O before; what comes later begins at 0.
            entry.last_time = previous_time_;
            if (time_ == *first_time_) {
                entry.last = now;
            }
            entries_.push_back(std::move(entry));
        }
    }
    next_in_block_ = place + 1;
    add(entries_[place], now);
}

void DiskLog::add(Entry& entry, const Counters& now) {
    const bool replaced = now.reads < entry.last.reads || now.writes < entry.last.writes;
    const Counters last = replaced ? Counters{} : entry.last;
    const auto grown = [](std::uint64_t to, std::uint64_t from) {
        return to > from ? to - from : 0;
    };
    DiskSample sample;
    sample.from_ns = entry.last_time * kNsPerBlockTime;
    sample.to_ns = time_ * kNsPerBlockTime;
    sample.read_bytes =
        std::min(grown(now.sectors_read, last.sectors_read), kMaxSectors) * kSectorBytes;
    sample.written_bytes =
        std::min(grown(now.sectors_written, last.sectors_written), kMaxSectors) * kSectorBytes;
    sample.reads = grown(now.reads, last.reads);
    sample.writes = grown(now.writes, last.writes);
    sample.busy_ns =
        static_cast<std::int64_t>(std::min(grown(now.busy_ms, last.busy_ms), kMaxMs)) * kNsPerMs;
    entry.last = now;
    entry.last_time = time_;
    const bool idle =
        (sample.read_bytes | sample.written_bytes | sample.reads | sample.writes) == 0 &&
        sample.busy_ns == 0;
    if (idle || sample.to_ns == sample.from_ns) {
        return;
    }
    if (samples_ == limits_.samples) {
        too_many_ = true;
        return;
    }
    ++samples_;
    entry.disk.samples.push_back(sample);
}

std::vector<Disk> DiskLog::take() {
    std::vector<Disk> disks;
    for (Entry& entry : entries_) {
        disks.push_back(std::move(entry.disk));
    }
    entries_.clear();
    // Before those without I/O go: a partition of an idle disk is a partition.
    choose_counted(disks);
    std::erase_if(disks, [](const Disk& disk) { return disk.samples.empty(); });
    return disks;
}

void MemoryLog::begin_block(std::int64_t time) {
    now_ = {};
    now_.at_ns = time * kNsPerBlockTime;
    swap_total_ = 0;
    swap_free_ = 0;
}

void MemoryLog::data(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return;
    }
    const std::string_view key = trim(text.substr(0, colon));
    Fields fields(text.substr(colon + 1));
    constexpr std::uint64_t kMaxKibibytes = std::uint64_t{1} << 50;
    const std::uint64_t bytes = std::min(fields.count(), kMaxKibibytes) * kKibibyte;
    if (key == "MemTotal") {
        now_.total_bytes = bytes;
    } else if (key == "MemFree") {
        now_.free_bytes = bytes;
    } else if (key == "Buffers") {
        now_.buffers_bytes = bytes;
    } else if (key == "Cached") {
        now_.cached_bytes = bytes;
    } else if (key == "SwapTotal") {
        swap_total_ = bytes;
    } else if (key == "SwapFree") {
        swap_free_ = bytes;
    }
}

void MemoryLog::end_block(bool /*complete*/) {
    if (now_.total_bytes == 0 && now_.free_bytes == 0) {
        return;
    }
    now_.swap_used_bytes = swap_total_ > swap_free_ ? swap_total_ - swap_free_ : 0;
    samples_.push_back(now_);
}

}  // namespace lull::bootchart
