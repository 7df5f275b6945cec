// SPDX-License-Identifier: MIT
// The recorded command and everything it starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"

namespace lull::collector {

/// A command whose descendants are all waited for: this process becomes their reaper
/// (PR_SET_CHILD_SUBREAPER), so that a daemon that leaves its parent still counts.
class Child {
  public:
    /// Starts `command` (looked up in PATH). An error if it cannot be executed.
    static Result<Child> start(const std::vector<std::string>& command);

    /// Collects all that have ended. True once no descendant is left. To be called at SIGCHLD.
    bool reap();
    /// Passes a signal on to the command itself, if it still runs.
    void signal(int number) const;
    /// Of the command itself, as a shell tells it: its status, or 128 + the signal that ended it.
    [[nodiscard]] std::optional<int> exit_status() const { return status_; }

  private:
    explicit Child(pid_t pid) : pid_(pid) {}
    pid_t pid_;
    std::optional<int> status_;
};

}  // namespace lull::collector
