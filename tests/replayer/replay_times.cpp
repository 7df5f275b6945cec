// SPDX-License-Identifier: MIT
// Prints how long a replay takes on an emulated hdd-7200, by engine, depth, window and gaps read
// through. Each line is the median of three; a person judges it, no test does.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "replayer/replay.hpp"
#include "tests/replayer/cold_tree.hpp"

namespace {

using lull::replayer::EngineKind;
using lull::replayer::ReplayOptions;
using lull::replayer::testing::ColdTree;

struct Setting {
    const char* name;
    EngineKind engine;
    std::uint32_t depth;
    std::uint64_t window_ms;
    double read_through;
};

constexpr std::array kSettings{
    Setting{"io_uring", EngineKind::kUring, 1, 0, 0.05},
    Setting{"io_uring", EngineKind::kUring, 4, 0, 0.05},
    Setting{"io_uring", EngineKind::kUring, 32, 0, 0.05},
    Setting{"io_uring, no gaps", EngineKind::kUring, 32, 0, 0},
    Setting{"io_uring, gaps 20 %", EngineKind::kUring, 32, 0, 0.2},
    Setting{"threads", EngineKind::kThread, 1, 0, 0.05},
    Setting{"threads", EngineKind::kThread, 32, 0, 0.05},
    Setting{"io_uring, 4 windows", EngineKind::kUring, 32, 250, 0.05},
    Setting{"io_uring, 16 windows", EngineKind::kUring, 32, 63, 0.05},
    Setting{"io_uring, by need", EngineKind::kUring, 32, 1, 0},
};

constexpr unsigned kFiles = 1000;
constexpr int kRuns = 3;

double milliseconds(lull::disk::Nanoseconds ns) {
    return static_cast<double>(ns) / 1e6;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void print_cold(ColdTree& tree) {
    std::vector<double> wall;
    std::uint64_t reads = 0;
    for (int run = 0; run < kRuns; ++run) {
        if (!tree.disk().remount_cold()) {
            return;
        }
        const auto before = tree.disk().counters();
        const auto begin = std::chrono::steady_clock::now();
        static_cast<void>(tree.demand());
        wall.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count());
        reads = tree.disk().counters().reads - before.reads;
    }
    fmt::print("{:<22} {:>5} {:>9.0f} {:>9} {:>7}\n", "cold run", "", median(wall), "", reads);
}

void print(ColdTree& tree, const Setting& setting) {
    ReplayOptions options;
    options.engine.kind = setting.engine;
    options.engine.depth = setting.depth;
    options.plan.window_ns = setting.window_ms * 1'000'000 * kFiles / 1'000;
    options.plan.read_through = setting.read_through;
    std::vector<double> wall;
    std::vector<double> busy;
    std::uint64_t reads = 0;
    std::uint64_t seeks = 0;
    for (int run = 0; run < kRuns; ++run) {
        if (!tree.disk().remount_cold()) {
            return;
        }
        const auto before = tree.disk().counters();
        const auto report = lull::replayer::replay(options, {tree.trace()});
        const auto after = tree.disk().counters();
        if (!report) {
            fmt::print("{}: {}\n", setting.name, report.error().message());
            return;
        }
        wall.push_back(report->seconds() * 1000);
        busy.push_back(milliseconds(after.busy - before.busy));
        reads = after.reads - before.reads;
        seeks = after.seeks - before.seeks;
    }
    fmt::print("{:<22} {:>5} {:>9.0f} {:>9.0f} {:>7} {:>7}\n", setting.name, setting.depth,
               median(wall), median(busy), reads, seeks);
}

}  // namespace

int main() {
    auto tree = ColdTree::make(kFiles);
    if (!tree) {
        fmt::print(stderr, "{}\n", tree.error().message());
        return 1;
    }
    fmt::print("{:.1f} MB in {} files\n", static_cast<double>(tree->demanded_pages()) * 4096 / 1e6,
               kFiles);
    fmt::print("{:<22} {:>5} {:>9} {:>9} {:>7} {:>7}\n", "how", "depth", "ms", "disk ms", "reads",
               "seeks");
    print_cold(*tree);
    for (const Setting& setting : kSettings) {
        print(*tree, setting);
        std::fflush(stdout);
    }
    return 0;
}
