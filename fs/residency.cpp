// SPDX-License-Identifier: MIT
#include "fs/residency.hpp"

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lull::fs {
namespace {

constexpr std::uint64_t kPage = 4096;

// cachestat(2), since Linux 6.5: number and structures of include/uapi/linux/mman.h and
// include/uapi/asm-generic/unistd.h, the same on every architecture but alpha.
constexpr long kCachestat = 451;
struct CacheRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};
struct CacheStatistics {
    std::uint64_t cached = 0;
    std::uint64_t dirty = 0;
    std::uint64_t writeback = 0;
    std::uint64_t evicted = 0;
    std::uint64_t recently_evicted = 0;
};

/// A mapping that only serves to ask about; never touched.
class Mapping {
  public:
    Mapping(int fd, std::uint64_t offset, std::uint64_t length)
        : length_(length),
          address_(::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset))) {
    }
    ~Mapping() {
        if (ok()) {
            ::munmap(address_, length_);
        }
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] bool ok() const { return address_ != MAP_FAILED; }  // NOLINT: the macro's cast
    [[nodiscard]] void* address() const { return address_; }

  private:
    std::uint64_t length_;
    void* address_;
};

/// mincore calls every page resident for a caller it does not trust (mm/mincore.c,
/// can_do_mincore).
bool may_ask(int fd, const struct stat& about) {
    const uid_t self = ::geteuid();
    return self == 0 || self == about.st_uid || S_ISBLK(about.st_mode) ||
           ::faccessat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), W_OK,
                       AT_EACCESS) == 0;
}

/// How many of the pages lie inside the file.
Result<std::uint64_t> pages_inside(int fd, std::uint64_t first_page, std::uint64_t pages) {
    struct stat about {};
    if (::fstat(fd, &about) != 0) {
        return last_error("fstat");
    }
    std::uint64_t size = 0;
    if (S_ISREG(about.st_mode)) {
        size = static_cast<std::uint64_t>(about.st_size);
    } else if (!S_ISBLK(about.st_mode)) {
        return Error{EINVAL, "residency of what is neither a file nor a block device"};
    } else if (::ioctl(fd, BLKGETSIZE64, &size) != 0) {
        return last_error("size of a block device");
    }
    if (!may_ask(fd, about)) {
        return Error{EPERM, "residency of a file of another user"};
    }
    const std::uint64_t in_file = size / kPage + (size % kPage != 0 ? 1 : 0);
    return first_page >= in_file ? 0 : std::min(pages, in_file - first_page);
}

/// Calls `see(page, resident)` for each page asked about, `page` counted from `first_page`.
template <typename See>
Result<void> each_page(int fd, std::uint64_t first_page, std::uint64_t pages, See see) {
    const auto unit = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    // Bounds the answer's memory (64 KiB where the machine's page is 4096 bytes as well).
    constexpr std::uint64_t kWindow = 256ULL << 20;
    std::vector<unsigned char> answer;
    for (std::uint64_t done = 0; done < pages;) {
        const std::uint64_t begin = (first_page + done) * kPage;
        const std::uint64_t base = begin / unit * unit;
        const std::uint64_t end = std::min((first_page + pages) * kPage, base + kWindow);
        const Mapping mapping(fd, base, end - base);
        if (!mapping.ok()) {
            return last_error("mmap");
        }
        answer.resize((end - base + unit - 1) / unit);
        if (::mincore(mapping.address(), end - base, answer.data()) != 0) {
            return last_error("mincore");
        }
        for (; (first_page + done) * kPage < end; ++done) {
            see(done, (answer[((first_page + done) * kPage - base) / unit] & 1U) != 0);
        }
    }
    return {};
}

/// cachestat counts in pages of the machine.
bool counts_in_our_pages() {
    return ::sysconf(_SC_PAGESIZE) == static_cast<long>(kPage);
}

}  // namespace

bool counts_cheaply() {
    return counts_in_our_pages() && ::syscall(kCachestat, -1, nullptr, nullptr, 0) != 0 &&
           errno == EBADF;
}

Result<std::vector<bool>> resident_pages(int fd, std::uint64_t first_page, std::uint64_t pages) {
    const auto inside = pages_inside(fd, first_page, pages);
    if (!inside) {
        return inside.error();
    }
    std::vector<bool> resident(pages);
    const auto seen = each_page(fd, first_page, *inside, [&](std::uint64_t page, bool in_memory) {
        resident[page] = in_memory;
    });
    if (!seen) {
        return seen.error();
    }
    return resident;
}

Result<std::uint64_t> resident_count(int fd, std::uint64_t first_page, std::uint64_t pages) {
    const auto inside = pages_inside(fd, first_page, pages);
    if (!inside) {
        return inside.error();
    }
    if (*inside == 0) {
        return 0;
    }
    // Length 0 would mean the whole rest of the file.
    if (counts_in_our_pages()) {
        const CacheRange range{first_page * kPage, *inside * kPage};
        CacheStatistics statistics;
        if (::syscall(kCachestat, fd, &range, &statistics, 0) == 0) {
            return statistics.cached;
        }
        if (errno != ENOSYS && errno != EPERM) {
            return last_error("cachestat");
        }
    }
    std::uint64_t count = 0;
    const auto seen = each_page(fd, first_page, *inside,
                                [&](std::uint64_t, bool in_memory) { count += in_memory ? 1 : 0; });
    if (!seen) {
        return seen.error();
    }
    return count;
}

}  // namespace lull::fs
