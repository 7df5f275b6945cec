// SPDX-License-Identifier: MIT
#include "tests/system/demo_figures.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>

#include "base/fd.hpp"
#include "fs/residency.hpp"

namespace lull::demo {
namespace {

constexpr double kNanoseconds = 1e-9;

Fd open_of(const db::File& file, const std::string& root, const std::string& device) {
    const std::string path = file.kind == db::FileKind::kDevice ? device : root + file.path;
    return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOATIME));
}

std::uint64_t resident_of(int fd, const db::Read& read) {
    const auto flags = fs::resident_pages(fd, read.first_page, read.pages);
    return flags ? static_cast<std::uint64_t>(std::count(flags->begin(), flags->end(), true)) : 0;
}

/// The median of one figure; `get` gives its place in a round.
template <typename Get>
void take_median(Round& into, std::vector<Round> rounds, Get get) {
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>((rounds.size() - 1) / 2);
    std::nth_element(rounds.begin(), middle, rounds.end(),
                     [&](Round& a, Round& b) { return get(a) < get(b); });
    get(into) = get(*middle);
}

}  // namespace

Result<DiskReads> disk_reads(const std::string& device, const std::string& sys) {
    const std::string path =
        sys + "/block/" + std::filesystem::path(device).filename().string() + "/stat";
    constexpr std::uint64_t kSector = 512;
    DiskReads reads;
    std::uint64_t merged = 0;
    std::uint64_t sectors = 0;
    if (std::ifstream stat(path); !(stat >> reads.requests >> merged >> sectors)) {
        return Error{EBADMSG, path};
    }
    reads.bytes = sectors * kSector;
    return reads;
}

Result<Start> read_times(const std::string& path) {
    std::ifstream lines(path);
    std::string name;
    std::int64_t first = 0;
    std::int64_t now = 0;
    if (!(lines >> name >> first)) {
        return Error{EBADMSG, path};
    }
    Start start;
    for (std::int64_t last = first; lines >> name >> now; last = now) {
        start.programs.emplace_back(name, static_cast<double>(now - last) * kNanoseconds);
    }
    if (start.programs.empty()) {
        return Error{EBADMSG, path};
    }
    start.seconds = static_cast<double>(now - first) * kNanoseconds;
    return start;
}

Presence presence(const db::Trace& trace, const std::string& root, const std::string& device) {
    Presence sum;
    Fd fd;
    const db::File* opened = nullptr;
    for (const db::Read& read : trace.reads) {
        const db::File& file = trace.files[read.file];
        if (file.deleted) {
            continue;
        }
        if (&file != opened) {
            fd = open_of(file, root, device);
            opened = &file;
        }
        sum.pages += read.pages;
        sum.resident += fd ? resident_of(fd.get(), read) : 0;
    }
    return sum;
}

Round median(const std::vector<Round>& rounds) {
    Round result = rounds.front();
    for (Start Round::*const start : {&Round::alone, &Round::cold, &Round::after, &Round::warm}) {
        take_median(
            result, rounds, [=](Round & r) -> auto& { return (r.*start).seconds; });
        take_median(
            result, rounds, [=](Round & r) -> auto& { return (r.*start).disk_reads; });
        for (std::size_t i = 0; i < (result.*start).programs.size(); ++i) {
            take_median(
                result, rounds, [=](Round & r) -> auto& { return (r.*start).programs[i].second; });
        }
    }
    for (double Round::*const figure :
         {&Round::replay_seconds, &Round::recall, &Round::precision}) {
        take_median(
            result, rounds, [=](Round & r) -> auto& { return r.*figure; });
    }
    return result;
}

}  // namespace lull::demo
