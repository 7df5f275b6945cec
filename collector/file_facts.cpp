// SPDX-License-Identifier: MIT
#include "collector/file_facts.hpp"

#include <utility>

#include <sys/stat.h>

#include "db/trace.hpp"
#include "fs/beneath.hpp"
#include "fs/residency.hpp"

namespace lull::collector {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

bool is_inode(int fd, std::uint64_t inode) {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 && facts.st_ino == inode;
}

}  // namespace

FileFacts::FileFacts(const fs::Mount& mount) : mount_(mount) {
    if (auto top = fs::open_mount(mount)) {
        top_ = *std::move(top);
    }
}

Fd FileFacts::find(std::string& path, std::uint64_t inode, std::uint32_t generation) const {
    if (!path.empty()) {
        if (const auto relative = fs::path_in_mount(mount_, path)) {
            auto fd = fs::open_beneath(top_.get(), *relative);
            if (fd && is_inode(fd->get(), inode)) {
                return *std::move(fd);
            }
        }
    }
    auto fd = fs::open_by_inode(top_.get(), mount_.fs_type, inode, generation);
    if (!fd || !is_inode(fd->get(), inode)) {
        return {};
    }
    const auto present = fs::path_of(fd->get(), mount_);
    if (!present) {
        return {};
    }
    path = *present;
    return *std::move(fd);
}

FileFacts::Facts FileFacts::look(const std::string& path, std::uint64_t inode,
                                 std::uint32_t generation, bool want_residency) const {
    Facts facts;
    facts.path = path;
    const Fd found = find(facts.path, inode, generation);
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0) {
        return facts;
    }
    facts.deleted = false;
    facts.size = static_cast<std::uint64_t>(status.st_size);
    facts.mtime_ns = status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec;
    const auto file = fs::reopen_regular(found.get());
    if (!file) {
        return facts;
    }
    if (auto extents = fs::file_extents(file->get())) {
        facts.extents = *std::move(extents);
    }
    if (want_residency) {
        const std::uint64_t pages = (facts.size + db::kPageSize - 1) / db::kPageSize;
        if (auto resident = fs::resident_pages(file->get(), 0, pages)) {
            facts.resident = *std::move(resident);
        }
    }
    return facts;
}

}  // namespace lull::collector
