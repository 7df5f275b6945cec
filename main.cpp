// SPDX-License-Identifier: MIT
// The `lull` command: parses the command line and calls one function per verb.
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bootchart/compare.hpp"
#include "bootchart/show.hpp"
#include "collector/collect.hpp"
#include "db/check.hpp"
#include "db/info.hpp"
#include "db/show.hpp"
#include "doctor/doctor.hpp"
#include "replayer/ionice.hpp"
#include "replayer/replay.hpp"

namespace {

/// Each verb sets the action that main() runs once the command line has been understood.
using Action = std::function<int()>;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int failed(const lull::Error& error) {
    std::cerr << "lull: " << error.message() << '\n';
    return kExitFailed;
}

/// Columns of the terminal that standard output is; 80 if it is none.
std::size_t terminal_width() {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void add_collect(CLI::App& app, Action& action) {
    auto options = std::make_shared<lull::collector::CollectOptions>();
    auto seconds = std::make_shared<double>(0);
    CLI::App* verb = app.add_subcommand(
        "collect", "Record which pages of which files are read, and by whom, into a database");
    verb->add_option("--db", options->database, "Trace database that the run is added to")
        ->capture_default_str();
    verb->add_option("--mount", options->mounts,
                     "Record only the file system of this directory (repeatable)")
        ->allow_extra_args(false);  // else it would take the "--" before the command
    verb->add_option("--duration", *seconds, "Stop after this many seconds")
        ->check(CLI::PositiveNumber);
    verb->add_option("--pages", options->rung, "Force one way to see pages; default: the best")
        ->check(CLI::IsMember(lull::collector::rung_names()));
    verb->add_option("--max-blocks", options->max_blocks, "128 KiB blocks kept at most")
        ->check(CLI::Range(1U, 1U << 22))
        ->capture_default_str();
    verb->add_option("--keep", options->keep_boots, "Runs kept in the database, the newest")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    verb->add_option("command", options->command,
                     "Command to record with all that it starts; without one, until a signal")
        ->option_text("-- COMMAND ARG...");
    verb->callback([=, &action] {
        if (*seconds > 0) {
            options->duration =
                std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000));
        }
        action = [options] { return lull::collector::collect(*options, std::cerr); };
    });
}

void add_replay(CLI::App& app, Action& action) {
    using lull::replayer::EngineKind;
    const std::map<std::string, EngineKind> engines{{"auto", EngineKind::kAuto},
                                                    {"uring", EngineKind::kUring},
                                                    {"thread", EngineKind::kThread}};
    auto options = std::make_shared<lull::replayer::ReplayOptions>();
    auto window = std::make_shared<double>(0);
    CLI::App* verb =
        app.add_subcommand("replay", "Read ahead what the last run of each database read");
    verb->add_option("databases", options->databases, "Trace databases")
        ->required()
        ->option_text("DB...");
    verb->add_option("--root", options->system.root,
                     "Only file systems that are mounted here or below")
        ->capture_default_str();
    verb->add_flag("--dry-run", options->dry_run, "Show the plan and read nothing");
    verb->add_flag("--json", options->json, "Report for machines");
    verb->add_option("--engine", options->engine.kind, "How to read: auto, uring or thread")
        ->transform(CLI::CheckedTransformer(engines, CLI::ignore_case))
        ->default_str("auto");
    verb->add_option("--depth", options->engine.depth, "Reads under way at once")
        ->check(CLI::Range(1U, 1024U))
        ->capture_default_str();
    verb->add_option("--window", *window,
                     "Sort by disk position inside windows of this many seconds of need; "
                     "0: one window")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    verb->add_option("--budget", options->memory_budget,
                     "Bytes to read at most; default: half of the memory that is available")
        ->transform(CLI::AsSizeValue(false));
    verb->callback([=, &action] {
        constexpr double kNanosecondsPerSecond = 1e9;
        options->plan.window_ns = static_cast<std::uint64_t>(*window * kNanosecondsPerSecond);
        options->stop_on_signals = true;
        action = [options] { return run_replay(*options, std::cout, std::cerr); };
    });
}

void add_show(CLI::App& app, Action& action) {
    using lull::db::By;
    using lull::db::Sort;
    const std::map<std::string, Sort> sorts{
        {"time", Sort::kTime}, {"disk", Sort::kDisk}, {"size", Sort::kSize}, {"path", Sort::kPath}};
    const std::map<std::string, By> groups{
        {"file", By::kFile}, {"process", By::kProcess}, {"unit", By::kUnit}};
    auto options = std::make_shared<lull::db::ShowOptions>();
    CLI::App* verb = app.add_subcommand("show", "Show what a recorded run read");
    verb->add_option("database", options->path, "Trace database")->required()->option_text("DB");
    verb->add_option("--run", options->boot, "Number of the run; default: the last");
    verb->add_option("--sort", options->sort, "Order: time, disk, size or path")
        ->transform(CLI::CheckedTransformer(sorts, CLI::ignore_case))
        ->default_str("time");
    verb->add_option("--by", options->by, "A row for each file, process or unit")
        ->transform(CLI::CheckedTransformer(groups, CLI::ignore_case))
        ->default_str("file");
    verb->add_flag("--json", options->json, "For machines");
    verb->callback([=, &action] {
        options->width = terminal_width();
        action = [options] {
            const auto shown = lull::db::show(*options, std::cout);
            return shown ? 0 : failed(shown.error());
        };
    });
}

