// SPDX-License-Identifier: MIT
#include "replayer/demand.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace lull::replayer {
namespace {

// The last byte of the last page must be an off_t.
constexpr std::uint64_t kMaxPages =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / db::kPageSize;

using DeviceKey = std::tuple<std::string, std::string, std::string, std::uint32_t, std::uint32_t>;
using FileKey = std::tuple<std::uint32_t, db::FileKind, std::uint64_t, std::uint32_t, std::uint64_t,
                           std::int64_t, std::string>;

DeviceKey key_of(const db::Device& device) {
    if (!device.fs_uuid.empty()) {
        return {device.fs_uuid, {}, {}, 0, 0};
    }
    return {{}, device.fs_type, device.mount_point, device.major, device.minor};
}

FileKey key_of(std::uint32_t device, const db::File& file) {
    if (file.kind == db::FileKind::kDevice) {
        return {device, file.kind, 0, 0, 0, 0, {}};
    }
    // An inode number of 0 is no identity: then the name is.
    return {device,
            file.kind,
            file.inode,
            file.generation,
            file.size,
            file.mtime_ns,
            file.inode == 0 ? file.path : std::string{}};
}

bool holds_pages(db::FileKind kind) {
    return kind == db::FileKind::kRegular || kind == db::FileKind::kDevice;
}

std::uint64_t page_limit(const db::File& file) {
    if (file.kind == db::FileKind::kDevice) {
        return kMaxPages;
    }
    const std::uint64_t pages =
        file.size / db::kPageSize + (file.size % db::kPageSize == 0 ? 0 : 1);
    return std::min(pages, kMaxPages);
}

/// Gathers the ranges of all traces per file, before they are made disjoint.
class Gatherer {
  public:
    void add(const db::Trace& trace);
    Demand finish();

  private:
    std::uint32_t device_index(const db::Device& device);
    std::optional<std::uint32_t> file_index(const db::Trace& trace, const db::File& file);
    void add_read(const db::Read& read, std::uint32_t index);
    void flatten(std::uint32_t file, std::vector<Piece>& ranges);

