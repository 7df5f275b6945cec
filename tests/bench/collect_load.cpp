// SPDX-License-Identifier: MIT
// The loads of the bench `collect`, in a process that does nothing else. Prints what it measured of
// itself: "CPU_NS WALL_NS", of one operation.
//   events FILE COUNT   COUNT reads of one byte of FILE, a page-cache event each
//   files DIR COUNT     opens, reads and closes DIR/0/0, DIR/0/1, ... (1000 in a directory)
//   blocks FILE COUNT   one byte of each of COUNT blocks of 128 KiB
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kPage = 4096;

std::int64_t now_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

/// False if one of the operations failed.
bool measure(std::uint64_t count, const std::function<bool(std::uint64_t)>& operation) {
    const std::int64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    const std::int64_t wall = now_ns(CLOCK_MONOTONIC);
    for (std::uint64_t i = 0; i < count; ++i) {
        if (!operation(i)) {
            std::perror("collect_load");
            return false;
        }
    }
    const auto each = [count](std::int64_t time) {
        return static_cast<double>(time) / static_cast<double>(count);
    };
    std::printf("%.1f %.1f\n", each(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu),
                each(now_ns(CLOCK_MONOTONIC) - wall));
    return true;
}

bool read_byte(int fd, std::uint64_t offset) {
    char byte = 0;
    return ::pread(fd, &byte, 1, static_cast<off_t>(offset)) == 1;
}

bool read_file(const std::string& directory, std::uint64_t number) {
    constexpr std::uint64_t kInDirectory = 1000;
    const std::string path =
        directory + "/" + std::to_string(number / kInDirectory) + "/" + std::to_string(number);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    std::array<char, kPage> buffer{};
    const bool read = ::read(fd, buffer.data(), buffer.size()) > 0;
    ::close(fd);
    return read;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: collect_load events|files|blocks PATH COUNT\n", stderr);
        return 2;
    }
    const std::string load = argv[1];
    const std::string path = argv[2];
    const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
    if (load == "files") {
        return measure(count, [&](std::uint64_t i) { return read_file(path, i); }) ? 0 : 1;
    }
    constexpr std::uint64_t kPages = 256;
    constexpr std::uint64_t kBlock = 131072;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool events = load == "events";
    const auto offset = [events](std::uint64_t i) {
        return events ? i % kPages * kPage : i * kBlock;
    };
    return fd >= 0 && measure(count, [&](std::uint64_t i) { return read_byte(fd, offset(i)); }) ? 0
                                                                                                : 1;
}
