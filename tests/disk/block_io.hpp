// SPDX-License-Identifier: MIT
// Helpers of the tests that do I/O on an emulated disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tests/disk/model.hpp"

namespace lull::disk {

inline constexpr std::size_t kBlock = 4096;

/// Memory that O_DIRECT takes, filled with zeros.
class AlignedBuffer {
  public:
    explicit AlignedBuffer(std::size_t bytes);
    [[nodiscard]] std::byte* data() { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[]> memory_;
    std::byte* data_;
};

/// Different content for every block and every `salt`.
void fill_block(std::byte* block, std::uint64_t number, std::uint64_t salt);

/// `count` random block numbers below `blocks`, the same for the same seed.
[[nodiscard]] std::vector<std::uint64_t> random_blocks(std::size_t count, std::uint64_t blocks,
                                                       std::uint64_t seed);

/// How long the reads of these 4 KiB blocks take, `depth` of them under way at any time (io_uring).
/// Fails the test when a read does.
[[nodiscard]] Nanoseconds timed_reads(int fd, const std::vector<std::uint64_t>& blocks,
                                      unsigned depth);

/// How long the model takes for the same, on a clock of its own.
[[nodiscard]] Nanoseconds predicted_reads(Model& model, const std::vector<std::uint64_t>& blocks,
                                          unsigned depth);

[[nodiscard]] Nanoseconds steady_now();

}  // namespace lull::disk
