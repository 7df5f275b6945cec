// SPDX-License-Identifier: MIT
// Records what tests/collector/page_reader.cpp does on a file system of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <sys/types.h>

#include "base/fd.hpp"
#include "collector/rung.hpp"
#include "db/trace.hpp"
#include "tests/fs/loop_mount.hpp"

namespace lull::collector {

/// The page_reader in its process; ends with the object.
class PageReader {
  public:
    static Result<std::unique_ptr<PageReader>> start(const std::vector<std::string>& arguments);
    ~PageReader();
    PageReader(const PageReader&) = delete;
    PageReader& operator=(const PageReader&) = delete;

    /// Ends one "wait".
    void proceed() const;
    /// True if it ended well.
    bool join();
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    PageReader(pid_t pid, Fd go) : pid_(pid), go_(std::move(go)) {}
    pid_t pid_;
    Fd go_;
};

class Recorder {
  public:
    /// Begins to record the file system of `directory`.
    static Result<std::unique_ptr<Recorder>> start(const std::string& rung,
                                                   const std::string& directory,
                                                   std::uint32_t max_blocks = 4096);
    /// Ends the recording; what assemble() makes of it.
    Result<db::Trace> finish();

  private:
    Recorder() = default;
    boost::asio::io_context io_;
    std::unique_ptr<Rung> rung_;
};

/// The pages of `path` (inside its file system) with the given use.
std::set<std::uint64_t> pages_of(const db::Trace& trace, const std::string& path, db::Use use);
/// The same, of those with a source.
std::set<std::uint64_t> pages_of(const db::Trace& trace, const std::string& path, db::Use use,
                                 db::Source source);
/// The file, if it is in the trace once.
const db::File* file_of(const db::Trace& trace, const std::string& path);
/// {first, ..., end - 1}
std::set<std::uint64_t> pages(std::uint64_t first, std::uint64_t end);

}  // namespace lull::collector
