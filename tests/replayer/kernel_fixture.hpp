// SPDX-License-Identifier: MIT
// Files on a small ext4 of their own, and traces of them, for tests that look at the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "db/trace.hpp"
#include "replayer/target.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"

namespace lull::replayer::testing {

class KernelTest : public ::testing::Test {
  protected:
    void SetUp() override;
    void TearDown() override;

    /// The mounted file system as a trace would name it.
    [[nodiscard]] db::Trace new_trace() const;
    /// Writes a file of `pages` pages and evicts it.
    void make_file(const std::string& name, std::uint64_t pages);
    /// The file as it is now; an index into trace.files.
    std::uint32_t record(db::Trace& trace, const std::string& name,
                         db::FileKind kind = db::FileKind::kRegular) const;
    std::uint32_t record_disk(db::Trace& trace) const;
    /// Numbers of the file's pages that are in memory.
    [[nodiscard]] std::vector<std::uint64_t> resident(const std::string& path) const;
    [[nodiscard]] Target target() const;

    std::unique_ptr<test::LoopMount> mount_;
};

/// first, first + 1, ..., first + count - 1, appended to `pages`.
std::vector<std::uint64_t> run_of(std::uint64_t first, std::uint64_t count,
                                  std::vector<std::uint64_t> pages = {});

/// Descriptors that this process has open.
std::size_t open_descriptors();

}  // namespace lull::replayer::testing
