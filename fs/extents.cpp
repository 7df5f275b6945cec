// SPDX-License-Identifier: MIT
#include "fs/extents.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

namespace lull::fs {
namespace {

constexpr std::uint32_t kNoPosition = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                                      FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED |
                                      FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE |
                                      FIEMAP_EXTENT_DATA_TAIL;

/// One call's worth: 256 extents in 14 KiB. The kernel writes the extents behind the head.
struct Query {
    struct Head {
        std::uint64_t start = 0;
        std::uint64_t length = ~std::uint64_t{0};
        std::uint32_t flags = 0;
        std::uint32_t mapped = 0;
        std::uint32_t room = 0;
        std::uint32_t reserved = 0;
    } head;
    std::array<fiemap_extent, 256> extents{};
};
static_assert(sizeof(Query::Head) == sizeof(struct fiemap));

}  // namespace

Result<std::vector<Extent>> file_extents(int fd) {
    std::vector<Extent> extents;
    Query query;
    for (;;) {
        query.head.room = query.extents.size();
        if (::ioctl(fd, FS_IOC_FIEMAP, &query) != 0) {
            const Error error = last_error("FIEMAP");
            // ENOTTY: not a file of a file system (a device, a pipe).
            return error.code == ENOTTY ? Error{EOPNOTSUPP, error.what} : error;
        }
        const std::size_t mapped = std::min<std::size_t>(query.head.mapped, query.extents.size());
        for (std::size_t i = 0; i < mapped; ++i) {
            const fiemap_extent& extent = query.extents[i];
            if ((extent.fe_flags & kNoPosition) == 0) {
                extents.push_back({extent.fe_logical, extent.fe_physical, extent.fe_length});
            }
        }
        if (mapped == 0 || (query.extents[mapped - 1].fe_flags & FIEMAP_EXTENT_LAST) != 0) {
            return extents;
        }
        const fiemap_extent& last = query.extents[mapped - 1];
        const std::uint64_t next = last.fe_logical + last.fe_length;
        if (next <= query.head.start) {
            return Error{EIO, "FIEMAP goes backwards"};
        }
        query.head.start = next;
        query.head.length = ~std::uint64_t{0} - next;
    }
}

std::optional<std::uint64_t> position_of(const std::vector<Extent>& extents, std::uint64_t offset) {
    auto after = std::upper_bound(
        extents.begin(), extents.end(), offset,
        [](std::uint64_t wanted, const Extent& extent) { return wanted < extent.logical; });
    if (after == extents.begin()) {
        return std::nullopt;
    }
    const Extent& extent = *std::prev(after);
    if (offset - extent.logical >= extent.length) {
        return std::nullopt;
    }
    return extent.physical + (offset - extent.logical);
}

}  // namespace lull::fs
