// SPDX-License-Identifier: MIT
// The fixture's end of a disk server in a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/model.hpp"
#include "tests/disk/status.hpp"

namespace lull::disk {

struct ServerProcessOptions {
    std::filesystem::path program;  ///< empty: find_server()
    std::filesystem::path image;
    std::string profile;
    std::uint32_t queue_depth = 0;
    std::uint64_t seed = 1;
    /// A mount namespace for the server to join, -1 for that of the caller. It must not be in the
    /// caller's private one: the file system on the disk is unmounted when the last process of a
    /// namespace ends, and that must not be the one that serves the disk.
    int mount_namespace = -1;
};

/// The program `lull-disk`: what the environment variable LULL_DISK names, else
/// tests/disk/lull-disk in the nearest directory above the running program, which finds that of the
/// same build.
Result<std::filesystem::path> find_server();

class ServerProcess {
  public:
    /// Starts it with the timing off and waits until the file can be opened. The server has a
    /// session of its own (no Ctrl-C reaches it) and ends when this process is gone.
    static Result<ServerProcess> start(const ServerProcessOptions& options);
    /// Ends it and waits for that. Its file must have no user left.
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ServerProcess(ServerProcess&&) noexcept = default;
    ServerProcess& operator=(ServerProcess&&) = delete;

    /// One order (message.hpp); the words after "ok".
    Result<std::vector<std::string>> order(const std::vector<std::string>& words);

    /// The served file, opened for direct I/O.
    [[nodiscard]] Result<Fd> open_file() const;
    [[nodiscard]] Status status() const { return page_.read(); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The status page as a file that other processes can open.
    [[nodiscard]] std::filesystem::path status_path() const;

  private:
    ServerProcess(pid_t pid, Fd process, Fd control, Fd file, StatusPage page)
        : pid_(pid),
          process_(std::move(process)),
          control_(std::move(control)),
          file_(std::move(file)),
          page_(std::move(page)) {}

    pid_t pid_;
    Fd process_;
    Fd control_;
    Fd file_;
    StatusPage page_;
};

}  // namespace lull::disk
