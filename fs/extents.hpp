// SPDX-License-Identifier: MIT
// Where the bytes of a file lie on its device (FIEMAP). A hint for sorting, never an address to
// read from: on btrfs the positions are logical ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"

namespace lull::fs {

struct Extent {
    std::uint64_t logical = 0;   ///< bytes in the file
    std::uint64_t physical = 0;  ///< bytes on the device
    std::uint64_t length = 0;    ///< bytes
};

/// The extents of the whole file in order of `logical`, without those whose position means nothing
/// (UNKNOWN, DELALLOC, ENCODED, DATA_INLINE, ...). Never flushes the file. EOPNOTSUPP where the
/// file system has no FIEMAP. Extents that are allocated but unwritten are listed: reading them
/// costs no disk read, but they become real without moving.
Result<std::vector<Extent>> file_extents(int fd);

/// Position on the device of byte `offset`, if one of the extents holds it.
std::optional<std::uint64_t> position_of(const std::vector<Extent>& extents, std::uint64_t offset);

}  // namespace lull::fs