void add_db(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("db", "Look after a trace database");
    verb->require_subcommand(1);

    auto check = std::make_shared<lull::db::CheckOptions>();
    CLI::App* check_verb =
        verb->add_subcommand("check", "Check that a database is whole and makes sense");
    check_verb->add_option("database", check->path, "Trace database")
        ->required()
        ->option_text("DB");
    check_verb->callback([=, &action] {
        action = [check] {
            const auto sound = lull::db::check(*check, std::cout);
            if (!sound) {
                return failed(sound.error());
            }
            return *sound ? 0 : kExitFailed;
        };
    });

    auto info = std::make_shared<lull::db::InfoOptions>();
    CLI::App* info_verb = verb->add_subcommand("info", "Tell what a database holds");
    info_verb->add_option("database", info->path, "Trace database")->required()->option_text("DB");
    info_verb->callback([=, &action] {
        info->width = terminal_width();
        action = [info] {
            const auto told = lull::db::info(*info, std::cout);
            return told ? 0 : failed(told.error());
        };
    });
}

void add_doctor(CLI::App& app, Action& action) {
    auto options = std::make_shared<lull::doctor::DoctorOptions>();
    CLI::App* verb =
        app.add_subcommand("doctor", "Tell what each disk is like and what lull will do there");
    verb->add_option("names", options->examine.names,
                     "Disks, or files and directories on them; default: all disks")
        ->option_text("DISK|PATH...");
    verb->add_flag("--probe", options->examine.probe,
                   "Measure service times: reads each disk for up to two seconds");
    verb->add_flag("--json", options->json, "For machines");
    verb->callback([=, &action] {
        options->width = terminal_width();
        action = [options] {
            const auto complete = lull::doctor::doctor(*options, std::cout);
            if (!complete) {
                return failed(complete.error());
            }
            return *complete ? 0 : kExitFailed;
        };
    });
}

void add_compare(CLI::App& app, Action& action) {
    auto options = std::make_shared<lull::bootchart::CompareOptions>();
    CLI::App* verb = app.add_subcommand(
        "compare", "Compare boot charts: two boots or two sets of boots, and how sure that is");
    verb->add_option("first", options->a, "Charts of the first set")
        ->required()
        ->option_text("CHART...");
    verb->add_option("--with", options->b, "Charts of the second set")
        ->required()
        ->option_text("CHART...");
    verb->add_option("--milestone", options->milestone,
                     "What the verdict is about: a milestone or a process of the charts, "
                     "quiet-disk, idle or end; default: the best that all have");
    verb->add_option("--fail-if-slower", options->fail_if_slower,
                     "End with status 3 if the second set is slower by more than this percentage")
        ->check(CLI::NonNegativeNumber);
    verb->add_option("--processes", options->report.processes, "Processes to list")
        ->capture_default_str();
    verb->add_flag("--json", options->json, "For machines");
    verb->callback([=, &action] {
        options->report.width = terminal_width();
        action = [options] { return lull::bootchart::run_compare(*options, std::cout, std::cerr); };
    });
}

void add_chart(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("chart", "Read boot charts");
    verb->require_subcommand(1);

    auto show = std::make_shared<lull::bootchart::ShowOptions>();
    CLI::App* show_verb = verb->add_subcommand("show", "Tell what a boot chart says, in figures");
    show_verb->add_option("chart", show->path, "Boot chart")->required()->option_text("CHART");
    show_verb->add_flag("--json", show->json, "For machines");
    show_verb->callback([=, &action] {
        show->width = terminal_width();
        action = [show] { return lull::bootchart::run_show(*show, std::cout, std::cerr); };
    });
}

constexpr const char* kIonice = "ionice";

int run(int argc, char** argv) {
    // Its command line is util-linux's, where the first word that is no option ends them all.
    if (argc > 1 && std::string(argv[1]) == kIonice) {
        return lull::replayer::ionice({argv + 1, argv + argc}, LULL_VERSION, std::cout, std::cerr);
    }
    CLI::App app{"lull: read ahead in the lulls of the disk", "lull"};
    app.require_subcommand(1);
    app.set_version_flag("--version", LULL_VERSION);
    Action action;
    add_collect(app, action);
    add_replay(app, action);
    add_show(app, action);
    add_db(app, action);
    add_doctor(app, action);
    add_chart(app, action);
    add_compare(app, action);
    app.add_subcommand(kIonice, "Show or set I/O classes and levels, or run a command with one");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitUsage;
    }
    return action();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "lull: %s\n", error.what());
    } catch (...) {
        std::fputs("lull: an unknown exception\n", stderr);
    }
    return kExitFailed;
}
