// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/sim/foregrounds.hpp"

namespace lull::sim {

namespace {

constexpr std::uint32_t kPage = 8;
constexpr std::uint64_t kGroup = 1 << 18;  ///< a block group: 128 MiB
constexpr std::uint64_t kCgroup = 20;
constexpr std::uint32_t kFind = 2000;
constexpr std::size_t kFiles = 6000;

struct File {
    std::uint64_t sector = 0;
    std::uint64_t sectors = 0;
    std::uint64_t inode_block = 0;
};

struct Directory {
    std::uint64_t block = 0;
    std::vector<File> files;  ///< as find meets them
};

/// Directories with the files in them: the files in the order of their inodes one behind the
/// other, a directory somewhere in a block group.
std::vector<Directory> make_tree(const CaseOptions& options, Random& random) {
    constexpr double kMedianBytes = 4500;
    constexpr double kSigma = 1.9;
    constexpr double kLargest = 4 << 20;
    constexpr double kSectorBytes = 512;
    constexpr std::uint64_t kInodesInBlock = 16;
    std::vector<Directory> tree;
    std::size_t files = 0;
    // The tree was unpacked at once: it lies in few block groups.
    const std::uint64_t first_group = random.below(options.sectors / kGroup - 4);
    std::uint64_t inode = 0;
    while (files < kFiles) {
        const std::uint64_t group = (first_group + random.below(4)) * kGroup;
        Directory directory;
        directory.block = group + random.below(kGroup / 2 / kPage) * kPage;
        std::uint64_t position = group + random.below(kGroup / kPage) * kPage;
        const std::uint64_t count = 1 + static_cast<std::uint64_t>(random.log_between(1, 60));
        for (std::uint64_t i = 0; i < count; ++i) {
            const double bytes = std::min(random.log_normal(kMedianBytes, kSigma), kLargest);
            const auto sectors =
                static_cast<std::uint64_t>(bytes / kSectorBytes / kPage + 1) * kPage;
            directory.files.push_back(
                {position, sectors, group + inode++ / kInodesInBlock % 512 * kPage});
            constexpr double kHole = 0.2;
            position += sectors + (random.chance(kHole) ? random.below(256) * kPage : 0);
        }
        random.shuffle(directory.files);
        files += directory.files.size();
        tree.push_back(directory);
    }
    return tree;
}

class Writer {
  public:
    explicit Writer(Random& random) : random_(random) {}

    void directory(const Directory& directory) {
        metadata(kFind, directory.block, random_.log_between(0.02, 0.3));
        for (const File& file : directory.files) {
            cat(file);
        }
    }
    [[nodiscard]] Script take() { return std::move(script_); }

  private:
    Step& add(std::uint32_t task, double gap_ms) {
        script_.push_back(
            {.gap = milliseconds(gap_ms + carried_ms_), .task = task, .cgroup = kCgroup});
        carried_ms_ = 0;
        return script_.back();
    }
    void metadata(std::uint32_t task, std::uint64_t sector, double gap_ms) {
        Step& step = add(task, gap_ms);
        step.metadata = true;
        step.sector = sector;
        step.sectors = kPage;
    }

    void cat(const File& file) {
        // find looks at the inode: it decides -type f.
        if (file.inode_block != last_inode_block_) {
            last_inode_block_ = file.inode_block;
            metadata(kFind, file.inode_block, random_.log_between(0.02, 0.2));
        }
        carried_ms_ += random_.between(0.5, 2);  // fork and exec
        ++task_;
        constexpr std::uint64_t kWindow = 256;  // 128 KiB
        for (std::uint64_t done = 0; done < file.sectors; done += kWindow) {
            constexpr double kCopy = 0.08;  // 128 KiB out of the cache, written to /dev/null
            Step& step = add(task_, done == 0 ? 0 : kCopy * random_.between(0.7, 1.3));
            step.sector = file.sector + done;
            step.sectors = static_cast<std::uint32_t>(std::min(kWindow, file.sectors - done));
            // The window after this one is asked for before this one is there.
            step.leave = done + kWindow < file.sectors ? 1 : 0;
        }
        script_.back().exits = true;
        carried_ms_ += random_.log_between(0.1, 0.4);  // exit, wait, the next name
    }

    Random& random_;
    Script script_;
    std::uint32_t task_ = kFind;
    std::uint64_t last_inode_block_ = 0;
    double carried_ms_ = 0;  ///< of the next gap
};

}  // namespace

Foreground find_and_cat(const CaseOptions& options) {
    Random random(options.seed);
    Writer writer(random);
    for (const Directory& directory : make_tree(options, random)) {
        writer.directory(directory);
    }
    return {"find_cat", {writer.take()}};
}

}  // namespace lull::sim
