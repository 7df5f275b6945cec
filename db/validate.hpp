// SPDX-License-Identifier: MIT
// The rules that every trace keeps, on its way into a database and on its way out of one: what
// comes out of a file may have been made by someone who wishes us ill.
#pragma once

#include "base/result.hpp"
#include "db/trace.hpp"

namespace lull::db {

/// Pages lie below this number: 2^40 pages are 4 PiB, more than any file system of ours can hold in
/// one file or device.
inline constexpr std::uint64_t kMaxPage = std::uint64_t{1} << 40;

/// Rows of one run. A large boot has about 5000 files and 100 000 reads.
inline constexpr std::size_t kMaxReads = std::size_t{4} << 20;
inline constexpr std::size_t kMaxFiles = std::size_t{1} << 20;
inline constexpr std::size_t kMaxProcesses = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDevices = 4096;

/// Bytes of a path (PATH_MAX without its NUL) and of any other text.
inline constexpr std::size_t kMaxPath = 4095;
inline constexpr std::size_t kMaxText = std::size_t{1} << 20;

/// A path inside a file system: empty (unknown), or absolute, without NUL, empty components, "."
/// and
/// "..", at most kMaxPath bytes. EINVAL names the rule that it breaks.
[[nodiscard]] Result<void> validate_path(const std::string& path);

/// Every index points into its vector, paths keep the rules above, numbers that are stored as
/// signed 64 bits fit, ranges have pages, end below kMaxPage and do not overlap within a file.
/// EINVAL names the first thing that is wrong.
[[nodiscard]] Result<void> validate(const Trace& trace);

}  // namespace lull::db
