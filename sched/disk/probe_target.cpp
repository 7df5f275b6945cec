// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "sched/disk/service_times.hpp"

namespace lull::sched {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSector = 512;

Nanoseconds since(Clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

/// Memory that direct I/O takes, whatever the disk's block size.
class Buffer {
  public:
    explicit Buffer(std::uint32_t length) : memory_(std::aligned_alloc(kAlignment, length)) {}
    [[nodiscard]] void* data() const { return memory_.get(); }

  private:
    static constexpr std::size_t kAlignment = 4096;
    struct Free {
        void operator()(void* memory) const { std::free(memory); }  // NOLINT: of aligned_alloc
    };
    std::unique_ptr<void, Free> memory_;
};

/// 0 or an errno.
int read_whole(int fd, const Buffer& buffer, std::uint32_t length, std::uint64_t offset) {
    if (buffer.data() == nullptr) {
        return ENOMEM;
    }
    ssize_t count = 0;
    do {
        count = ::pread(fd, buffer.data(), length, static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return errno;
    }
    return static_cast<std::uint32_t>(count) == length ? 0 : EIO;
}

class DeviceTarget : public ProbeTarget {
  public:
    DeviceTarget(Fd fd, std::string name, std::uint64_t bytes)
        : fd_(std::move(fd)), name_(std::move(name)), bytes_(bytes) {}

    [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }

    // Threads rather than a ring: each read waits in its own, which works on every kernel and in
    // every container, and 16 of them keep any disk as busy as its depth allows.
    Result<Nanoseconds> read(std::span<const std::uint64_t> offsets, std::uint32_t length,
                             std::uint32_t depth) override {
        std::atomic<std::size_t> next = 0;
        std::atomic<int> code = 0;
        const auto work = [&](const Buffer& buffer) {
            for (std::size_t i = next++; i < offsets.size() && code == 0; i = next++) {
                if (const int failed = read_whole(fd_.get(), buffer, length, offsets[i])) {
                    code = failed;
                }
            }
        };
        Nanoseconds took = 0;
        if (depth <= 1) {
            const Buffer buffer(length);
            const auto begin = Clock::now();
            work(buffer);
            took = since(begin);
        } else {
            took = in_threads(depth, length, work);
        }
        return code == 0 ? Result<Nanoseconds>(took) : Error{code, "reading " + name_};
    }

  private:
    template <typename Work>
    static Nanoseconds in_threads(std::uint32_t depth, std::uint32_t length, const Work& work) {
        std::latch ready(depth + 1);
        std::vector<std::jthread> threads;
        for (std::uint32_t i = 0; i < depth; ++i) {
            threads.emplace_back([&] {
                const Buffer buffer(length);
                ready.arrive_and_wait();
                work(buffer);
            });
        }
        ready.arrive_and_wait();
        const auto begin = Clock::now();
        threads.clear();
        return since(begin);
    }

    Fd fd_;
    std::string name_;
    std::uint64_t bytes_;
};

/// Bytes that the disk has read and written (Documentation/block/stat.rst: the third field and the
/// seventh, in sectors); 0 if it cannot be told.
std::uint64_t moved(const BlockDevice& device) {
    const auto line = read_value(device.directory() / "stat");
    std::istringstream fields(line ? *line : std::string());
    std::array<std::uint64_t, 7> values{};
    for (std::uint64_t& value : values) {
        fields >> value;
    }
    return fields ? (values[2] + values[6]) * kSector : 0;
}

}  // namespace

Result<std::unique_ptr<ProbeTarget>> open_probe_target(const BlockDevice& device) {
    const auto facts = device.facts();
    if (!facts) {
        return facts.error();
    }
    if (facts->sectors == 0) {
        return Error{ENOMEDIUM, device.name()};
    }
    Fd fd(::open(device.node().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    if (!fd) {
        return last_error(device.node().string());
    }
    return std::unique_ptr<ProbeTarget>(
        std::make_unique<DeviceTarget>(std::move(fd), device.name(), facts->sectors * kSector));
}

Result<ServiceTimes> measure(const BlockDevice& device, const ProbeOptions& options) {
    auto target = open_probe_target(device);
    if (!target) {
        return target.error();
    }
    const auto before = moved(device);
    auto times = measure(**target, options);
    if (times) {
        const auto all = moved(device) - before;
        times->other_bytes = all > times->bytes ? all - times->bytes : 0;
    }
    return times;
}

}  // namespace lull::sched
