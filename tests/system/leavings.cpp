// SPDX-License-Identifier: MIT
#include "tests/system/leavings.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <bpf/bpf.h>

#include "base/fd.hpp"
#include "fs/mounts.hpp"

namespace lull::test {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kName = "lull";

std::string text_of(const stdfs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Directories below `top` with our name in their path; what goes meanwhile is passed over.
void add_named(const stdfs::path& top, std::set<std::string>& found) {
    std::error_code code;
    stdfs::recursive_directory_iterator at(top, code);
    for (const stdfs::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
        std::error_code gone;
        if (at->is_directory(gone) && at->path().string().find(kName) != std::string::npos) {
            found.insert(at->path());
        }
    }
}

using NextId = int (*)(std::uint32_t, std::uint32_t*);
using Open = int (*)(std::uint32_t);

/// Ids of the objects of one kind whose info is as `wanted`.
template <typename Info, typename Prepare, typename Wanted>
Result<std::set<std::uint32_t>> ids(NextId next, Open open, const Prepare& prepare,
                                    const Wanted& wanted) {
    std::set<std::uint32_t> found;
    std::uint32_t id = 0;
    while (next(id, &id) == 0) {
        const Fd object(open(id));
        Info info{};
        prepare(info);
        std::uint32_t size = sizeof(info);
        // One that has gone meanwhile cannot be opened, and is none of those that stay.
        if (object && bpf_obj_get_info_by_fd(object.get(), &info, &size) == 0 && wanted(info)) {
            found.insert(id);
        }
    }
    if (errno != ENOENT) {
        return last_error("BPF objects");
    }
    return found;
}

}  // namespace

Result<Leavings> look_for_leavings(const std::string& tracefs, const std::string& disk) {
    const auto mounts = fs::read_mounts();
    if (!mounts) {
        return mounts.error();
    }
    Leavings found;
    found.mounts = text_of("/proc/self/mountinfo");
    for (const fs::Mount& mount : *mounts) {
        if (mount.fs_type == "cgroup" || mount.fs_type == "cgroup2") {
            add_named(mount.mount_point, found.cgroups);
        }
    }
    std::error_code code;
    for (const auto& entry : stdfs::directory_iterator(tracefs + "/instances", code)) {
        if (entry.path().filename().string().find(kName) != std::string::npos) {
            found.instances.insert(entry.path());
        }
    }
    if (code) {
        return Error{code.value(), tracefs};
    }
    for (const auto& entry : stdfs::directory_iterator("/sys/block")) {
        if (text_of(entry.path() / "loop/backing_file").starts_with(disk + "/")) {
            found.loop_devices.insert(entry.path());
        }
    }
    return found;
}

Result<BpfObjects> bpf_objects(std::uint32_t slots) {
    const auto as_it_is = [](auto& /*info*/) {};
    auto maps = ids<bpf_map_info>(
        bpf_map_get_next_id, bpf_map_get_fd_by_id, as_it_is, [&](const bpf_map_info& info) {
            return info.max_entries == slots && std::string_view(info.name) == "blocks";
        });
    if (!maps) {
        return maps.error();
    }
    std::array<std::uint32_t, 64> used{};
    auto programs = ids<bpf_prog_info>(
        bpf_prog_get_next_id, bpf_prog_get_fd_by_id,
        [&](bpf_prog_info& info) {
            info.map_ids = reinterpret_cast<std::uintptr_t>(used.data());
            info.nr_map_ids = used.size();
        },
        [&](const bpf_prog_info& info) {
            const std::size_t count = std::min<std::size_t>(info.nr_map_ids, used.size());
            return std::any_of(used.begin(), used.begin() + count,
                               [&](std::uint32_t id) { return maps->contains(id); });
        });
    if (!programs) {
        return programs.error();
    }
    auto links = ids<bpf_link_info>(
        bpf_link_get_next_id, bpf_link_get_fd_by_id, as_it_is,
        [&](const bpf_link_info& info) { return programs->contains(info.prog_id); });
    if (!links) {
        return links.error();
    }
    return BpfObjects{*std::move(maps), *std::move(programs), *std::move(links)};
}

}  // namespace lull::test
