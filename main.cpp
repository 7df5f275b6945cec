// SPDX-License-Identifier: MIT
// The `lull` command: parses the command line and calls one function per verb.
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "collector/collect.hpp"

namespace {

using lull::collector::CollectOptions;

/// Each verb sets the action that main() runs once the command line has been understood.
using Action = std::function<int()>;

void add_collect(CLI::App& app, Action& action) {
    auto options = std::make_shared<CollectOptions>();
    auto seconds = std::make_shared<double>(0);
    CLI::App* verb = app.add_subcommand("collect", "Record which pages are read, and by whom");
    verb->add_option("--db", options->database, "Trace database that the run is added to")
        ->capture_default_str();
    verb->add_option("--mount", options->mounts,
                     "Record only the file system of this directory (repeatable)");
    verb->add_option("--duration", *seconds, "Stop after this many seconds")
        ->check(CLI::PositiveNumber);
    verb->add_option("--pages", options->rung, "Force one rung of the page ladder")
        ->check(CLI::IsMember(lull::collector::rung_names()));
    verb->add_option("--max-blocks", options->max_blocks, "128 KiB blocks kept at most")
        ->check(CLI::Range(1U, 1U << 22))
        ->capture_default_str();
    verb->add_option("--keep", options->keep_boots, "Runs kept in the database")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    verb->add_option("command", options->command, "Command to record, after --");
    verb->callback([=, &action] {
        if (*seconds > 0) {
            options->duration = std::chrono::milliseconds(static_cast<long>(*seconds * 1000));
        }
        action = [options] { return lull::collector::collect(*options, std::cerr); };
    });
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"lull: read ahead in the lulls of the disk", "lull"};
    app.require_subcommand(1);
    Action action;
    add_collect(app, action);
    CLI11_PARSE(app, argc, argv);
    return action();
}
