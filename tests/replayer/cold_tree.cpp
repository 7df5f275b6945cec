// SPDX-License-Identifier: MIT
#include "tests/replayer/cold_tree.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "fs/mounts.hpp"
#include "fs/residency.hpp"

namespace lull::replayer::testing {
namespace {

constexpr unsigned kDirectories = 40;
constexpr std::uint64_t kMostPages = 30;

/// Recorded pages that follow each other.
void add_run(db::Trace& trace, std::uint32_t file, std::uint64_t page, std::uint64_t use) {
    if (!trace.reads.empty()) {
        db::Read& last = trace.reads.back();
        if (last.file == file && last.first_page + last.pages == page) {
            ++last.pages;
            return;
        }
    }
    db::Read read;
    read.file = file;
    read.first_page = page;
    read.pages = 1;
    read.first_use_ns = use;
    trace.reads.push_back(read);
}

}  // namespace

Result<ColdTree> ColdTree::make(unsigned files) {
    disk::EmulatedDiskOptions options;
    options.timing = false;
    auto disk = disk::EmulatedDisk::create(std::move(options));
    if (!disk) {
        return disk.error();
    }
    ColdTree tree(*std::move(disk));
    if (auto done = tree.write_files(files); !done) {
        return done.error();
    }
    if (auto done = tree.record(); !done) {
        return done.error();
    }
    if (auto done = tree.disk_.set_timing(true); !done) {
        return done.error();
    }
    return tree;
}

Result<void> ColdTree::write_files(unsigned files) {
    std::mt19937 random(files);
    const std::string top = disk_.mount_point().string();
    for (unsigned i = 0; i < kDirectories; ++i) {
        ::mkdir((top + "/d" + std::to_string(i)).c_str(), 0755);
    }
    const std::vector<char> data(kMostPages * db::kPageSize, 'x');
    for (unsigned i = 0; i < files; ++i) {
        names_.push_back("/d" + std::to_string(random() % kDirectories) + "/f" + std::to_string(i));
        const Fd fd(::open((top + names_.back()).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        const std::uint64_t bytes = (1 + random() % kMostPages) * db::kPageSize - random() % 4096;
        if (::write(fd.get(), data.data(), bytes) != static_cast<ssize_t>(bytes)) {
            return last_error(names_.back());
        }
    }
    std::shuffle(names_.begin(), names_.end(), random);
    ::sync();
    return disk_.remount_cold();
}

Result<void> ColdTree::record() {
    const auto mounts = fs::read_mounts();
    if (!mounts) {
        return mounts.error();
    }
    for (const fs::Mount& mount : *mounts) {
        if (mount.mount_point == disk_.mount_point().string()) {
            const auto uuid = fs::file_system_uuid(mount);
            trace_.devices = {{uuid ? *uuid : "", mount.fs_type, mount.mount_point, mount.source,
                               mount.major, mount.minor}};
        }
    }
    for (const std::string& name : names_) {
        struct stat status {};
        if (::stat((disk_.mount_point().string() + name).c_str(), &status) != 0) {
            return last_error(name);
        }
        db::File file;
        file.path = name;
        file.inode = status.st_ino;
        file.size = static_cast<std::uint64_t>(status.st_size);
        file.mtime_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
        const auto index = static_cast<std::uint32_t>(trace_.files.size());
        trace_.files.push_back(file);
        // Every third file only in part, as of a library.
        const std::uint64_t pages = (file.size + db::kPageSize - 1) / db::kPageSize;
        for (std::uint64_t page = 0; page < pages; ++page) {
            if (index % 3 != 0 || page % 8 < 5) {
                add_run(trace_, index, page, index * 1'000'000ULL);
            }
        }
    }
    if (auto cold = disk_.remount_cold(); !cold) {
        return cold;
    }
    static_cast<void>(demand());
    if (auto recorded = record_metadata(); !recorded) {
        return recorded;
    }
    return disk_.remount_cold();
}

// The file system's metadata are what a cold run leaves in the cache of the disk.
Result<void> ColdTree::record_metadata() {
    const Fd fd(::open(disk_.device().c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t bytes = 0;
    if (!fd || ::ioctl(fd.get(), BLKGETSIZE64, &bytes) != 0) {
        return last_error(disk_.device());
    }
    const auto pages = fs::resident_pages(fd.get(), 0, bytes / db::kPageSize);
    if (!pages) {
        return pages.error();
    }
    db::File file;
    file.kind = db::FileKind::kDevice;
    const auto index = static_cast<std::uint32_t>(trace_.files.size());
    trace_.files.push_back(file);
    for (std::uint64_t page = 0; page < pages->size(); ++page) {
        if ((*pages)[page]) {
            add_run(trace_, index, page, 0);
        }
    }
    return {};
}

std::uint64_t ColdTree::demand() const {
    std::vector<char> data(kMostPages * db::kPageSize);
    std::uint64_t total = 0;
    Fd fd;
    const db::File* open = nullptr;
    for (const db::Read& read : trace_.reads) {
        const db::File& file = trace_.files[read.file];
        if (file.kind != db::FileKind::kRegular) {
            continue;
        }
        if (open != &file) {
            open = &file;
            const std::string path = disk_.mount_point().string() + file.path;
            fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            // Then the pages that are read are those of the trace, without the kernel's readahead.
            ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
        }
        const ssize_t got = ::pread(fd.get(), data.data(), read.pages * db::kPageSize,
                                    static_cast<off_t>(read.first_page * db::kPageSize));
        total += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    }
    return total;
}

std::uint64_t ColdTree::demanded_pages() const {
    std::uint64_t pages = 0;
    for (const db::Read& read : trace_.reads) {
        pages += read.pages;
    }
    return pages;
}

}  // namespace lull::replayer::testing
