// SPDX-License-Identifier: MIT
#include <ostream>

#include <nlohmann/json.hpp>

#include "doctor/doctor.hpp"

namespace lull::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json stack_json(const sched::StackNode& node) {
    Json below = Json::array();
    for (const sched::StackNode& deeper : node.below) {
        below.push_back(stack_json(deeper));
    }
    return {{"name", node.name},
            {"layer", to_string(node.layer)},
            {"about", node.about},
            {"ends", node.ends.empty() ? Json(nullptr) : Json(node.ends)},
            {"below", below}};
}

Json place_json(const NamedPlace& named) {
    Json object{{"name", named.name}};
    if (!named.place) {
        object["error"] = named.place.error().message();
        return object;
    }
    if (named.place->mount) {
        object["mount_point"] = named.place->mount->mount_point;
        object["fs_type"] = named.place->mount->fs_type;
    }
    object["devices"] = Json::array();
    for (const sched::StackNode& node : named.place->devices) {
        object["devices"].push_back(stack_json(node));
    }
    return object;
}

Json idle_json(const IdleClass& idle) {
    Json object{{"worth", to_string(idle.worth)}};
    if (idle.worth == IdleWorth::kInverts) {
        object["longest_hold_ns"] = idle.longest_hold ? Json(*idle.longest_hold) : Json(nullptr);
    }
    if (idle.worth == IdleWorth::kLeaks) {
        object["leak"] = idle.leak;
    }
    object["why"] = idle.why;
    return object;
}

Json times_json(const std::optional<Result<sched::ServiceTimes>>& measured) {
    if (!measured) {
        return nullptr;
    }
    if (!measured->ok()) {
        return {{"error", measured->error().message()}};
    }
    const sched::ServiceTimes& times = **measured;
    Json depths = Json::array();
    for (const sched::DepthGain& one : times.depths) {
        depths.push_back({{"depth", one.depth}, {"gain", one.gain}});
    }
    return {{"seeks", times.seeks()},
            {"random_read_mean_ns", times.random_mean},
            {"random_read_median_ns", times.random_median},
            {"ns_per_byte", times.ns_per_byte},
            {"depth_helps", times.depth_helps()},
            {"depths", depths},
            {"bytes_read", times.bytes},
            {"other_bytes", times.other_bytes},
            {"took_ns", times.took}};
}

Json disk_json(const DiskReport& disk) {
    const sched::DiskFacts& facts = disk.facts;
    Json object{
        {"name", disk.device.name()},
        {"node", disk.device.node().string()},
        {"model", facts.model},
        {"transport", to_string(facts.transport)},
        {"sectors", facts.sectors},
        {"removable", facts.removable},
        {"read_only", facts.read_only},
        {"rotational", facts.rotational},
        {"scheduler", facts.scheduler},
        {"schedulers", facts.schedulers},
        {"nr_requests", facts.nr_requests},
        {"queue_depth", facts.queue_depth},
        {"hardware_queues", facts.hardware_queues},
        {"read_ahead_kb", facts.read_ahead_kb},
        {"logical_block_bytes", facts.logical_block},
        {"idle_class", idle_json(disk.idle)},
        {"measured", times_json(disk.times)},
        {"lull",
         {{"basis", disk.measured() ? "measured" : "assumed"},
          {"seeks", disk.traits.seeks},
          {"random_service_ns", disk.traits.random_service},
          {"ns_per_sector", disk.traits.ns_per_sector},
          {"idle_depth", disk.traits.idle_depth},
          {"head_start", disk.traits.seeks}}},
    };
    if (disk.watch) {
        object["watch"] = {{"rung", disk.watch->rung}, {"why", disk.watch->why}};
    }
    return object;
}

}  // namespace

void write_json(const Report& report, std::ostream& out) {
    Json places = Json::array();
    for (const NamedPlace& named : report.places) {
        places.push_back(place_json(named));
    }
    Json disks = Json::array();
    for (const DiskReport& disk : report.disks) {
        disks.push_back(disk_json(disk));
    }
    const Json whole{{"places", places}, {"disks", disks}, {"events", to_string(report.events)}};
    // A path or a model name may be any bytes.
    constexpr int kIndentation = 2;
    out << whole.dump(kIndentation, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace lull::doctor
