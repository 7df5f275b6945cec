// SPDX-License-Identifier: MIT
// A loop device over a sparse file without a name, for tests that need a device but no timing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/loop.hpp"

namespace lull::sched {

class LoopFile {
  public:
    /// The file is made in `directory`; empty: TMPDIR, else /tmp.
    explicit LoopFile(std::string directory = {}, std::uint64_t bytes = std::uint64_t{128} << 20);

    [[nodiscard]] bool attached() const { return loop_.has_value(); }
    [[nodiscard]] const std::string& error() const { return error_; }
    [[nodiscard]] const disk::LoopDevice& device() const { return *loop_; }
    [[nodiscard]] disk::LoopDevice& device() { return *loop_; }

    /// Tells the kernel of two partitions, 40 960 sectors each. No table is written: a kernel need
    /// not know any kind.
    bool make_two_partitions();

  private:
    std::string error_;
    std::optional<disk::LoopDevice> loop_;
};

/// The same for any loop device, e.g. that of an emulated disk. `fd` of the device.
Result<void> make_two_partitions(int fd);

}  // namespace lull::sched
