// SPDX-License-Identifier: MIT
// A tree of files on an emulated disk, and the trace of a cold run that reads parts of them in an
// order that has nothing to do with the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "db/trace.hpp"
#include "tests/disk/fixture.hpp"

namespace lull::replayer::testing {

class ColdTree {
  public:
    /// Needs root. `files` files in directories all over the disk, the same for the same number.
    static Result<ColdTree> make(unsigned files);

    /// Opens and reads what the trace says, in its order; bytes read.
    [[nodiscard]] std::uint64_t demand() const;
    [[nodiscard]] const db::Trace& trace() const { return trace_; }
    [[nodiscard]] disk::EmulatedDisk& disk() { return disk_; }
    [[nodiscard]] std::uint64_t demanded_pages() const;

  private:
    explicit ColdTree(disk::EmulatedDisk disk) : disk_(std::move(disk)) {}
    Result<void> write_files(unsigned files);
    Result<void> record();
    Result<void> record_metadata();

    disk::EmulatedDisk disk_;
    std::vector<std::string> names_;
    db::Trace trace_;
};

}  // namespace lull::replayer::testing
