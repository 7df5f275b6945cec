// SPDX-License-Identifier: MIT
// ./dev bench levels [--json]: what levels are worth, in simulated time. Table A: seven sequential
// readers under the linear law of 2004; table B: eight under the geometric law of 2012 and under
// the rule that it was to replace. Exact and repeatable.
#include "tests/sim/levels.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
namespace sim = lull::sim;
namespace sched = lull::sched;

constexpr double kMegabyte = 1e6;
constexpr double kKibibyte = 1024;

const std::vector<int>& levels_a() {
    static const std::vector<int> levels{0, 1, 1, 3, 6, 3, 4};
    return levels;
}
const std::vector<int>& levels_b() {
    static const std::vector<int> levels{0, 1, 2, 3, 4, 5, 6, 7};
    return levels;
}
/// What the mails measured.
constexpr std::array<double, 7> kMailA{2.24, 1.94, 1.92, 1.35, 0.48, 1.35, 1};
constexpr std::array<double, 8> kMailRoundRobin{14.0, 9.8, 7.6, 6.4, 5.0, 3.4, 2.2, 1.6};
constexpr std::array<double, 8> kMailVirtualTime{27.5, 15.2, 8.0, 4.8, 3.1, 2.1, 1.3, 0.8};

sim::ReadersResult run(const std::string& profile, sim::ReaderRule& rule, std::size_t readers,
                       sched::Nanoseconds duration) {
    sim::ReadersSetup setup;
    setup.profile = profile;
    setup.readers = readers;
    setup.duration = duration;
    return sim::run_readers(setup, rule);
}

json table_a() {
    const auto with = sim::arbiter_readers(levels_a(), sched::LevelLaw::kLinear);
    const auto result = run("hdd-2004", *with, levels_a().size(), 30 * sched::kSecond);
    const auto same =
        sim::arbiter_readers(std::vector<int>(levels_a().size(), 4), sched::LevelLaw::kLinear);
    const auto without = run("hdd-2004", *same, levels_a().size(), 30 * sched::kSecond);
    json table;
    table["levels"] = levels_a();
    const double level4 = result.bytes_per_second(levels_a().size() - 1);
    for (std::size_t i = 0; i < levels_a().size(); ++i) {
        table["kib_s"].push_back(result.bytes_per_second(i) / kKibibyte);
        table["share_of_level4"].push_back(result.bytes_per_second(i) / level4);
        table["share_in_the_mail"].push_back(kMailA[i]);
        table["max_latency_ms"].push_back(static_cast<double>(result.readers[i].longest) / 1e6);
    }
    table["aggregate_kib_s"] = result.total_bytes_per_second() / kKibibyte;
    table["aggregate_without_levels_kib_s"] = without.total_bytes_per_second() / kKibibyte;
    return table;
}

template <std::size_t count>
json table_b(sim::ReaderRule& rule, const std::array<double, count>& mail) {
    // Level 7 has one turn in three seconds: long enough that its share is exact.
    const auto result = run("hdd-2012", rule, levels_b().size(), 600 * sched::kSecond);
    sched::Nanoseconds all = 0;
    for (const auto& reader : result.readers) {
        all += reader.disk_time;
    }
    json table;
    for (std::size_t i = 0; i < count; ++i) {
        const auto time = static_cast<double>(result.readers[i].disk_time);
        table["mb_s"].push_back(result.bytes_per_second(i) / kMegabyte);
        table["mb_s_in_the_mail"].push_back(mail[i]);
        table["disk_time_share"].push_back(time / static_cast<double>(all));
        table["max_latency_ms"].push_back(static_cast<double>(result.readers[i].longest) / 1e6);
        if (i + 1 < count) {
            table["step_ratio"].push_back(time /
                                          static_cast<double>(result.readers[i + 1].disk_time));
        }
    }
    table["total_mb_s"] = result.total_bytes_per_second() / kMegabyte;
    return table;
}

void print_row(const std::string& name, const json& values, int digits) {
    std::string line = fmt::format("{:<24}", name);
    for (const json& value : values) {
        line += fmt::format("{:>8.{}f}", value.get<double>(), digits);
    }
    fmt::print("{}\n", line);
}

void print(const json& tables) {
    const json& a = tables["table_a"];
    fmt::print("A. 7 sequential readers, 30 s, hdd-2004, linear law\n");
    print_row("level", a["levels"], 0);
    print_row("KiB/s", a["kib_s"], 0);
    print_row("share of level 4", a["share_of_level4"], 2);
    print_row("  in the mail of 2004", a["share_in_the_mail"], 2);
    print_row("max latency, ms", a["max_latency_ms"], 0);
    fmt::print("all {:.0f} KiB/s, without levels {:.0f}\n\n", a["aggregate_kib_s"].get<double>(),
               a["aggregate_without_levels_kib_s"].get<double>());
    for (const char* name : {"round_robin", "geometric"}) {
        const json& b = tables["table_b"][name];
        fmt::print("B. 8 sequential readers of level 0..7, 600 s, hdd-2012, {}\n", name);
        print_row("MB/s", b["mb_s"], 1);
        print_row("  in the mail of 2012", b["mb_s_in_the_mail"], 1);
        print_row("disk time", b["disk_time_share"], 4);
        print_row("step", b["step_ratio"], 3);
        fmt::print("all {:.1f} MB/s\n\n", b["total_mb_s"].get<double>());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool as_json = argc == 2 && std::string(argv[1]) == "--json";
    if (argc > 2 || (argc == 2 && !as_json)) {
        fmt::print(stderr, "usage: levels [--json]\n");
        return 2;
    }
    json tables;
    tables["table_a"] = table_a();
    const auto round_robin = sim::round_robin_2012(levels_b());
    tables["table_b"]["round_robin"] = table_b(*round_robin, kMailRoundRobin);
    const auto geometric = sim::arbiter_readers(levels_b(), sched::LevelLaw::kGeometric);
    tables["table_b"]["geometric"] = table_b(*geometric, kMailVirtualTime);
    if (as_json) {
        fmt::print("{}\n", tables.dump(2));
    } else {
        print(tables);
    }
    return 0;
}
