// SPDX-License-Identifier: MIT
// The file that holds the data of an emulated disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::disk {

class Image {
  public:
    /// An image that is there, for reading and writing. Its size in whole sectors (512 bytes) is
    /// that of the disk; EINVAL for one without a single sector.
    static Result<Image> open(const std::filesystem::path& path);
    /// A new sparse image without a name, so that nothing remains of it when its last user is gone.
    static Result<Image> create_unnamed(const std::filesystem::path& directory,
                                        std::uint64_t bytes);
    /// A new sparse image; EEXIST when there is one.
    static Result<Image> create(const std::filesystem::path& path, std::uint64_t bytes);

    /// All of it or an error. The range lies inside the image.
    Result<void> read(std::span<std::byte> into, std::uint64_t offset) const;
    Result<void> write(std::span<const std::byte> from, std::uint64_t offset);
    /// Makes the range read as zeros and gives its space back.
    Result<void> zero(std::uint64_t offset, std::uint64_t bytes);

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    Image(Fd fd, std::uint64_t bytes) : fd_(std::move(fd)), bytes_(bytes) {}
    static Result<Image> sized(Fd fd, std::uint64_t bytes);

    Fd fd_;
    std::uint64_t bytes_;
};

}  // namespace lull::disk
