// SPDX-License-Identifier: MIT
// Traces written by hand, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "db/trace.hpp"

namespace lull::replayer::testing {

inline db::Trace trace_of_one_disk(std::string uuid = "0b6c1e2e-4f9b-4f5e-9d63-0a3f5b0f7a11") {
    db::Trace trace;
    db::Device device;
    device.fs_uuid = std::move(uuid);
    device.fs_type = "ext4";
    device.mount_point = "/";
    device.source = "/dev/sda1";
    device.major = 8;
    device.minor = 1;
    trace.devices.push_back(device);
    return trace;
}

inline std::uint32_t add_file(db::Trace& trace, const std::string& path, std::uint64_t pages,
                              db::FileKind kind = db::FileKind::kRegular) {
    db::File file;
    file.kind = kind;
    file.path = path;
    file.inode = 100 + trace.files.size();
    file.size = pages * db::kPageSize;
    trace.files.push_back(file);
    return static_cast<std::uint32_t>(trace.files.size() - 1);
}

inline void add_read(db::Trace& trace, std::uint32_t file, std::uint64_t first_page,
                     std::uint32_t pages, std::uint64_t first_use_ns = 0,
                     std::optional<std::uint64_t> position = std::nullopt) {
    db::Read read;
    read.file = file;
    read.first_page = first_page;
    read.pages = pages;
    read.first_use_ns = first_use_ns;
    read.disk_position = position;
    trace.reads.push_back(read);
}

}  // namespace lull::replayer::testing
