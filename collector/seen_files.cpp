// SPDX-License-Identifier: MIT
#include "collector/seen_files.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/fd.hpp"
#include "fs/beneath.hpp"

namespace lull::collector {
namespace {

std::uint32_t generation_of(int fd) {
    // The request is encoded with the size of a long, but the kernel writes an int.
    std::array<std::uint32_t, 2> generation{};
    return ::ioctl(fd, FS_IOC_GETVERSION, generation.data()) == 0 ? generation[0] : 0;
}

std::uint64_t pages_of(std::uint64_t size) {
    return size / db::kPageSize + (size % db::kPageSize != 0 ? 1 : 0);
}

/// One file system while its files are looked at again.
class Reach {
  public:
    explicit Reach(const fs::Mount* mount) : mount_(mount) {
        if (mount != nullptr) {
            if (auto top = fs::open_mount(*mount)) {
                top_ = *std::move(top);
            }
        }
    }

    /// The same file, open for reading; none if it is gone.
    [[nodiscard]] Fd open(std::uint64_t inode, const SeenFile& file) const {
        if (!top_) {
            return Fd();
        }
        if (const auto relative = fs::path_in_mount(*mount_, file.path);
            !file.path.empty() && relative) {
            if (Fd fd = same(fs::open_beneath(top_.get(), *relative), inode, file); fd) {
                return fd;
            }
        }
        // Renamed, or below what is mounted over its directory by now.
        return same(fs::open_by_inode(top_.get(), mount_->fs_type, inode, file.generation), inode,
                    file);
    }

  private:
    static Fd same(const Result<Fd>& found, std::uint64_t inode, const SeenFile& file) {
        if (!found) {
            return Fd();
        }
        auto fd = fs::reopen_regular(found->get());
        struct stat facts {};
        // A new file may have taken the number of one that was deleted.
        if (!fd || ::fstat(fd->get(), &facts) != 0 || facts.st_ino != inode ||
            facts.st_nlink == 0 || generation_of(fd->get()) != file.generation) {
            return Fd();
        }
        return *std::move(fd);
    }

    const fs::Mount* mount_;
    Fd top_;
};

std::vector<BlockMask> resident_of(int fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0 || facts.st_size <= 0) {
        return {};
    }
    auto blocks = resident_blocks(fd, pages_of(static_cast<std::uint64_t>(facts.st_size)));
    return blocks ? *std::move(blocks) : std::vector<BlockMask>{};
}

/// False, and a loss, when there is no room.
bool add_block(const RawBlock& block, std::uint32_t most_blocks, RawTrace& trace) {
    if (trace.blocks.size() >= most_blocks) {
        ++trace.losses.blocks;
        return false;
    }
    trace.blocks.push_back(block);
    return true;
}

void harvest_file(const SeenFiles::Key& key, const SeenFile& file, const Reach& reach,
                  std::uint32_t most_blocks, RawTrace& trace) {
    bool used = file.opened;
    if (file.kind == db::FileKind::kRegular) {
        const Fd fd = reach.open(key.second, file);
        for (const BlockMask& now : fd ? resident_of(fd.get()) : std::vector<BlockMask>{}) {
            const std::uint32_t added = now.mask & ~mask_of(file.before, now.block);
            // Open since before the trace: what was in memory then shows no use in it.
            const std::uint32_t cached = file.opened ? now.mask : added;
            if (cached == 0) {
                continue;
            }
            RawBlock block;
            block.device = key.first;
            block.inode = key.second;
            block.block = now.block;
            block.first_use_ns = file.first_use_ns;
            block.cached = cached;
            block.added = added;
            block.user = file.user;
            used = add_block(block, most_blocks, trace) || used;
        }
    }
    if (used) {
        trace.files.push_back({key.first, key.second, file.generation, file.kind, file.path});
    }
}

}  // namespace

SeenFile* SeenFiles::find(KernelDevice device, std::uint64_t inode) {
    const auto found = files_.find({device, inode});
    return found == files_.end() ? nullptr : &found->second;
}

SeenFile* SeenFiles::add(KernelDevice device, const struct statx& facts, int fd,
                         const MountTable& mounts) {
    if (files_.size() >= most_) {
        ++losses_;
        return nullptr;
    }
    SeenFile file;
    file.path = mounts.path_of(fd, facts);
    if (S_ISDIR(facts.stx_mode)) {
        file.kind = db::FileKind::kDirectory;
    } else if (const auto reading = fs::reopen_regular(fd)) {
        file.generation = generation_of(reading->get());
        file.before = resident_of(reading->get());
    }
    return &files_.emplace(Key{device, facts.stx_ino}, std::move(file)).first->second;
}

void SeenFiles::harvest(const MountTable& mounts, std::uint32_t most_blocks,
                        RawTrace& trace) const {
    std::map<KernelDevice, Reach> reaches;
    std::vector<const std::map<Key, SeenFile>::value_type*> order;
    order.reserve(files_.size());
    for (const auto& entry : files_) {
        order.push_back(&entry);
    }
    // With too little room, what was used first matters most.
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->second.first_use_ns < b->second.first_use_ns;
    });
    for (const auto* entry : order) {
        const KernelDevice device = entry->first.first;
        const Reach& reach = reaches.try_emplace(device, mounts.best(device)).first->second;
        harvest_file(entry->first, entry->second, reach, most_blocks, trace);
    }
}

void harvest_device(KernelDevice device, const std::vector<BlockMask>& before,
                    const std::vector<BlockMask>& now, std::uint64_t first_use_ns,
                    std::uint32_t most_blocks, RawTrace& trace) {
    for (const BlockMask& present : now) {
        const std::uint32_t added = present.mask & ~mask_of(before, present.block);
        if (added == 0) {
            continue;
        }
        RawBlock block;
        block.device = device;
        block.inode = 0;  // metadata
        block.block = present.block;
        block.first_use_ns = first_use_ns;
        block.cached = added;
        block.added = added;
        add_block(block, most_blocks, trace);
    }
}

}  // namespace lull::collector
