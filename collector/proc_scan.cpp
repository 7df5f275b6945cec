// SPDX-License-Identifier: MIT
#include "collector/proc_scan.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::collector {
namespace {

using See = std::function<void(std::uint32_t pid, int fd)>;
using Wanted = std::function<bool(std::uint32_t major, std::uint32_t minor)>;
using Identity = std::pair<dev_t, std::uint64_t>;

void see_once(const std::string& path, std::uint64_t inode, std::uint32_t pid,
              std::set<Identity>& seen, const See& see) {
    struct statx facts {};
    // Looked at before it is opened: most descriptors are sockets and pipes.
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &facts) != 0 ||
        !S_ISREG(facts.stx_mode) || (inode != 0 && facts.stx_ino != inode) ||
        !seen.emplace(::makedev(facts.stx_dev_major, facts.stx_dev_minor), facts.stx_ino).second) {
        return;
    }
    if (const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC)); fd) {
        see(pid, fd.get());
    }
}

void scan_descriptors(const std::string& directory, std::uint32_t pid, const See& see) {
    std::set<Identity> seen;
    std::error_code gone;
    std::filesystem::directory_iterator entry(directory + "/fd", gone);
    for (; !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
        see_once(entry->path().string(), 0, pid, seen, see);
    }
}

/// A newline is the only character that the kernel writes in another way here.
std::string unescape(std::string path) {
    constexpr std::string_view kNewline = "\\012";
    for (auto at = path.find(kNewline); at != std::string::npos; at = path.find(kNewline, at + 1)) {
        path.replace(at, kNewline.size(), 1, '\n');
    }
    return path;
}

struct Mapped {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    std::string path;
};

/// "7f00-7f01 r-xp 00000000 fe:00 1234    /usr/lib/libc.so.6"
std::optional<Mapped> parse_mapping(const std::string& line) {
    constexpr int kFieldsBeforeDevice = 3;
    std::size_t at = 0;
    for (int field = 0; field < kFieldsBeforeDevice; ++field) {
        at = line.find(' ', at);
        if (at == std::string::npos) {
            return std::nullopt;
        }
        ++at;
    }
    const auto slash = line.find('/', at);
    if (slash == std::string::npos) {
        return std::nullopt;
    }
    Mapped mapped;
    const char* end = line.data() + slash;
    const auto major = std::from_chars(line.data() + at, end, mapped.major, 16);
    const auto minor = std::from_chars(std::min(major.ptr + 1, end), end, mapped.minor, 16);
    const auto inode = std::from_chars(std::min(minor.ptr + 1, end), end, mapped.inode);
    if (inode.ec != std::errc{} || mapped.inode == 0) {
        return std::nullopt;
    }
    mapped.path = unescape(line.substr(slash));
    return mapped;
}

void scan_maps(const std::string& directory, std::uint32_t pid, const Wanted& wanted,
               const See& see) {
    std::set<Identity> seen;
    std::string last;
    std::ifstream maps(directory + "/maps", std::ios::binary);
    std::string line;
    while (std::getline(maps, line)) {
        auto mapped = parse_mapping(line);
        if (mapped && mapped->path != last && wanted(mapped->major, mapped->minor)) {
            // The process may live under another root.
            see_once(directory + "/root" + mapped->path, mapped->inode, pid, seen, see);
            last = std::move(mapped->path);
        }
    }
}

}  // namespace

void scan_processes(const std::string& proc_root, const Wanted& wanted, const See& see) {
    std::error_code gone;
    std::filesystem::directory_iterator entry(proc_root, gone);
    for (; !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone)) {
        const std::string name = entry->path().filename().string();
        std::uint32_t pid = 0;
        const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (code != std::errc{} || end != name.data() + name.size() ||
            pid == static_cast<std::uint32_t>(::getpid())) {
            continue;
        }
        const std::string directory = entry->path().string();
        scan_descriptors(directory, pid, see);
        scan_maps(directory, pid, wanted, see);
    }
}

}  // namespace lull::collector
