// SPDX-License-Identifier: MIT
#include "collector/cgroup.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

namespace lull::collector {
namespace {

// Limits and letters as in systemd.unit(5).
constexpr std::size_t kLongestName = 255;
constexpr std::string_view kLetters =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-_.\\@";
// Slices are left out: they hold units. Targets, timers and the like never have a cgroup.
constexpr std::array<std::string_view, 5> kSuffixes = {".service", ".scope", ".socket", ".mount",
                                                       ".swap"};

bool names_unit(std::string_view name) {
    const auto suffix =
        std::find_if(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
    if (suffix == kSuffixes.end() || name.size() > kLongestName) {
        return false;
    }
    const std::string_view stem = name.substr(0, name.size() - suffix->size());
    // "foo@" alone is a template; "@foo" has no name.
    return !stem.empty() && !stem.ends_with('@') && !stem.starts_with('@') &&
           stem.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

std::string unit_of_cgroup(const std::string& path) {
    std::string_view rest = path;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('/'), rest.size());
        std::string_view name = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (name.starts_with('_')) {
            name.remove_prefix(1);
        }
        if (names_unit(name)) {
            return std::string(name);
        }
    }
    return {};
}

Result<std::string> cgroup_of_process(std::uint32_t pid, const std::string& proc_root) {
    const std::string name = fmt::format("{}/{}/cgroup", proc_root, pid);
    std::ifstream file(name, std::ios::binary);
    if (!file) {
        return last_error(name);
    }
    constexpr std::string_view kUnified = "0::";
    constexpr std::string_view kNamed = ":name=systemd:";
    constexpr std::string_view kRemoved = " (deleted)";
    std::string unified;
    std::string named;
    std::string line;
    while (std::getline(file, line)) {
        if (line.ends_with(kRemoved)) {
            line.resize(line.size() - kRemoved.size());
        }
        const auto at = line.find(kNamed);
        if (line.starts_with(kUnified)) {
            unified = line.substr(kUnified.size());
        } else if (at != std::string::npos && at == line.find(':')) {
            named = line.substr(at + kNamed.size());
        }
    }
    // A hybrid system whose manager does not use the unified tree leaves everything at its root.
    const bool unused = unified.empty() || (unified == "/" && !named.empty());
    std::string path = unused ? named : unified;
    if (path.empty()) {
        return Error{ENODATA, name};
    }
    return path;
}

}  // namespace lull::collector
