// SPDX-License-Identifier: MIT
#include "bootchart/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bootchart/figures.hpp"

namespace lull::bootchart {
namespace {

constexpr double kSecondsPerNs = 1e-9;

/// The two sets, with what is asked of both.
struct Sets {
    const std::vector<Boot>& a;
    const std::vector<Boot>& b;

    template <typename Function>
    void each(Function function) const {
        for (const Boot& boot : a) {
            function(boot);
        }
        for (const Boot& boot : b) {
            function(boot);
        }
    }
};

/// The step to which times in a chart are known: the usual length of its samples, seconds.
double resolution_of(const Sets& sets) {
    std::vector<double> lengths;
    sets.each([&lengths](const Boot& boot) {
        if (!boot.cpu.empty()) {
            lengths.push_back(
                static_cast<double>(boot.cpu.back().to_ns - boot.cpu.front().from_ns) *
                kSecondsPerNs / static_cast<double>(boot.cpu.size()));
        }
    });
    return spread_of(std::move(lengths)).median;
}

std::optional<std::vector<double>> times_of(const std::vector<Boot>& boots,
                                            const std::string& name) {
    std::vector<double> times;
    for (const Boot& boot : boots) {
        const auto time = time_of(boot, name);
        if (!time) {
            return std::nullopt;
        }
        times.push_back(static_cast<double>(*time) * kSecondsPerNs);
    }
    return times;
}

/// The milestones worth a look: those that the first chart names, and those that all have.
std::vector<std::string> candidates(const Sets& sets, const std::string& wanted) {
    std::vector<std::string> names;
    std::set<std::string> seen;
    const auto add = [&](const std::string& name) {
        if (!name.empty() && seen.insert(name).second) {
            names.push_back(name);
        }
    };
    add(wanted);
    for (const Milestone& milestone : sets.a.front().milestones) {
        add(milestone.name);
    }
    for (const std::string_view name : {kQuietDisk, kIdle, kEnd}) {
        add(std::string(name));
    }
    return names;
}

std::string choose_decisive(const std::vector<Quantity>& reached, const std::string& wanted) {
    const std::array<std::string, 8> preference{
        wanted,           "startup finished",      "graphical.target", "multi-user.target",
        "default.target", std::string(kQuietDisk), std::string(kIdle), std::string(kEnd)};
    for (const std::string& name : preference) {
        for (const Quantity& quantity : reached) {
            if (quantity.name == name) {
                return name;
            }
        }
    }
    return std::string(kEnd);
}

Result<void> add_milestones(const Sets& sets, const std::string& wanted, Comparison& comparison) {
    const double resolution = resolution_of(sets);
    for (const std::string& name : candidates(sets, wanted)) {
        const auto a = times_of(sets.a, name);
        const auto b = times_of(sets.b, name);
        if (a && b) {
            comparison.milestones.push_back(
                {name, Quantity::Unit::kSeconds, difference_of(*a, *b, resolution)});
        } else if (name == wanted) {
            return Error{ENODATA, fmt::format("not every boot reached the milestone \"{}\"", name)};
        }
    }
    std::stable_sort(comparison.milestones.begin(), comparison.milestones.end(),
                     [](const Quantity& x, const Quantity& y) {
                         return x.difference.a.mean < y.difference.a.mean;
                     });
    comparison.milestone = choose_decisive(comparison.milestones, wanted);
    return {};
}

void add_totals(const Sets& sets, Comparison& comparison) {
    const auto figures = [](const std::vector<Boot>& boots) {
        std::vector<Figures> all;
        all.reserve(boots.size());
        for (const Boot& boot : boots) {
            all.push_back(figures_of(boot));
        }
        return all;
    };
    const auto a = figures(sets.a);
    const auto b = figures(sets.b);
    const auto add = [&a, &b](std::vector<Quantity>& to, const char* name, Quantity::Unit unit,
                              auto take) {
        std::vector<double> from_a;
        std::vector<double> from_b;
        std::transform(a.begin(), a.end(), std::back_inserter(from_a), take);
        std::transform(b.begin(), b.end(), std::back_inserter(from_b), take);
        to.push_back({name, unit, difference_of(from_a, from_b)});
    };
    using Unit = Quantity::Unit;
    using F = const Figures&;
    auto& disk = comparison.disk;
    add(disk, "bytes read", Unit::kBytes, [](F f) { return double(f.disk.read_bytes); });
    add(disk, "bytes written", Unit::kBytes, [](F f) { return double(f.disk.written_bytes); });
    add(disk, "reads", Unit::kCount, [](F f) { return double(f.disk.reads); });
    add(disk, "writes", Unit::kCount, [](F f) { return double(f.disk.writes); });
    add(disk, "busy", Unit::kSeconds, [](F f) { return f.disk.busy; });
    add(disk, "throughput", Unit::kBytesPerSecond, [](F f) { return f.disk.throughput(); });
    auto& cpu = comparison.cpu;
    add(cpu, "busy", Unit::kSeconds, [](F f) { return f.cpu.busy(); });
    add(cpu, "I/O wait", Unit::kSeconds, [](F f) { return f.cpu.iowait; });
    add(cpu, "idle", Unit::kSeconds, [](F f) { return f.cpu.idle; });
    add(cpu, "share busy", Unit::kShare, [](F f) { return f.cpu.share(f.cpu.busy()); });
    add(cpu, "share I/O wait", Unit::kShare, [](F f) { return f.cpu.share(f.cpu.iowait); });
    add(cpu, "share idle", Unit::kShare, [](F f) { return f.cpu.share(f.cpu.idle); });
}

/// What the processes of one name did in one boot.
struct ByName {
    double first_seen = 0;
    double io_wait = 0;
    double cpu = 0;
};

std::unordered_map<std::string_view, ByName> by_name(const Boot& boot) {
    std::unordered_map<std::string_view, ByName> names;
    for (const Process& process : boot.processes) {
        const double start = static_cast<double>(process.start_ns) * kSecondsPerNs;
        const auto [place, is_new] = names.try_emplace(process.name, ByName{start, 0, 0});
        ByName& sum = place->second;
        sum.first_seen = std::min(sum.first_seen, start);
        sum.io_wait += static_cast<double>(process.io_wait_ns) * kSecondsPerNs;
        sum.cpu += static_cast<double>(process.cpu_ns) * kSecondsPerNs;
    }
    return names;
}

void add_processes(const Sets& sets, Comparison& comparison) {
    struct Values {
        std::vector<double> first_seen;
        std::vector<double> io_wait;
        std::vector<double> cpu;
    };
    std::map<std::string_view, std::array<Values, 2>> all;
    const auto collect = [&all](const std::vector<Boot>& boots, std::size_t side) {
        for (const Boot& boot : boots) {
            for (const auto& [name, sum] : by_name(boot)) {
                Values& values = all[name][side];
                values.first_seen.push_back(sum.first_seen);
                values.io_wait.push_back(sum.io_wait);
                values.cpu.push_back(sum.cpu);
            }
        }
    };
    collect(sets.a, 0);
    collect(sets.b, 1);
    for (auto& [name, sides] : all) {
        ProcessChange change;
        change.name = name;
        change.boots_a = sides[0].first_seen.size();
        change.boots_b = sides[1].first_seen.size();
        if (change.boots_a > 0 && change.boots_b > 0) {
            change.first_seen = difference_of(sides[0].first_seen, sides[1].first_seen);
        }
        for (std::size_t side = 0; side < sides.size(); ++side) {
            const std::size_t boots = side == 0 ? sets.a.size() : sets.b.size();
            sides[side].io_wait.resize(boots, 0);
            sides[side].cpu.resize(boots, 0);
        }
        change.io_wait = difference_of(sides[0].io_wait, sides[1].io_wait);
        change.cpu = difference_of(sides[0].cpu, sides[1].cpu);
        comparison.processes.push_back(std::move(change));
    }
    std::stable_sort(
        comparison.processes.begin(), comparison.processes.end(),
        [](const ProcessChange& x, const ProcessChange& y) { return x.size() > y.size(); });
}

/// A sentence if the boots do not agree on `take`.
void warn_of(const Sets& sets, const char* what, const char* meaning, Comparison& comparison,
             const auto& take) {
    std::set<std::string> a;
    std::set<std::string> b;
    std::transform(sets.a.begin(), sets.a.end(), std::inserter(a, a.end()), take);
    std::transform(sets.b.begin(), sets.b.end(), std::inserter(b, b.end()), take);
    if (a.size() == 1 && a == b) {
        return;
    }
    const auto list = [](const std::set<std::string>& values) {
        std::vector<std::string> quoted;
        quoted.reserve(values.size());
        for (const std::string& value : values) {
            quoted.push_back(value.empty() ? "unknown" : "\"" + value + "\"");
        }
        return fmt::format("{}", fmt::join(quoted, ", "));
    };
    comparison.warnings.push_back(
        fmt::format("{} differ: {} against {}{}", what, list(a), list(b), meaning));
}

void add_warnings(const Sets& sets, Comparison& comparison) {
    warn_of(sets, "kernels", "", comparison, [](const Boot& boot) { return boot.facts.kernel; });
    warn_of(sets, "CPUs", "", comparison, [](const Boot& boot) { return boot.facts.cpu; });
    warn_of(sets, "numbers of CPUs", "", comparison,
            [](const Boot& boot) { return std::to_string(boot.facts.cpus); });
    warn_of(sets, "kernel command lines", "", comparison,
            [](const Boot& boot) { return boot.facts.kernel_cmdline; });
    warn_of(sets, "formats", "", comparison, [](const Boot& boot) { return boot.format; });
    warn_of(sets, "clocks", ": times of milestones cannot be compared", comparison,
            [](const Boot& boot) {
                return std::string(boot.clock == Clock::kBoot ? "since the kernel started"
                                                              : "since the chart began");
            });
    if (std::min(sets.a.size(), sets.b.size()) == 1) {
        comparison.warnings.emplace_back(
            "one boot on a side does not tell how much boots vary: no difference can be told from "
            "chance; compare sets of five");
    }
    // What is said of many boots is said once.
    std::vector<std::pair<std::string, std::vector<std::string>>> by_text;
    sets.each([&by_text](const Boot& boot) {
        for (const std::string& warning : boot.warnings) {
            auto place = std::find_if(by_text.begin(), by_text.end(),
                                      [&](const auto& one) { return one.first == warning; });
            if (place == by_text.end()) {
                place = by_text.insert(place, {warning, {}});
            }
            place->second.push_back(boot.source);
        }
    });
    for (const auto& [text, sources] : by_text) {
        const std::string others =
            sources.size() > 1 ? fmt::format(" and {} more", sources.size() - 1) : "";
        comparison.warnings.push_back(fmt::format("{}{}: {}", sources.front(), others, text));
    }
}

}  // namespace

double ProcessChange::size() const {
    return std::abs(io_wait.absolute) + std::abs(cpu.absolute);
}

const Quantity& Comparison::decisive() const {
    return *std::find_if(milestones.begin(), milestones.end(),
                         [this](const Quantity& one) { return one.name == milestone; });
}

bool Comparison::slower_by(double percent) const {
    constexpr double kPercent = 100;
    const Difference& difference = decisive().difference;
    const bool sure = !difference.interval || difference.verdict() == Verdict::kSlower;
    return sure && difference.relative && *difference.relative * kPercent > percent;
}

Result<Comparison> compare(const std::vector<Boot>& a, const std::vector<Boot>& b,
                           const std::string& milestone) {
    if (a.empty() || b.empty()) {
        return Error{EINVAL, "nothing to compare"};
    }
    const Sets sets{a, b};
    Comparison comparison;
    for (const Boot& boot : a) {
        comparison.sources_a.push_back(boot.source);
    }
    for (const Boot& boot : b) {
        comparison.sources_b.push_back(boot.source);
    }
    if (auto reached = add_milestones(sets, milestone, comparison); !reached) {
        return reached.error();
    }
    add_totals(sets, comparison);
    add_processes(sets, comparison);
    add_warnings(sets, comparison);
    return comparison;
}

}  // namespace lull::bootchart
