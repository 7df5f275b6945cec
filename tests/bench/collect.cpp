// SPDX-License-Identifier: MIT
// What collecting costs: `./dev bench collect [--json]`. Pairs of runs with and without `lull
// collect`, the figures of each load measured by the load itself.
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/memory.hpp"
#include "tests/bench/pairs.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/system/demo_chroot.hpp"
#include "tests/system/demo_image.hpp"
#include "tests/system/demo_process.hpp"

namespace lull::bench {
namespace {

namespace filesystem = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::uint64_t kSmallFiles = 100'000;
constexpr std::uint64_t kBlocks = 100'000;
constexpr std::uint64_t kEvents = 400'000;

struct Options {
    filesystem::path lull;
    filesystem::path load;
    filesystem::path work;
    filesystem::path sources;
    std::size_t pairs = 9;
    bool json = false;
};

struct Figures {
    Spread event_ns;       ///< CPU time of a page-cache event in a block that is known
    Spread files_percent;  ///< CPU time of opening and reading each file, all of them new
    Spread start_percent;  ///< wall time of a cold program start from a hard disk
    Spread start_seconds;  ///< the same start without the collector
    MemoryPeak memory;     ///< of a trace of kBlocks blocks
};

void progress(const std::string& line) {
    fmt::print(stderr, "bench: {}\n", line);
}

/// Runs `words` and gives what it printed; standard error goes nowhere.
Result<std::string> output_of(const Words& words,
                              const std::function<void(pid_t)>& meanwhile = {}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return last_error("pipe");
    }
    const Fd reading(ends[0]);
    Fd writing(ends[1]);
    Words copy = words;
    std::vector<char*> argv;
    for (std::string& word : copy) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int code = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    writing.reset();
    if (code != 0) {
        return Error{code, words[0]};
    }
    if (meanwhile) {
        meanwhile(child);
    }
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(reading.get(), buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Error{ECHILD, fmt::format("{} failed", fmt::join(words, " "))};
    }
    return text;
}

class Bench {
  public:
    Bench(const Options& options, demo::Runner& runner) : options_(options), runner_(runner) {}

    Result<Figures> run();

  private:
    [[nodiscard]] Words collect(const filesystem::path& mount) const {
        return {options_.lull, "collect", "--db", options_.work / "bench.db",
                "--mount",     mount,     "--"};
    }
    Result<void> cached_loads(Figures& figures);
    Result<void> memory(const filesystem::path& mount, Figures& figures);
    Result<void> cold_start(Figures& figures);
    Result<double> load(const Words& prefix, const Words& words) const;

