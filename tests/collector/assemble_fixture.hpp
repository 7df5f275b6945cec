// SPDX-License-Identifier: MIT
// What assemble() makes of masks and numbers, on a directory that made-up mounts point to.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/assemble.hpp"
#include "db/validate.hpp"

namespace lull::db {

inline bool operator==(const Read& a, const Read& b) {
    return a.file == b.file && a.first_page == b.first_page && a.pages == b.pages &&
           a.use == b.use && a.source == b.source && a.first_use_ns == b.first_use_ns &&
           a.process == b.process;
}

inline void PrintTo(const Read& read, std::ostream* out) {
    *out << "file " << read.file << " pages " << read.first_page << '+' << read.pages << " use "
         << static_cast<int>(read.use) << " source " << static_cast<int>(read.source) << " at "
         << read.first_use_ns << " by "
         << (read.process ? std::to_string(*read.process) : std::string("nobody"));
}

}  // namespace lull::db

namespace lull::collector {

constexpr std::uint64_t kStart = 1000;
constexpr std::uint64_t kFileBytes = std::uint64_t{4} * kPagesPerBlock * db::kPageSize;

/// A directory with one file, "/file" of four blocks, and a mount table by which it is a disk.
class Assemble : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lull-assemble-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        struct stat facts {};
        ASSERT_EQ(::stat(root_.c_str(), &facts), 0);
        fs::Mount mount;
        mount.major = major(facts.st_dev);
        mount.minor = minor(facts.st_dev);
        mount.root = "/";
        mount.mount_point = root_;
        mount.fs_type = "made-up";
        mount.source = "made-up";
        mount.id = 1;
        mounts_ = {mount};
        device_ = kernel_device(mount.major, mount.minor);
        inode_ = add_file("/file", kFileBytes);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    /// A file of zeros that nobody has read: none of it is in memory.
    std::uint64_t add_file(const std::string& path, std::uint64_t bytes) {
        const std::string place = root_ + path;
        std::ofstream(place).close();
        std::filesystem::resize_file(place, bytes);
        struct stat facts {};
        EXPECT_EQ(::stat(place.c_str(), &facts), 0);
        raw_.files.push_back({device_, facts.st_ino, 0, db::FileKind::kRegular, path});
        return facts.st_ino;
    }

    [[nodiscard]] RawBlock block(std::uint32_t number, std::uint64_t first_use_ns = kStart) const {
        RawBlock made;
        made.device = device_;
        made.inode = inode_;
        made.block = number;
        made.first_use_ns = first_use_ns;
        return made;
    }
    RawBlock& add_block(std::uint32_t number, std::uint64_t first_use_ns = kStart) {
        return raw_.blocks.emplace_back(block(number, first_use_ns));
    }
    void add_user(std::uint32_t pid) {
        RawProcess process;
        process.pid = pid;
        process.exec_id = 1;
        raw_.processes.push_back(process);
    }

    db::Trace assembled() {
        db::Trace trace = assemble(raw_, mounts_, {}, kStart);
        const auto valid = db::validate(trace);
        EXPECT_TRUE(valid.ok()) << valid.error().message();
        return trace;
    }
    std::vector<db::Read> reads() { return assembled().reads; }

    static db::Read read(std::uint64_t first_page, std::uint32_t pages,
                         db::Source source = db::Source::kMemory) {
        db::Read made;
        made.first_page = first_page;
        made.pages = pages;
        made.source = source;
        return made;
    }
    static db::Read read(std::uint64_t first_page, std::uint32_t pages, db::Use use,
                         db::Source source) {
        db::Read made = read(first_page, pages, source);
        made.use = use;
        return made;
    }

    std::string root_;
    std::vector<fs::Mount> mounts_;
    KernelDevice device_ = 0;
    std::uint64_t inode_ = 0;
    RawTrace raw_;
};

using Reads = std::vector<db::Read>;

/// Whether one of the limits begins so.
inline bool has_limit(const db::Trace& trace, const std::string& start) {
    const auto& limits = trace.boot.limits;
    return std::any_of(limits.begin(), limits.end(),
                       [&](const std::string& limit) { return limit.starts_with(start); });
}

}  // namespace lull::collector
