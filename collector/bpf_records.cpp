// SPDX-License-Identifier: MIT
#include "collector/bpf_records.hpp"

#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lull::collector {
namespace {

/// Splits a record into its head and its names; nothing if the sizes contradict each other.
template <typename Head>
std::optional<std::span<const char>> split(std::span<const std::byte> bytes, Head& head) {
    if (bytes.size() < sizeof(head)) {
        return std::nullopt;
    }
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (head.names_bytes > bytes.size() - sizeof(head)) {
        return std::nullopt;
    }
    const auto* names = reinterpret_cast<const char*>(bytes.data() + sizeof(head));
    return std::span(names, head.names_bytes);
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
    bool taken = false;
    if (kind == RECORD_FILE || kind == RECORD_DIRECTORY) {
        taken = take_name(record, kind == RECORD_FILE);
    } else if (kind == RECORD_PROCESS) {
        taken = take_process(record);
    }
    if (!taken) {
        ++trace_.losses.names;
    }
}

bool RecordReader::take_name(std::span<const std::byte> record, bool is_file) {
    file_head head{};
    const auto name = split(record, head);
    if (!name) {
        return false;
    }
    Node node{head.parent, head.generation, is_file, std::string(name->begin(), name->end())};
    nodes_.try_emplace({head.inode, head.device}, std::move(node));
    return true;
}

std::string RecordReader::path_of(const Node& node, std::uint32_t device) const {
    std::vector<const std::string*> names;
    std::size_t length = 0;
    const Node* at = &node;
    while (at->parent != 0) {
        // Deeper than any path that can be opened: records that lead in a circle.
        constexpr std::size_t kDeepest = 4096;
        const auto above = nodes_.find({at->parent, device});
        if (above == nodes_.end() || names.size() == kDeepest) {
            return {};  // the record of a directory was lost: better no path than half of one
        }
        names.push_back(&at->name);
        length += at->name.size() + 1;
        at = &above->second;
    }
    if (length >= PATH_MAX) {
        return {};  // nobody can open it by that
    }
    std::string path;
    path.reserve(length);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
        path += '/';
        path += **name;
    }
    return path;
}

bool RecordReader::take_process(std::span<const std::byte> record) {
    process_head head{};
    const auto names = split(record, head);
    if (!names) {
        return false;
    }
    if (known_processes_.insert({head.pid, head.exec_id}).second) {
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
    trace_.files.reserve(nodes_.size());
    for (const auto& [key, node] : nodes_) {
        RawFile file;
        file.device = key.of;
        file.inode = key.number;
        file.generation = node.generation;
        file.kind = node.is_file ? db::FileKind::kRegular : db::FileKind::kDirectory;
        file.path = path_of(node, key.of);
        if (!node.is_file && node.parent == 0) {
            file.path = "/";
        }
        trace_.files.push_back(std::move(file));
    }
    nodes_.clear();
    known_processes_.clear();
    return std::exchange(trace_, {});
}

}  // namespace lull::collector
