// SPDX-License-Identifier: MIT
#include "bootchart/process_logs.hpp"

#include <algorithm>
#include <cstring>

#include "bootchart/fields.hpp"

namespace lull::bootchart {
namespace {

// PID_MAX_LIMIT of include/linux/threads.h.
constexpr std::uint32_t kMaxPid = 4 << 20;
// The kernel cuts comm to 15 bytes; Android writes argv[0] there.
constexpr std::size_t kMaxName = 256;
constexpr std::uint64_t kMaxStep = 0xffffffff;
constexpr std::uint64_t kNsPerUs = 1000;

std::uint32_t step(std::uint64_t to, std::uint64_t from) {
    return static_cast<std::uint32_t>(to > from ? std::min(to - from, kMaxStep) : 0);
}

/// acct(5), version 3: 64 bytes a record.
constexpr std::size_t kRecord = 64;
constexpr std::size_t kVersionAt = 1;
constexpr std::size_t kPidAt = 16;
constexpr std::size_t kParentAt = 20;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

}  // namespace

void SeenProcesses::begin_block(std::int64_t time) {
    previous_ = last_time_.value_or(-1);
    if (!first_time_) {
        first_time_ = time;
    }
    last_time_ = time;
    time_ = time;
}

void SeenProcesses::end_block(bool complete) {
    if (complete) {
        last_complete_ = time_;
    }
}

SeenProcess* SeenProcesses::find_or_add(const Seen& seen) {
    if (seen.pid >= by_pid_.size()) {
        by_pid_.resize(std::min<std::size_t>(kMaxPid + 1, seen.pid * std::size_t{2} + 1), 0);
    }
    std::uint32_t& place = by_pid_[seen.pid];
    if (place != 0) {
        SeenProcess& process = processes_[place - 1];
        // A pid that is used again belongs to another process. Where no start is told, a counter
        // that steps back tells it.
        const bool same = seen.start ? seen.start == process.start : seen.cpu >= process.cpu;
        if (same) {
            return &process;
        }
    }
    if (processes_.size() == limits_.processes) {
        too_many_ = true;
        return nullptr;
    }
    SeenProcess& process = processes_.emplace_back();
    place = static_cast<std::uint32_t>(processes_.size());
    process.pid = seen.pid;
    process.parent_pid = seen.parent_pid;
    process.start = seen.start;
    process.first = time_;
    process.before_first = previous_;
    process.last = previous_;
    if (previous_ < 0) {
        // What it used before the chart begins is in its sum, but in no sample.
        process.last = time_;
        process.cpu = seen.cpu;
        process.io_wait = seen.io_wait;
    }
    return &process;
}

void SeenProcesses::see(const Seen& seen) {
    SeenProcess* process = find_or_add(seen);
    if (process == nullptr) {
        return;
    }
    if (process->name != seen.name && !seen.name.empty()) {
        process->name = seen.name.substr(0, kMaxName);
    }
    const std::uint32_t cpu = step(seen.cpu, process->cpu);
    const std::uint32_t io_wait = step(seen.io_wait, process->io_wait);
    has_delays_ = has_delays_ || seen.io_wait > 0;
    if ((cpu > 0 || io_wait > 0 || seen.in_disk_wait) && time_ > process->last) {
        if (samples_ < limits_.samples) {
            ++samples_;
            process->samples.push_back({previous_, time_, cpu, io_wait, seen.in_disk_wait});
        } else {
            too_many_ = true;
        }
    }
    process->cpu = std::max(process->cpu, seen.cpu);
    process->io_wait = std::max(process->io_wait, seen.io_wait);
    process->last = time_;
}

void ProcessLog::data(std::string_view text) {
    if (text.ends_with(" not running")) {  // a note of bootchart's shell logger
        return;
    }
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        count_malformed();
        return;
    }
    const auto pid = to_number<std::uint32_t>(trim(text.substr(0, open)));
    // The numbers are those of proc(5), /proc/PID/stat: state is the 3rd field.
    Fields fields(text.substr(close + 1));
    Seen seen;
    seen.name = text.substr(open + 1, close - open - 1);
    seen.in_disk_wait = fields.next() == "D";
    seen.parent_pid = static_cast<std::uint32_t>(fields.clamped_count());
    fields.skip(9);
    seen.cpu = fields.clamped_count();   // 14: user
    seen.cpu += fields.clamped_count();  // 15: system
    fields.skip(6);
    seen.start = fields.clamped_count();  // 22
    if (!pid || *pid > kMaxPid || !fields.ok()) {
        count_malformed();
        return;
    }
    seen.pid = *pid;
    fields.skip(19);
    if (!fields.at_end()) {
        seen.io_wait = fields.clamped_count();  // 42, since 2.6.18: delays by block I/O
    }
    see(seen);
}

