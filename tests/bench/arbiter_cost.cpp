// SPDX-License-Identifier: MIT
// What a decision of the arbiter costs, and a queue in memory: `./dev bench arbiter_cost [--json]`.
// A decision is all that one request needs: it is offered, decided on, sent and completed, with the
// look at what is next while it is in flight.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include "sched/arbiter.hpp"
#include "tests/sim/random.hpp"

namespace lull::bench {
namespace {

using sched::Arbiter;
using sched::Decision;
using sched::EntityId;
using sched::IoClass;
using sched::Nanoseconds;
using sched::QueueId;
using sched::Sector;
using sched::Weight;

constexpr std::array<std::int64_t, 3> kQueues{1, 1000, 1'000'000};
constexpr std::uint64_t kSeed = 1;

enum class Shape : std::uint8_t { kFlat, kGroups };

std::size_t heap_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// Every place in which a queue may be: with groups, up to 399 of them three levels deep.
template <typename Tree>
std::vector<EntityId> make_groups(Tree& tree, Shape shape, std::size_t queues,
                                  sim::Random& random) {
    constexpr std::size_t kInGroup = 8;
    constexpr std::size_t kFewest = 7;
    constexpr std::size_t kMost = 343;
    std::vector<EntityId> groups{sched::ServiceTree::kRoot};
    std::size_t above = 0;
    for (std::size_t width = kFewest;
         shape == Shape::kGroups && width <= std::min(kMost, queues / kInGroup); width *= kFewest) {
        const std::size_t end = groups.size();
        for (std::size_t i = 0; i < width; ++i) {
            const EntityId parent = groups[above + random.below(end - above)];
            groups.push_back(tree.add_group(parent, static_cast<Weight>(random.log_between(
                                                        sched::kLightest, sched::kHeaviest))));
        }
        above = end;
    }
    return groups;
}

/// An arbiter all of whose queues have work all the time, most of it sequential.
class Load {
  public:
    Load(bool seeks, Shape shape, IoClass io_class, std::size_t queues)
        : seeks_(seeks), io_class_(io_class) {
        sim::Random random(kSeed);
        const std::size_t before = heap_in_use();
        sched::ArbiterSettings settings;
        settings.disk = seeks ? sched::DiskTraits{true, 10 * sched::kMillisecond, 5000, 1}
                              : sched::DiskTraits{false, 100 * sched::kMicrosecond, 1000, 4};
        settings.gate.rule = sched::GateRule::kOpen;
        arbiter_ = std::make_unique<Arbiter>(settings);
        const auto groups = make_groups(*arbiter_, shape, queues, random);
        std::vector<QueueId> made;
        for (std::size_t i = 0; i < queues; ++i) {
            sched::QueueOptions options;
            options.group = groups[random.below(groups.size())];
            options.io_class = io_class;
            options.level = static_cast<int>(random.below(sched::kLevels));
            made.push_back(arbiter_->add_queue(options));
        }
        bytes_ = heap_in_use() - before - made.capacity() * sizeof(QueueId);
        for (const QueueId queue : made) {
            offer(queue);
        }
        bytes_ = std::max(bytes_, heap_in_use() - before - made.capacity() * sizeof(QueueId));
        // Until each queue was served and all tables have grown.
        for (std::size_t i = 0; i < 4 * queues + 1000; ++i) {
            serve();
        }
    }

