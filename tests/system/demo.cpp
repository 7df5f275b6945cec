// SPDX-License-Identifier: MIT
// The demo: real programs are started cold from an emulated hard disk and recorded, the trace is
// read ahead, and the same start is measured again. ./dev demo builds and runs it.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "tests/disk/fixture.hpp"
#include "tests/system/demo_image.hpp"
#include "tests/system/demo_process.hpp"
#include "tests/system/demo_report.hpp"
#include "tests/system/demo_round.hpp"

namespace lull::demo {
namespace {

struct Options {
    std::filesystem::path lull;
    std::filesystem::path work;
    std::filesystem::path sources;
    std::size_t rounds = 3;
    std::string rung;
    bool json = false;
};

void progress(const std::string& line) {
    fmt::print(stderr, "demo: {}\n", line);
}

/// A directory for one run of the demo: starting the programs changes their disk, so that is a
/// copy. What a run that was killed left behind goes first.
struct Scratch {
    explicit Scratch(const std::filesystem::path& work) : path(work / "run") {
        remove();
        std::error_code ignored;
        std::filesystem::create_directories(path, ignored);
    }
    ~Scratch() { remove(); }
    void remove() const {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::filesystem::path path;
};

Result<std::vector<Round>> run_rounds(const Options& options) {
    auto runner = Runner::make();
    if (!runner) {
        return runner.error();
    }
    const auto image = prepare_image(*runner, options.work, options.sources);
    if (!image) {
        return image.error();
    }
    const Scratch scratch(options.work);
    const std::filesystem::path copy = scratch.path / "disk.img";
    if (const auto copied = runner->run({"cp", "--sparse=always", *image, copy}); !copied) {
        return copied.error();
    }
    disk::EmulatedDiskOptions disk_options;
    disk_options.image = copy;
    auto disk = disk::EmulatedDisk::create(disk_options);
    if (!disk) {
        return disk.error();
    }
    const Stage stage{*runner, *disk, options.lull, scratch.path / "trace.db", options.rung};
    std::vector<Round> rounds;
    while (rounds.size() < options.rounds) {
        progress(fmt::format("round {} of {}", rounds.size() + 1, options.rounds));
        auto round = run_round(stage);
        if (!round) {
            return round.error();
        }
        progress(fmt::format("cold {:.2f} s, after replay {:.2f} s", round->cold.seconds,
                             round->after.seconds));
        rounds.push_back(*std::move(round));
    }
    return rounds;
}

int demo(const Options& options) {
    if (::geteuid() != 0) {
        progress("needs root: mounts, a loop device, BPF");
        return 1;
    }
    const auto rounds = run_rounds(options);
    if (!rounds) {
        progress(rounds.error().message());
        return 1;
    }
    const Round result = median(*rounds);
    fmt::print("{}", options.json ? as_json(result, rounds->size())
                                  : as_text(result, rounds->size(), ::isatty(STDOUT_FILENO) == 1));
    return 0;
}

}  // namespace
}  // namespace lull::demo

int main(int argc, char** argv) try {
    lull::demo::Options options;
    CLI::App app{"Starts real programs from a slow disk: cold, and after a replay"};
    app.add_option("--lull", options.lull, "the lull program")->required();
    app.add_option("--work", options.work, "where the image is kept")->required();
    app.add_option("--sources", options.sources, "directory of demo_image.sh")->required();
    app.add_option("--runs", options.rounds, "rounds, of which the medians are shown")
        ->check(CLI::Range(1, 100));
    app.add_option("--pages", options.rung, "the rung by which the collector sees pages");
    app.add_flag("--json", options.json, "figures as JSON, nothing else on standard output");
    CLI11_PARSE(app, argc, argv);
    options.lull = std::filesystem::absolute(options.lull);
    options.work = std::filesystem::absolute(options.work);
    return lull::demo::demo(options);
} catch (const std::exception& error) {
    lull::demo::progress(error.what());
    return 1;
}
