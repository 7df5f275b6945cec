// SPDX-License-Identifier: MIT
// What of a file is in the page cache. Never reads the disk and never starts readahead. Pages are
// 4096 bytes. Mapping a file counts as an access: open it with O_NOATIME, or the time may be
// written back.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace lull::fs {

/// One flag a page from `first_page` on, true where the page is in memory (mincore(2) on a mapping
/// of the file made for the question). Works on regular files and block devices; `fd` open for
/// reading. Pages past the end of the file are false. A page that is being read is not in memory
/// yet. EPERM where the kernel would not tell but call every page resident: the caller neither owns
/// the file, nor may write it, nor is root (Linux 5.2+). EINVAL for anything but a file or block
/// device.
Result<std::vector<bool>> resident_pages(int fd, std::uint64_t first_page, std::uint64_t pages);

/// How many of the pages are in memory: cachestat(2) (Linux 6.5+), else (ENOSYS, EPERM under a
/// system call filter) mincore. Unlike mincore, cachestat counts pages that are being
/// read, and pages of a device of which only a part was read (blocks smaller than a page).
Result<std::uint64_t> resident_count(int fd, std::uint64_t first_page, std::uint64_t pages);

/// Whether resident_count() has cachestat, whose cost grows with the pages that are in memory (64
/// MiB in about 10 us) and not, as that of mincore, with those asked about (600 us).
bool counts_cheaply();

}  // namespace lull::fs
