// SPDX-License-Identifier: MIT
// A small ext4 of its own on a loop device, for tests that look at the kernel. Needs root.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::test {

/// Made by mkfs, mounted in a mount namespace that only the calling thread and its later children
/// share. The image has no name and the loop device clears itself, so that all of it goes away with
/// the process however it ends; only an empty directory stays after a SIGKILL.
class LoopMount {
  public:
    /// `mkfs_options` are put before the device, e.g. {"-O", "inline_data"}. 64 MiB.
    static Result<std::unique_ptr<LoopMount>> make(
        const std::vector<std::string>& mkfs_options = {});
    ~LoopMount();
    LoopMount(const LoopMount&) = delete;
    LoopMount& operator=(const LoopMount&) = delete;

    [[nodiscard]] const std::string& directory() const { return directory_; }
    [[nodiscard]] const std::string& device() const { return device_; }
    [[nodiscard]] std::string path(const std::string& name) const {
        return directory_ + "/" + name;
    }

  private:
    LoopMount() = default;
    Result<void> attach();

    Fd loop_;
    std::string device_;
    std::string directory_;
    bool mounted_ = false;
};

/// Runs a program found in PATH to its end; an error unless it exits with 0.
Result<void> run(const std::vector<std::string>& arguments);
/// The same, and gives what it printed, without the last newline.
Result<std::string> output_of(const std::vector<std::string>& arguments);

/// Writes `pages` pages of data that is not zero at `first_page` and syncs them.
Result<void> write_pages(const std::string& path, std::uint64_t first_page, std::uint64_t pages);
/// Puts the file's pages out of memory and makes sure that they are.
Result<void> evict(const std::string& path);

}  // namespace lull::test
