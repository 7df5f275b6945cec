// SPDX-License-Identifier: MIT
// The `lull` command: parses the command line and calls one function per verb.
#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
    CLI::App app{"lull: read ahead in the lulls of the disk"};
    app.require_subcommand(1);
    CLI11_PARSE(app, argc, argv);
    return 0;
}
