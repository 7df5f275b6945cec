// SPDX-License-Identifier: MIT
// Making a file system and mounting it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace lull::disk {

/// The program in the directories of PATH and in the sbin directories; empty when there is none.
[[nodiscard]] std::filesystem::path find_program(const std::string& name);

/// `words` as execv() takes them; valid as long as they are.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

/// Runs a program with no input and no output, waits, and takes any end but exit 0 for an error.
Result<void> run_program(const std::filesystem::path& program,
                         const std::vector<std::string>& arguments);

/// One mounted file system; unmounted with this object.
class Mount {
  public:
    static Result<Mount> make(const std::filesystem::path& device,
                              const std::filesystem::path& directory, const std::string& type,
                              unsigned long flags);
    /// Detaches a mount that is still in use, so that it goes with its last user.
    ~Mount();
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;
    Mount(Mount&& other) noexcept : directory_(std::exchange(other.directory_, {})) {}
    Mount& operator=(Mount&&) = delete;

    /// EBUSY, and still mounted, when it is in use.
    Result<void> unmount();

  private:
    explicit Mount(std::filesystem::path directory) : directory_(std::move(directory)) {}
    std::filesystem::path directory_;  // empty once unmounted
};

}  // namespace lull::disk
