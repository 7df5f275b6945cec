// SPDX-License-Identifier: MIT
// A server under the orders of a fixture in another process (message.hpp), which it outlives by the
// moment that it takes to undo what the fixture left behind.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/message.hpp"
#include "tests/disk/server.hpp"

namespace lull::disk {

class Remote {
  public:
    /// `control`: the socket to the fixture; `owner`: a pidfd of its process, readable once that
    /// has died. The models are made anew, with `options`, for each profile that is asked for.
    Remote(Server& server, ModelOptions options, Fd control, Fd owner)
        : server_(server),
          options_(options),
          control_(std::move(control)),
          owner_(std::move(owner)) {}

    /// Says "ready", then serves until told to quit or left alone.
    Result<void> run();

  private:
    void on_message();
    std::vector<std::string> obey(const std::vector<std::string>& words);
    std::vector<std::string> make_directory(const std::filesystem::path& parent);
    void on_owner_gone();
    void remove_directories();

    Server& server_;
    ModelOptions options_;
    Fd control_;
    Fd owner_;
    std::vector<std::filesystem::path> directories_;
    std::vector<std::pair<std::filesystem::path, std::string>> to_restore_;
};

}  // namespace lull::disk
