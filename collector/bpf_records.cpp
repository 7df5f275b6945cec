// SPDX-License-Identifier: MIT
#include "collector/bpf_records.hpp"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace lull::collector {
namespace {

/// The fixed part of a record and its names, or nothing if the sizes contradict each other.
template <typename Record>
std::optional<std::span<const char>> split(std::span<const std::byte> bytes, Record& record) {
    constexpr std::size_t kFixed = offsetof(Record, names);
    if (bytes.size() < kFixed) {
        return std::nullopt;
    }
    std::memcpy(&record, bytes.data(), kFixed);
    if (record.names_bytes > bytes.size() - kFixed) {
        return std::nullopt;
    }
    const auto* names = reinterpret_cast<const char*>(bytes.data() + kFixed);
    return std::span(names, record.names_bytes);
}

}  // namespace

std::string path_of_names(std::span<const char> names) {
    std::string path;
    path.reserve(names.size());
    std::size_t end = names.size();
    while (end > 0) {
        const std::size_t last = end - 1;  // the 0 after the component
        std::size_t start = last;
        while (start > 0 && names[start - 1] != '\0') {
            --start;
        }
        path += '/';
        path.append(names.data() + start, last - start);
        end = start;
    }
    return path;
}

void RecordReader::take(std::span<const std::byte> record) {
    std::uint32_t kind = 0;
    if (record.size() < sizeof(kind)) {
        ++trace_.losses.names;
        return;
    }
    std::memcpy(&kind, record.data(), sizeof(kind));
    const bool taken = kind == RECORD_FILE      ? take_file(record)
                       : kind == RECORD_PROCESS ? take_process(record)
                                                : false;
    if (!taken) {
        ++trace_.losses.names;
    }
}

bool RecordReader::take_file(std::span<const std::byte> record) {
    file_record head{};
    const auto names = split(record, head);
    if (!names) {
        return false;
    }
    if (files_.insert({head.inode, head.device}).second) {
        RawFile file;
        file.device = head.device;
        file.inode = head.inode;
        file.generation = head.generation;
        file.path = path_of_names(*names);
        trace_.files.push_back(std::move(file));
    }
    return true;
}

bool RecordReader::take_process(std::span<const std::byte> record) {
    process_record head{};
    const auto names = split(record, head);
    if (!names) {
        return false;
    }
    if (processes_.insert({head.pid, head.exec_id}).second) {
        RawProcess process;
        process.pid = head.pid;
        process.exec_id = head.exec_id;
        process.parent_pid = head.parent_pid;
        process.exe_device = head.exe_device;
        process.exe_inode = head.exe_inode;
        process.first_use_ns = head.first_use_ns;
        process.comm.assign(head.comm, ::strnlen(head.comm, COMM_BYTES));
        process.cgroup = path_of_names(*names);
        if (process.cgroup.empty()) {
            process.cgroup = "/";
        }
        trace_.processes.push_back(std::move(process));
    }
    return true;
}

RawTrace RecordReader::trace() && {
    files_.clear();
    processes_.clear();
    return std::exchange(trace_, {});
}

}  // namespace lull::collector
