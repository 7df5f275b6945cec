// SPDX-License-Identifier: MIT
// Runs the commands of the demo so that nothing outlives it, also when it is interrupted.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::demo {

/// Runs commands one at a time. While it lives SIGINT, SIGTERM and SIGHUP do not end the process:
/// they end the command that runs, or the next one at once, with an error (EINTR), so that the
/// caller returns and its destructors undo what it did.
class Runner {
  public:
    static Result<Runner> make();
    Runner(Runner&&) = default;

    /// Runs argv (argv[0] is looked up in PATH) and gives its wall time in seconds. Its standard
    /// input is empty and its standard output is our standard error. Whatever is left of its
    /// process group is killed. An error if it ends with another status than 0, or after ten
    /// minutes (ETIMEDOUT).
    Result<double> run(const std::vector<std::string>& argv);

  private:
    explicit Runner(Fd signals) : signals_(std::move(signals)) {}
    Result<void> wait(int pidfd);

    Fd signals_;
};

/// Kills every process that has `root` as its root directory and waits until it is gone.
void kill_processes_in(const std::string& root);

}  // namespace lull::demo