    const Options& options_;
    demo::Runner& runner_;
};

/// CPU nanoseconds of one operation of the load.
Result<double> Bench::load(const Words& prefix, const Words& words) const {
    Words all = prefix;
    all.push_back(options_.load);
    all.insert(all.end(), words.begin(), words.end());
    const auto text = output_of(all);
    if (!text) {
        return text.error();
    }
    return std::stod(*text);
}

void make_small_files(const filesystem::path& directory) {
    constexpr std::uint64_t kInDirectory = 1000;
    for (std::uint64_t i = 0; i < kSmallFiles; ++i) {
        const auto parent = directory / std::to_string(i / kInDirectory);
        if (i % kInDirectory == 0) {
            filesystem::create_directories(parent);
        }
        std::ofstream(parent / std::to_string(i)) << "a small file\n";
    }
}

Result<void> Bench::cached_loads(Figures& figures) {
    disk::EmulatedDiskOptions options;
    options.timing = false;
    auto disk = disk::EmulatedDisk::create(options);
    if (!disk) {
        return disk.error();
    }
    const filesystem::path mount = disk->mount_point();
    progress("page-cache events");
    const filesystem::path file = mount / "file";
    std::ofstream(file) << std::string(std::size_t{1} << 20, 'x');
    const Words with = collect(mount);
    const auto events = run_pairs(options_.pairs, [&](bool collected) {
        return load(collected ? with : Words{}, {"events", file, std::to_string(kEvents)});
    });
    if (!events) {
        return events.error();
    }
    figures.event_ns = differences(*events);

    progress(fmt::format("{} small files", kSmallFiles));
    make_small_files(mount / "small");
    const Words files{"files", mount / "small", std::to_string(kSmallFiles)};
    if (const auto warm_up = load({}, files); !warm_up) {
        return warm_up.error();
    }
    const auto pairs = run_pairs(options_.pairs, [&](bool collected) {
        filesystem::remove(options_.work / "bench.db");
        return load(collected ? with : Words{}, files);
    });
    if (!pairs) {
        return pairs.error();
    }
    figures.files_percent = percents(*pairs);
    return memory(mount, figures);
}

Result<void> Bench::memory(const filesystem::path& mount, Figures& figures) {
    progress(fmt::format("memory for {} blocks", kBlocks));
    constexpr std::uint64_t kBlockBytes = 131072;
    const filesystem::path sparse = mount / "sparse";
    std::ofstream(sparse).put('x');
    filesystem::resize_file(sparse, kBlocks * kBlockBytes);
    filesystem::remove(options_.work / "bench.db");
    Words words = collect(mount);
    words.insert(words.end(), {options_.load, "blocks", sparse, std::to_string(kBlocks)});
    std::jthread sampler;
    const auto done = output_of(words, [&](pid_t pid) {
        sampler = std::jthread([&figures, pid](const std::stop_token& stop) {
            figures.memory = memory_peak(pid, stop);
        });
    });
    sampler.request_stop();
    sampler.join();
    return done ? Result<void>() : done.error();
}

Result<void> Bench::cold_start(Figures& figures) {
    progress("cold start of python3 from a hard disk");
    auto image =
        demo::prepare_image(runner_, options_.work.parent_path() / "demo", options_.sources);
    if (!image) {
        return image.error();
    }
    const filesystem::path copy = options_.work / "disk.img";
    if (const auto copied = runner_.run({"cp", "--sparse=always", *image, copy}); !copied) {
        return copied.error();
    }
    disk::EmulatedDiskOptions options;
    options.image = copy;
    auto disk = disk::EmulatedDisk::create(options);
    if (!disk) {
        return disk.error();
    }
    const std::string root = disk->mount_point();
    const std::string program =
        "import asyncio, concurrent.futures, ctypes, decimal, email, http.client, json, logging, "
        "multiprocessing, sqlite3, ssl, tarfile, unittest, urllib, xml.dom.minidom, zipfile";
    const Words start{"chroot", root, "/usr/bin/python3", "-c", program};
    const auto pairs = run_pairs(options_.pairs, [&](bool collected) -> Result<double> {
        if (const auto cold = disk->remount_cold(); !cold) {
            return cold.error();
        }
        if (const auto quiet = disk->settle(); !quiet) {
            return quiet.error();
        }
        // The collector's own start is not part of the program's: the program tells its time.
        const Words timed{"sh", "-c", R"sh(a=$(date +%s%N); "$@" && echo $(($(date +%s%N) - a)))sh",
                          "sh"};
        Words words = collected ? collect(root) : Words{};
        words.insert(words.end(), timed.begin(), timed.end());
        words.insert(words.end(), start.begin(), start.end());
        const auto text = output_of(words);
        if (!text) {
            return text.error();
        }
        constexpr double kSecond = 1e9;
        return std::stod(*text) / kSecond;
    });
    filesystem::remove(copy);
    if (!pairs) {
        return pairs.error();
    }
    figures.start_percent = percents(*pairs);
    std::vector<double> seconds;
    for (const Pair& pair : *pairs) {
        seconds.push_back(pair.without);
    }
    figures.start_seconds = spread_of(seconds);
    return {};
}

Result<Figures> Bench::run() {
    Figures figures;
    if (auto done = cached_loads(figures); !done) {
        return done.error();
    }
    if (auto done = cold_start(figures); !done) {
        return done.error();
    }
    return figures;
}

nlohmann::ordered_json json_of(const Spread& spread) {
    return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

void print_json(const Figures& figures, std::size_t pairs) {
    const nlohmann::ordered_json json{{"event_ns", json_of(figures.event_ns)},
                                      {"files_percent", json_of(figures.files_percent)},
                                      {"cold_start_percent", json_of(figures.start_percent)},
                                      {"cold_start_s", json_of(figures.start_seconds)},
                                      {"memory_bytes", figures.memory.total},
                                      {"memory_kernel_bytes", figures.memory.kernel_then},
                                      {"blocks", kBlocks},
                                      {"pairs", pairs}};
    fmt::print("{}\n", json.dump(2));
}

void print_text(const Figures& figures, std::size_t pairs) {
    const auto row = [](const char* what, const Spread& spread, const char* unit,
                        const char* limit) {
        fmt::print("  {:<44}{:>8.2f} {:<3}{:>9.2f} ..{:>7.2f}   {}\n", what, spread.median, unit,
                   spread.low, spread.high, limit);
    };
    constexpr double kMebibyte = 1 << 20;
    fmt::print("What collecting costs; median and quartiles of {} pairs\n\n", pairs);
    row("a page-cache event", figures.event_ns, "ns", "<= 300");
    row("opening and reading 100 000 new small files", figures.files_percent, "%", "<= 15");
    row("cold start of python3 from a hard disk", figures.start_percent, "%", "<= 1");
    fmt::print("  {:<44}{:>8.2f} MiB{:>29}\n", "memory for 100 000 blocks, at most",
               static_cast<double>(figures.memory.total) / kMebibyte, "< 32");
    fmt::print("\n  (the cold start took {:.2f} s without the collector)\n",
               figures.start_seconds.median);
}

int bench(const Options& options) {
    if (::geteuid() != 0) {
        progress("needs root: mounts, a loop device, BPF");
        return 1;
    }
    auto runner = demo::Runner::make();
    if (!runner) {
        progress(runner.error().message());
        return 1;
    }
    filesystem::create_directories(options.work);
    const auto figures = Bench(options, *runner).run();
    filesystem::remove_all(options.work);
    if (!figures) {
        progress(figures.error().message());
        return 1;
    }
    if (options.json) {
        print_json(*figures, options.pairs);
    } else {
        print_text(*figures, options.pairs);
    }
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app{"What collecting costs", "collect"};
    Options options;
    const filesystem::path build =
        filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
    options.lull = build / "lull";
    options.load = build / "tests" / "bench" / "collect_load";
    options.work = build / "bench";
    options.sources = build.parent_path() / "tests" / "system";
    app.add_flag("--json", options.json, "for machines");
    app.add_option("--pairs", options.pairs, "pairs of runs")->check(CLI::Range(1, 101));
    CLI11_PARSE(app, argc, argv);
    return bench(options);
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
