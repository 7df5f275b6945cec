// SPDX-License-Identifier: MIT
// A loop device over an open file, with direct I/O. It detaches itself when its last user is gone,
// whatever becomes of this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/queue.hpp"

namespace lull::disk {

struct LoopOptions {
    bool rotational = true;
    std::uint32_t read_ahead_kb = 128;  ///< what the kernel gives a disk
    std::string scheduler;              ///< empty: as it is
    std::uint32_t block_size = 512;     ///< logical, bytes
    std::string label;                  ///< the file name that LOOP_GET_STATUS64 tells, at most 63
    std::filesystem::path dev_root = "/dev";
    std::filesystem::path sys_root = "/sys";
};

class LoopDevice {
  public:
    /// `backing`: a file opened with O_RDWR | O_DIRECT; the loop device keeps it open. Needs root.
    static Result<LoopDevice> attach(int backing, const LoopOptions& options);
    ~LoopDevice() = default;
    LoopDevice(const LoopDevice&) = delete;
    LoopDevice& operator=(const LoopDevice&) = delete;
    LoopDevice(LoopDevice&&) noexcept = default;
    LoopDevice& operator=(LoopDevice&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }  ///< /dev/loopN
    [[nodiscard]] dev_t number() const { return number_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] QueueSettings& queue() { return queue_; }

    /// Writes back and drops the device's own pages from the page cache, and makes sure of it:
    /// EBUSY when pages remain or a file system still has the device.
    Result<void> drop_cache();

  private:
    LoopDevice(Fd fd, std::filesystem::path path, dev_t number, QueueSettings queue)
        : fd_(std::move(fd)), path_(std::move(path)), number_(number), queue_(std::move(queue)) {}

    Fd fd_;
    std::filesystem::path path_;
    dev_t number_;
    QueueSettings queue_;
};

}  // namespace lull::disk
