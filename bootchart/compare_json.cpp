// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "bootchart/compare.hpp"

namespace lull::bootchart {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Spread& spread) {
    return {{"count", spread.count},   {"mean", spread.mean},
            {"median", spread.median}, {"deviation", spread.deviation},
            {"lowest", spread.lowest}, {"highest", spread.highest}};
}

Json json_of(const Difference& difference) {
    const auto& interval = difference.interval;
    return {{"a", json_of(difference.a)},
            {"b", json_of(difference.b)},
            {"difference", difference.absolute},
            {"relative", difference.relative ? Json(*difference.relative) : Json(nullptr)},
            {"interval", interval ? Json{interval->low, interval->high} : Json(nullptr)}};
}

const char* name_of(Quantity::Unit unit) {
    switch (unit) {
        case Quantity::Unit::kSeconds:
            return "seconds";
        case Quantity::Unit::kBytes:
            return "bytes";
        case Quantity::Unit::kBytesPerSecond:
            return "bytes per second";
        case Quantity::Unit::kShare:
            return "share";
        case Quantity::Unit::kCount:
            break;
    }
    return "count";
}

Json json_of(const std::vector<Quantity>& quantities) {
    Json list = Json::array();
    for (const Quantity& quantity : quantities) {
        Json one = {{"name", quantity.name}, {"unit", name_of(quantity.unit)}};
        one.update(json_of(quantity.difference));
        list.push_back(std::move(one));
    }
    return list;
}

Json json_of(const ProcessChange& process) {
    const bool both = process.boots_a > 0 && process.boots_b > 0;
    return {{"name", process.name},
            {"boots_a", process.boots_a},
            {"boots_b", process.boots_b},
            {"first_seen", both ? json_of(process.first_seen) : Json(nullptr)},
            {"io_wait", json_of(process.io_wait)},
            {"cpu", json_of(process.cpu)}};
}

}  // namespace

void write_json(const Comparison& comparison, std::ostream& out) {
    const Difference& decisive = comparison.decisive().difference;
    Json json = {{"verdict", to_string(decisive.verdict())},
                 {"milestone", comparison.milestone},
                 {"confidence", kConfidence}};
    json.update(json_of(decisive));
    json["sources"] = {{"a", comparison.sources_a}, {"b", comparison.sources_b}};
    json["warnings"] = comparison.warnings;
    json["milestones"] = json_of(comparison.milestones);
    json["disk"] = json_of(comparison.disk);
    json["cpu"] = json_of(comparison.cpu);
    json["processes"] = Json::array();
    for (const ProcessChange& process : comparison.processes) {
        json["processes"].push_back(json_of(process));
    }
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace lull::bootchart
