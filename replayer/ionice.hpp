// SPDX-License-Identifier: MIT
// `lull ionice`: shows and sets I/O priorities, and runs commands with one, with the command line,
// output and exit statuses of util-linux's ionice (compared with 2.38 by a test). It differs where
// that is a mistake of the user's, or of the tool's, that is better told:
// - A level beyond 7 is refused. util-linux sends it on, and Linux 6.5 takes it for a hint to the
//   disk, or another class.
// - All numbers are read before anything is done.
// - -u 0 and -P 0 show root's and the own group's priority; util-linux shows the caller's thread's.
// - A hint is shown as one, not as a level of 8 and more.
// - What the kernel refuses is told with the remedy.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/ioprio.hpp"
#include "sched/ioprio_target.hpp"

namespace lull::replayer {

/// A command line that was understood.
struct IoniceRequest {
    enum class Action { kShow, kSet, kRun, kHelp, kVersion };
    Action action = Action::kShow;
    /// What to set; maybe not valid(), since -t forgives that too.
    sched::IoPriority wanted{sched::IoClass::kBestEffort, sched::kDefaultLevel, 0};
    bool tolerant = false;  ///< go on when it cannot be set
    /// Of kShow and kSet, at least one.
    std::vector<sched::IoTarget> targets;
    std::vector<std::string> command;  ///< of kRun, at least one word
};

/// `words`: "ionice" and what follows it. Nothing if it was not understood; `err` and standard
/// error (getopt) have got the reason then. Not for several threads at once, as getopt.
[[nodiscard]] std::optional<IoniceRequest> parse_ionice(const std::vector<std::string>& words,
                                                        std::ostream& err);

/// Does all of it; `version` is what --version shows. Returns the exit status: 0, 1, or 126 and 127
/// for a command that cannot be run; not at all if the command runs.
int ionice(const std::vector<std::string>& words, std::string_view version, std::ostream& out,
           std::ostream& err);

}  // namespace lull::replayer