    /// One request, whosever turn it is.
    QueueId serve() {
        for (;;) {
            const Decision decision = arbiter_->decide(now_);
            if (decision.kind == Decision::Kind::kDispatch) {
                in_flight_[(oldest_ + count_++) % kMost] = decision.queue;
                return decision.queue;
            }
            complete();
        }
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kMost = 64;
    static constexpr std::uint32_t kSectors = 256;

    /// Each queue reads on; every eighth jumps about.
    [[nodiscard]] Sector place(QueueId queue) const {
        constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
        constexpr int kDiskBits = 32;
        const std::uint64_t jump = queue % 8 == 0 ? static_cast<std::uint64_t>(now_) : 0;
        return (queue + jump) * kSpread >> kDiskBits;
    }
    void offer(QueueId queue) { arbiter_->has_work(queue, {place(queue), kSectors}, now_); }
    void complete() {
        const QueueId queue = in_flight_[oldest_];
        const Nanoseconds service = seeks_ ? 7 * sched::kMillisecond : 100 * sched::kMicrosecond;
        now_ += service;
        oldest_ = (oldest_ + 1) % kMost;
        --count_;
        arbiter_->done(queue, {place(queue), kSectors, service, io_class_}, now_);
        offer(queue);
    }

    bool seeks_;
    IoClass io_class_;
    std::unique_ptr<Arbiter> arbiter_;
    Nanoseconds now_ = 0;
    std::array<QueueId, kMost> in_flight_{};
    std::size_t oldest_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

/// The service tree alone: look, serve, leave, come back.
class TreeLoad {
  public:
    TreeLoad(Shape shape, std::size_t queues) {
        sim::Random random(kSeed);
        const std::size_t before = heap_in_use();
        const auto groups = make_groups(tree_, shape, queues, random);
        for (std::size_t i = 0; i < queues; ++i) {
            sched::QueueSpec spec;
            spec.weight = level_weight(sched::LevelLaw::kGeometric,
                                       static_cast<int>(random.below(sched::kLevels)));
            spec.workload = i % 8 == 0 ? sched::Workload::kSeeky : sched::Workload::kSequential;
            tree_.activate(tree_.add_queue(groups[random.below(groups.size())], spec));
        }
        bytes_ = heap_in_use() - before;
        for (std::size_t i = 0; i < 4 * queues; ++i) {
            serve();
        }
    }
    EntityId serve() {
        const EntityId queue = *tree_.next(IoClass::kBestEffort);
        tree_.charge(queue, 40 * sched::kMillisecond + queue % 1024);
        tree_.deactivate(queue);
        tree_.activate(queue);
        return queue;
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    sched::ServiceTree tree_;
    std::size_t bytes_ = 0;
};

template <typename Served>
void measure(benchmark::State& state, Served& load) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(load.serve());
    }
    state.counters["bytes"] =
        static_cast<double>(load.bytes()) / static_cast<double>(state.range(0));
}

/// Keeps what was made for a name and a number of queues: repetitions use it again.
template <typename Served, typename Make>
void measure_kept(benchmark::State& state, std::unique_ptr<Served>& kept, std::int64_t& kept_for,
                  const Make& make) {
    if (kept_for != state.range(0) || !kept) {
        kept.reset();
        kept = make(static_cast<std::size_t>(state.range(0)));
        kept_for = state.range(0);
    }
    measure(state, *kept);
}

struct Case {
    std::string name;
    bool arbiter;
    bool seeks;
    Shape shape;
    IoClass io_class;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"tree", false, true, Shape::kFlat, IoClass::kBestEffort},
        {"tree_groups", false, true, Shape::kGroups, IoClass::kBestEffort},
        {"seeks", true, true, Shape::kFlat, IoClass::kBestEffort},
        {"seeks_groups", true, true, Shape::kGroups, IoClass::kBestEffort},
        {"flash", true, false, Shape::kFlat, IoClass::kBestEffort},
        {"flash_groups", true, false, Shape::kGroups, IoClass::kBestEffort},
        {"idle", true, true, Shape::kFlat, IoClass::kIdle},
    };
    return all;
}

struct Figure {
    double ns = 0;
    double bytes = 0;
};
using Figures = std::map<std::string, std::map<std::int64_t, Figure>>;

/// Takes the median of the repetitions.
class Collect : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median") {
                continue;
            }
            const std::string& name = run.run_name.function_name;
            const std::int64_t queues = std::stoll(run.run_name.args);
            figures[name][queues] = {run.GetAdjustedCPUTime(), run.counters.at("bytes")};
            std::fprintf(stderr, "bench: %s with %lld queues\n", name.c_str(),
                         static_cast<long long>(queues));
        }
    }
    Figures figures;
};

void register_cases(const std::string& only) {
    for (const Case& each : cases()) {
        if (!only.empty() && each.name != only) {
            continue;
        }
        auto run = [&each](benchmark::State& state) {
            if (each.arbiter) {
                static std::map<std::string, std::pair<std::unique_ptr<Load>, std::int64_t>> kept;
                auto& [load, queues] = kept[each.name];
                measure_kept(state, load, queues, [&each](std::size_t number) {
                    return std::make_unique<Load>(each.seeks, each.shape, each.io_class, number);
                });
            } else {
                static std::unique_ptr<TreeLoad> load;
                static std::int64_t queues = 0;
                static std::string name;
                if (name != each.name) {
                    load.reset();
                    name = each.name;
                }
                measure_kept(state, load, queues, [&each](std::size_t number) {
                    return std::make_unique<TreeLoad>(each.shape, number);
                });
            }
        };
        auto* registered = benchmark::RegisterBenchmark(each.name.c_str(), run);
        for (const std::int64_t queues : kQueues) {
            registered->Arg(queues);
        }
        registered->Repetitions(5)->MinTime(0.1)->Unit(benchmark::kNanosecond);
    }
}

void print_json(const Figures& figures) {
    nlohmann::json cases;
    for (const auto& [name, by_queues] : figures) {
        for (const auto& [queues, figure] : by_queues) {
            const std::string number = std::to_string(queues);
            cases[name]["ns_per_decision"][number] = figure.ns;
            cases[name]["bytes_per_queue"][number] = figure.bytes;
        }
    }
    fmt::print("{}\n", nlohmann::json{{"cases", cases}}.dump(2));
}

int run(int argc, char** argv) {
    CLI::App app{"What a decision of the arbiter costs", "arbiter_cost"};
    bool json = false;
    std::string only;
    app.add_flag("--json", json, "for machines");
    app.add_option("--case", only, "only this one");
    CLI11_PARSE(app, argc, argv);
    register_cases(only);
    Collect collect;
    benchmark::RunSpecifiedBenchmarks(&collect);
    if (json) {
        print_json(collect.figures);
        return 0;
    }
    for (const auto& [name, figures] : collect.figures) {
        fmt::print("{:<14}", name);
        for (const auto& [queues, figure] : figures) {
            fmt::print(" {:>9}: {:7.1f} ns {:6.0f} B", queues, figure.ns, figure.bytes);
        }
        fmt::print("\n");
    }
    return 0;
}

}  // namespace
}  // namespace lull::bench

int main(int argc, char** argv) {
    try {
        return lull::bench::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
    } catch (...) {
        std::fputs("bench: an unknown exception\n", stderr);
    }
    return 1;
}
