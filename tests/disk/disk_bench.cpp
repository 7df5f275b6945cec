// SPDX-License-Identifier: MIT
// What the emulated disks do in real time, one line for each profile that is named (all without).
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/disk/block_io.hpp"
#include "tests/disk/fixture.hpp"

namespace {

using namespace lull;
using namespace lull::disk;

constexpr std::uint64_t kDiskBytes = std::uint64_t{8} << 30;
constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr double kSecond = 1e9;

/// A file that fills most of the disk with holes in between would be quick to read: this one has
/// its blocks.
Result<void> make_file(const std::filesystem::path& path, std::size_t chunks) {
    const Fd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    AlignedBuffer chunk(kChunk);
    for (std::size_t number = 0; number < chunks; ++number) {
        if (::write(fd.get(), chunk.data(), chunk.size()) != static_cast<ssize_t>(kChunk)) {
            return last_error(path.string());
        }
    }
    return {};
}

double reads_per_second(int fd, std::uint64_t blocks, std::size_t count, unsigned depth) {
    const auto took = timed_reads(fd, random_blocks(count, blocks, depth), depth);
    return static_cast<double>(count) * kSecond / static_cast<double>(took);
}

double megabytes_per_second(const std::filesystem::path& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    AlignedBuffer chunk(kChunk);
    std::uint64_t bytes = 0;
    const auto start = steady_now();
    for (ssize_t got = 0; (got = ::read(fd.get(), chunk.data(), chunk.size())) > 0;) {
        bytes += static_cast<std::uint64_t>(got);
    }
    return static_cast<double>(bytes) / 1e6 * kSecond / static_cast<double>(steady_now() - start);
}

Result<void> measure(const std::string& profile) {
    EmulatedDiskOptions options;
    options.profile = profile;
    options.bytes = kDiskBytes;
    options.timing = false;
    auto disk = EmulatedDisk::create(options);
    if (!disk) {
        return disk.error();
    }
    const auto model = make_model(profile);
    const std::size_t chunks = model->rotational() ? 96 : 512;
    const auto path = disk->mount_point() / "data";
    if (auto made = make_file(path, chunks); !made) {
        return made;
    }
    if (auto cold = disk->remount_cold(); !cold) {
        return cold;
    }
    if (auto timed = disk->set_timing(true); !timed) {
        return timed;
    }
    const auto sequential = megabytes_per_second(path);
    const Fd device(::open(disk->device().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    const std::size_t few = model->rotational() ? 128 : 4096;
    const auto one = reads_per_second(device.get(), kDiskBytes / kBlock, few, 1);
    const auto many = reads_per_second(device.get(), kDiskBytes / kBlock, few * 4, 32);
    const auto late = disk->status().lateness;
    constexpr double kMicro = 1e3;
    fmt::print("{:10} {:10.0f} {:10.0f} {:10.1f} {:10.0f} {:10.0f}\n", profile, one, many,
               sequential, static_cast<double>(late.percentile(0.5)) / kMicro,
               static_cast<double>(late.percentile(0.99)) / kMicro);
    return {};
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> profiles(argv + 1, argv + argc);
    if (profiles.empty()) {
        profiles = profile_names();
    }
    fmt::print("{:10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "profile", "4K/s qd1", "4K/s qd32",
               "seq MB/s", "late50 us", "late99 us");
    for (const auto& profile : profiles) {
        if (auto measured = measure(profile); !measured) {
            fmt::print(stderr, "{}: {}\n", profile, measured.error().message());
            return 1;
        }
    }
    return 0;
} catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
}
