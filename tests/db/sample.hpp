// SPDX-License-Identifier: MIT
// Traces and files for the tests of the database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "db/trace.hpp"

namespace lull::db {

/// A trace that uses every member: all kinds, uses and sources, losses, limits, paths with a
/// newline, with bytes that are not UTF-8 and with 255-byte components, a deleted file, a file
/// without reads, an inode number above 2^63. `boot` makes runs differ.
[[nodiscard]] Trace sample_trace(int boot = 1);

/// `reads` ranges over `reads` / 20 files by 200 processes.
[[nodiscard]] Trace large_trace(std::size_t reads);

/// The trace as lines, sorted, with references resolved: equal for traces that say the same.
[[nodiscard]] std::vector<std::string> lines_of(const Trace& trace);

/// A directory that goes when the object does; in memory unless told otherwise, since a test of
/// contents gains nothing from waiting for a disk.
class TemporaryDirectory {
  public:
    explicit TemporaryDirectory(const std::filesystem::path& parent = in_memory());
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }
    /// Names in it, sorted.
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    static std::filesystem::path in_memory();

    std::filesystem::path path_;
};

[[nodiscard]] std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

/// Runs SQL on the file as anyone could with sqlite3.
void sql(const std::string& path, const std::string& statements);

}  // namespace lull::db