    Demand demand_;
    std::map<DeviceKey, std::uint32_t> devices_;
    std::map<FileKey, std::uint32_t> files_;
    std::vector<std::vector<Piece>> ranges_;  ///< by file, as they came
};

std::uint32_t Gatherer::device_index(const db::Device& device) {
    const auto next = static_cast<std::uint32_t>(demand_.devices.size());
    const auto [place, is_new] = devices_.emplace(key_of(device), next);
    if (is_new) {
        demand_.devices.push_back(device);
    }
    return place->second;
}

std::optional<std::uint32_t> Gatherer::file_index(const db::Trace& trace, const db::File& file) {
    if (file.device >= trace.devices.size()) {
        return std::nullopt;
    }
    const std::uint32_t device = device_index(trace.devices[file.device]);
    const auto next = static_cast<std::uint32_t>(demand_.files.size());
    const auto [place, is_new] = files_.emplace(key_of(device, file), next);
    if (is_new) {
        demand_.files.push_back(file);
        demand_.files.back().device = device;
        ranges_.emplace_back();
    } else if (demand_.files[place->second].path.empty()) {
        demand_.files[place->second].path = file.path;
    }
    return place->second;
}

void Gatherer::add_read(const db::Read& read, std::uint32_t index) {
    const db::File& file = demand_.files[index];
    if (!holds_pages(file.kind)) {
        ranges_[index].push_back({index, 0, 0, read.first_use_ns, read.disk_position});
        return;
    }
    const std::uint64_t limit = page_limit(file);
    const std::uint64_t first = std::min(read.first_page, limit);
    const std::uint64_t pages = std::min<std::uint64_t>(read.pages, limit - first);
    if (pages < read.pages) {
        demand_.skips.push_back({SkipReason::kBadRange,
                                 display_path(demand_.devices[file.device], file),
                                 read.pages - pages, 0});
    }
    if (pages > 0) {
        ranges_[index].push_back({index, first, pages, read.first_use_ns, read.disk_position});
    }
}

void Gatherer::add(const db::Trace& trace) {
    std::vector<std::optional<std::uint32_t>> indices;
    indices.reserve(trace.files.size());
    for (const db::File& file : trace.files) {
        if (file.deleted) {
            indices.emplace_back(std::nullopt);
        } else {
            indices.push_back(file_index(trace, file));
        }
    }
    std::map<std::uint32_t, std::uint64_t> deleted_pages;
    for (const db::Read& read : trace.reads) {
        const bool known = read.file < trace.files.size();
        if (known && indices[read.file]) {
            add_read(read, *indices[read.file]);
        } else if (known && trace.files[read.file].deleted) {
            deleted_pages[read.file] += read.pages;
        } else {
            demand_.skips.push_back({SkipReason::kBadRange, "", read.pages, 0});
        }
    }
    for (const auto& [index, pages] : deleted_pages) {
        const db::File& file = trace.files[index];
        const db::Device device =
            file.device < trace.devices.size() ? trace.devices[file.device] : db::Device{};
        demand_.skips.push_back({SkipReason::kDeleted, display_path(device, file), pages, 0});
    }
}

/// Cuts overlapping ranges of one file into disjoint pieces; each takes time and position from the
/// range that needs it first.
void Gatherer::flatten(std::uint32_t file, std::vector<Piece>& ranges) {
    std::vector<std::uint64_t> cuts;
    for (const Piece& range : ranges) {
        cuts.push_back(range.first_page);
        cuts.push_back(range.end_page());
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::sort(ranges.begin(), ranges.end(),
              [](const Piece& a, const Piece& b) { return a.first_page < b.first_page; });

    using Active = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;  // use, end page, range
    std::set<Active> active;
    std::size_t next = 0;
    for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
        for (; next < ranges.size() && ranges[next].first_page == cuts[cut]; ++next) {
            active.emplace(ranges[next].first_use_ns, ranges[next].end_page(), next);
        }
        while (!active.empty() && std::get<1>(*active.begin()) <= cuts[cut]) {
            active.erase(active.begin());
        }
        if (active.empty()) {
            continue;
        }
        const Piece& first = ranges[std::get<2>(*active.begin())];
        Piece piece{file, cuts[cut], cuts[cut + 1] - cuts[cut], first.first_use_ns, first.position};
        if (piece.position) {
            *piece.position += (piece.first_page - first.first_page) * db::kPageSize;
        }
        demand_.pieces.push_back(piece);
    }
}

Demand Gatherer::finish() {
    for (std::uint32_t file = 0; file < ranges_.size(); ++file) {
        const db::File& what = demand_.files[file];
        std::vector<Piece>& ranges = ranges_[file];
        if (what.kind != db::FileKind::kDevice && what.path.empty()) {
            std::uint64_t pages = 0;
            for (const Piece& range : ranges) {
                pages += range.pages;
            }
            demand_.skips.push_back({SkipReason::kNoName,
                                     "inode " + std::to_string(what.inode) + " of " +
                                         demand_.devices[what.device].mount_point,
                                     pages, 0});
        } else if (holds_pages(what.kind)) {
            flatten(file, ranges);
        } else {
            Piece visit{file, 0, 0, 0, std::nullopt};
            const auto first = std::min_element(
                ranges.begin(), ranges.end(),
                [](const Piece& a, const Piece& b) { return a.first_use_ns < b.first_use_ns; });
            demand_.pieces.push_back(first == ranges.end() ? visit : *first);
        }
    }
    return std::move(demand_);
}

}  // namespace

std::string display_path(const db::Device& device, const db::File& file) {
    if (file.kind == db::FileKind::kDevice) {
        return device.source.empty() ? "disk of " + device.mount_point : device.source;
    }
    return device.mount_point == "/" ? file.path : device.mount_point + file.path;
}

Demand make_demand(const std::vector<db::Trace>& traces) {
    Gatherer gatherer;
    for (const db::Trace& trace : traces) {
        gatherer.add(trace);
    }
    return gatherer.finish();
}

}  // namespace lull::replayer
