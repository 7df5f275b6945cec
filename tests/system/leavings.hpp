// SPDX-License-Identifier: MIT
// What a killed lull could leave on a machine.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.hpp"

namespace lull::test {

/// What stands in the tables of the kernel now. Others make cgroups, loop devices and instances of
/// tracefs meanwhile, so of those only what bears the name of lull or of our disk is told.
struct Leavings {
    std::string mounts;                  ///< of this mount namespace, as the kernel lists them
    std::set<std::string> cgroups;       ///< in every hierarchy, with "lull" in their path
    std::set<std::string> instances;     ///< of tracefs, with "lull" in their name
    std::set<std::string> loop_devices;  ///< on files below `disk`

    bool operator==(const Leavings&) const = default;
};

/// `tracefs` is where that is mounted, `disk` a directory.
Result<Leavings> look_for_leavings(const std::string& tracefs, const std::string& disk);

/// BPF objects of the recorders whose table of blocks has a certain number of slots
/// (collector/bpf/state.h): that map, the programs that use it, and the links of these.
struct BpfObjects {
    std::set<std::uint32_t> maps;
    std::set<std::uint32_t> programs;
    std::set<std::uint32_t> links;

    [[nodiscard]] bool empty() const { return maps.empty() && programs.empty() && links.empty(); }
};
Result<BpfObjects> bpf_objects(std::uint32_t slots);

}  // namespace lull::test
