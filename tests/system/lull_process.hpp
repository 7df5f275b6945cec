// SPDX-License-Identifier: MIT
// The built `lull`, run as a user runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::test {

/// A `lull` with its standard error read by us and its standard output thrown away. Whatever is
/// left of its process group is killed with the object.
class LullProcess {
  public:
    /// Numbers of system calls (SYS_bpf) that fail with EPERM in it and all that it starts.
    using Denied = std::vector<unsigned>;

    /// Starts $LULL_TEST_PROGRAM, or the program of this build, with `arguments`, in a process
    /// group of its own.
    static Result<std::unique_ptr<LullProcess>> start(const std::vector<std::string>& arguments,
                                                      const Denied& denied = {});
    ~LullProcess();
    LullProcess(const LullProcess&) = delete;
    LullProcess& operator=(const LullProcess&) = delete;

    /// Its status when it has ended, as a shell tells it: 128 + the signal that ended it. -1 if it
    /// does not end for minutes.
    int wait();
    /// Whether it ends within the time; it is still to be waited for.
    [[nodiscard]] bool ends_within(int milliseconds) const;
    /// Until it has printed `text`; false if it ends without or says nothing for minutes.
    bool prints(const std::string& text);
    /// What it has printed, all of it after wait().
    [[nodiscard]] const std::string& printed() const { return printed_; }

    void signal(int number) const;
    /// To the process and all that it started and that stayed in its group.
    void signal_group(int number) const;

  private:
    LullProcess(pid_t pid, Fd process, Fd errors)
        : pid_(pid), process_(std::move(process)), errors_(std::move(errors)) {}
    bool read_some();

    pid_t pid_;
    Fd process_;
    Fd errors_;
    bool reaped_ = false;
    std::string printed_;
};

/// A named pipe by which the shell of a recorded command and a test wait for each other:
/// "echo > PATH" and "read x < PATH".
class Meeting {
  public:
    static Result<Meeting> make(const std::string& path);
    /// The line that was written, without its end; an error if none comes for minutes.
    Result<std::string> await();
    /// Lets one reader go on.
    void proceed() const;

  private:
    explicit Meeting(Fd pipe) : pipe_(std::move(pipe)) {}
    Fd pipe_;
};

/// A descriptor of a process that tells when it ends.
Fd open_process(pid_t pid);
/// Waits until it does; false if it does not for minutes.
bool ends(const Fd& process);

}  // namespace lull::test
