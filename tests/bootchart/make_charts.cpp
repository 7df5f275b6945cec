// SPDX-License-Identifier: MIT
// Writes invented boot charts, to try things on: make_charts DIRECTORY COUNT SECONDS HZ PROCESSES
// [FIRST SEED].
#include <cstdio>
#include <cstdlib>

#include "tests/bootchart/charts.hpp"

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: make_charts DIRECTORY COUNT SECONDS HZ PROCESSES [SEED]\n");
        return 2;
    }
    lull::bootchart::InventedBoot boot;
    boot.seconds = std::atof(argv[3]);
    boot.busy_seconds = boot.seconds * 0.8;
    boot.hz = std::atoi(argv[4]);
    boot.processes = std::atoi(argv[5]);
    boot.seed = argc > 6 ? static_cast<std::uint32_t>(std::atoi(argv[6])) : 1;
    for (int i = 0; i < std::atoi(argv[2]); ++i, ++boot.seed) {
        lull::bootchart::write_tgz(std::string(argv[1]) + "/" + std::to_string(boot.seed) + ".tgz",
                                   lull::bootchart::invent(boot));
    }
    return 0;
}
