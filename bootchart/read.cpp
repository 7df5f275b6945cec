// SPDX-License-Identifier: MIT
#include "bootchart/read.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

#include "bootchart/archive.hpp"

namespace lull::bootchart {
namespace {

Result<Boot> read_file(const Fd& file, const Limits& limits) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        return last_error("stat");
    }
    if (!S_ISDIR(status.st_mode)) {
        if (!S_ISREG(status.st_mode)) {
            return Error{EINVAL, "not a regular file"};
        }
        return read_archive(file, limits);
    }
    auto boot = read_directory(file, limits);
    if (!boot && boot.error().code == ENODATA) {
        const Fd inner(::openat(file.get(), "bootchart.tgz", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (inner) {
            return read_archive(inner, limits);
        }
    }
    return boot;
}

}  // namespace

Result<Boot> read_boot(const std::string& path, const Limits& limits) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) {
        return last_error(path);
    }
    auto boot = read_file(file, limits);
    if (!boot) {
        return boot.error().in(path);
    }
    boot->source = path;
    return boot;
}

Result<std::vector<Boot>> read_boots(const std::vector<std::string>& paths, const Limits& limits) {
    std::vector<std::optional<Result<Boot>>> results(paths.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < paths.size(); i = next++) {
            results[i] = read_boot(paths[i], limits);
        }
    };
    {
        const std::size_t threads =
            std::min<std::size_t>(paths.size(), std::max(1U, std::thread::hardware_concurrency()));
        std::vector<std::jthread> workers;
        for (std::size_t i = 1; i < threads; ++i) {
            workers.emplace_back(work);
        }
        work();
    }
    std::vector<Boot> boots;
    for (auto& result : results) {
        if (!*result) {
            return result->error();
        }
        boots.push_back(std::move(**result));
    }
    return boots;
}

}  // namespace lull::bootchart
