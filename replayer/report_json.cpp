// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

#include "db/text.hpp"
#include "replayer/report.hpp"

namespace lull::replayer {
namespace {

using Json = nlohmann::ordered_json;

Json with_path(const std::string& path) {
    Json object;
    object["path"] = path;
    if (!db::is_utf8(path)) {
        object["path_hex"] = db::hex(path);
    }
    return object;
}

std::string key_of(SkipReason reason) {
    std::string key(to_string(reason));
    std::replace(key.begin(), key.end(), ' ', '_');
    return key;
}

Json json_of(const Tally& tally) {
    const auto bytes = [](std::uint64_t pages) { return pages * db::kPageSize; };
    return {{"reads", tally.ranges},
            {"visits", tally.visits},
            {"asked", bytes(tally.asked)},
            {"gaps", bytes(tally.gap)},
            {"resident_before", bytes(tally.resident_before)},
            {"read", bytes(tally.read)},
            {"skipped", bytes(tally.skipped)},
            {"resident_after", bytes(tally.resident_after)},
            {"unknown_after", bytes(tally.unknown_after)}};
}

Json json_of(const DiskReport& disk, const Demand& demand) {
    Json object = {
        {"uuid", disk.device.fs_uuid},     {"type", disk.device.fs_type},
        {"source", disk.device.source},    {"recorded_mount_point", disk.device.mount_point},
        {"mount_point", disk.mount_point}, {"seconds", disk.seconds},
        {"tally", json_of(disk.tally)}};
    for (const Chunk& chunk : disk.chunks) {
        Json read = with_path(display_path(disk.device, demand.files[chunk.file]));
        read["first_page"] = chunk.first_page;
        read["pages"] = chunk.pages;
        read["gap_pages"] = chunk.gap_pages;
        read["position"] = chunk.position ? Json(*chunk.position) : Json(nullptr);
        read["first_use_ns"] = chunk.first_use_ns;
        object["plan"].push_back(std::move(read));
    }
    return object;
}

Json json_of(const Skip& skip) {
    Json object = with_path(skip.path);
    object["reason"] = key_of(skip.reason);
    object["bytes"] = skip.pages * db::kPageSize;
    if (skip.code != 0) {
        object["error"] = std::strerror(skip.code);
    }
    return object;
}

}  // namespace

void write_json(const ReplayReport& report, std::ostream& out) {
    const Tally total = report.total();
    const double seconds = report.seconds();
    Json json = {{"dry_run", report.dry_run},
                 {"databases", report.databases},
                 {"warnings", report.warnings},
                 {"engine", report.engine},
                 {"depth", report.depth},
                 {"io_class", report.io_class ? Json(*report.io_class) : Json(nullptr)},
                 {"budget", report.budget_bytes},
                 {"stopped", report.stopped},
                 {"seconds", seconds},
                 {"bytes_per_second",
                  seconds > 0 ? static_cast<double>(total.read * db::kPageSize) / seconds : 0.0},
                 {"total", json_of(total)},
                 {"file_systems", Json::array()},
                 {"skips", Json::array()}};
    for (const DiskReport& disk : report.disks) {
        json["file_systems"].push_back(json_of(disk, report.demand));
    }
    for (const Skip& skip : report.skips.all()) {
        json["skips"].push_back(json_of(skip));
    }
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace lull::replayer
