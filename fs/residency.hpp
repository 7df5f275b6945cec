// SPDX-License-Identifier: MIT
// What of a file is in the page cache. Never reads the disk and never starts readahead.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace lull::fs {

/// One flag a page from `first_page` on, true where the page is in memory (mincore(2) on a mapping
/// of the file made for the question). Works on regular files and block devices; `fd` open for
/// reading. Pages past the end of the file are false.
Result<std::vector<bool>> resident_pages(int fd, std::uint64_t first_page, std::uint64_t pages);

/// How many of the pages are in memory: cachestat(2) (Linux 6.5+), else (ENOSYS, EPERM under a
/// system call filter) mincore.
Result<std::uint64_t> resident_count(int fd, std::uint64_t first_page, std::uint64_t pages);

}  // namespace lull::fs