void TaskLog::data(std::string_view text) {
    Fields fields(text);
    Seen seen;
    const std::uint64_t pid = fields.count();
    seen.parent_pid = static_cast<std::uint32_t>(fields.count());
    // The name may hold anything; what follows it are three numbers.
    std::size_t end = text.size();
    for (int i = 0; i < 3 && end != std::string_view::npos; ++i) {
        end = text.find_last_not_of(" \t\r", end == 0 ? 0 : end - 1);
        end = end == std::string_view::npos ? end : text.find_last_of(" \t", end);
    }
    if (!fields.ok() || pid > kMaxPid || end == std::string_view::npos) {
        count_malformed();
        return;
    }
    std::string_view name = text.substr(0, end);
    for (int i = 0; i < 2; ++i) {
        name = trim(name);
        name.remove_prefix(std::min(name.find_first_of(" \t"), name.size()));
    }
    name = trim(name);
    if (name.size() >= 2 && name.front() == '(' && name.back() == ')') {
        name = name.substr(1, name.size() - 2);
    }
    Fields counters(text.substr(end));
    seen.pid = static_cast<std::uint32_t>(pid);
    seen.name = name;
    seen.cpu = counters.clamped_count() / kNsPerUs;
    seen.io_wait = counters.clamped_count() / kNsPerUs;
    // A page that is read back from swap is waited for as well.
    seen.io_wait += counters.clamped_count() / kNsPerUs;
    if (!counters.ok()) {
        count_malformed();
        return;
    }
    see(seen);
}

void CommandLog::line(std::string_view text) {
    if (text.empty()) {
        pid_.reset();
        return;
    }
    if (!pid_) {
        pid_ = to_number<std::uint32_t>(trim(text));
        lines_ = 0;
        return;
    }
    ++lines_;
    if (!text.starts_with(':') || lines_ > 2) {
        return;
    }
    text.remove_prefix(1);
    bytes_ += text.size() + sizeof(std::string);
    if (bytes_ > limits_.bytes / 8 || commands_.size() == limits_.processes) {
        return;
    }
    std::string& command = commands_[*pid_];
    if (lines_ == 1) {
        command = text;
        return;
    }
    // The arguments say more than the executable, of which argv[0] is mostly the end.
    if (text.empty() || text.front() == '\0') {
        return;
    }
    command = text;
    while (!command.empty() && command.back() == '\0') {
        command.pop_back();
    }
    std::replace(command.begin(), command.end(), '\0', ' ');
}

std::string CommandLog::command(std::uint32_t pid) const {
    const auto found = commands_.find(pid);
    return found == commands_.end() ? std::string() : found->second;
}

void Parents::add(std::uint32_t child, std::uint32_t parent) {
    if (parents_.size() < limits_.processes) {
        parents_.emplace(child, parent);
    }
}

std::optional<std::uint32_t> Parents::of(std::uint32_t child) const {
    const auto found = parents_.find(child);
    return found == parents_.end() ? std::nullopt : std::optional(found->second);
}

void PaternityLog::line(std::string_view text) {
    Fields fields(text);
    const auto child = static_cast<std::uint32_t>(fields.count());
    const auto parent = static_cast<std::uint32_t>(fields.count());
    if (fields.ok()) {
        parents_.add(child, parent);
    }
}

void AccountingLog::feed(std::string_view piece) {
    if (!partial_.empty()) {
        const std::size_t missing = std::min(kRecord - partial_.size(), piece.size());
        partial_.append(piece.substr(0, missing));
        piece.remove_prefix(missing);
        if (partial_.size() < kRecord) {
            return;
        }
        record(partial_);
        partial_.clear();
    }
    for (; piece.size() >= kRecord; piece.remove_prefix(kRecord)) {
        record(piece.substr(0, kRecord));
    }
    partial_ = piece;
}

void AccountingLog::record(std::string_view bytes) {
    constexpr char kVersion3 = 3;  // the high bit tells a big-endian machine, which is not read
    if (bytes[kVersionAt] == kVersion3) {
        parents_.add(number_at(bytes, kPidAt), number_at(bytes, kParentAt));
    }
}

}  // namespace lull::bootchart
