// SPDX-License-Identifier: MIT
// What assemble() finds on a real file system that it could not on a made-up one.
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "collector/assemble.hpp"
#include "fs/extents.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"

namespace lull::collector {
namespace {

class AssembleOnExt4 : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        auto disk = test::LoopMount::make();
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
        ASSERT_TRUE(test::write_pages(disk_->path("file"), 0, 40).ok());
        const Fd file(::open(disk_->path("file").c_str(), O_RDONLY | O_CLOEXEC));
        struct stat facts {};
        ASSERT_EQ(::fstat(file.get(), &facts), 0);
        device_ = kernel_device(major(facts.st_dev), minor(facts.st_dev));
        RawFile raw;
        raw.device = device_;
        raw.inode = facts.st_ino;
        raw.path = "/file";
        ASSERT_EQ(::ioctl(file.get(), FS_IOC_GETVERSION, &raw.generation), 0);
        raw_.files.push_back(raw);
        RawBlock block;
        block.device = device_;
        block.inode = facts.st_ino;
        block.demand = 0xffffffff;
        raw_.blocks.push_back(block);
    }

    db::Trace assembled() {
        const auto mounts = fs::read_mounts();
        EXPECT_TRUE(mounts.ok());
        return assemble(raw_, mounts ? *mounts : std::vector<fs::Mount>(), {}, 0);
    }

    std::unique_ptr<test::LoopMount> disk_;
    KernelDevice device_ = 0;
    RawTrace raw_;
};

TEST_F(AssembleOnExt4, FindsARenamedFileByItsInode) {
    ASSERT_TRUE(std::filesystem::create_directory(disk_->path("dir")));
    std::filesystem::rename(disk_->path("file"), disk_->path("dir/new name"));
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_EQ(trace.files[0].path, "/dir/new name");
    EXPECT_FALSE(trace.files[0].deleted);
    EXPECT_EQ(trace.files[0].size, 40 * db::kPageSize);
}

TEST_F(AssembleOnExt4, FindsAFileWhoseNameWasLost) {
    raw_.files.clear();
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_EQ(trace.files[0].path, "/file");
    EXPECT_FALSE(trace.files[0].deleted);
}

TEST_F(AssembleOnExt4, TellsThatAFileIsDeletedAlsoWhileItIsOpen) {
    const Fd held(::open(disk_->path("file").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(std::filesystem::remove(disk_->path("file")));
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_TRUE(trace.files[0].deleted);
    EXPECT_EQ(trace.files[0].path, "/file");
}

TEST_F(AssembleOnExt4, DoesNotTakeANewFileWithTheSameNumberForTheOldOne) {
    ASSERT_TRUE(std::filesystem::remove(disk_->path("file")));
    ASSERT_TRUE(test::write_pages(disk_->path("another"), 0, 1).ok());
    struct stat facts {};
    ASSERT_EQ(::stat(disk_->path("another").c_str(), &facts), 0);
    ASSERT_EQ(facts.st_ino, raw_.files[0].inode) << "ext4 gives out the lowest free number";
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_TRUE(trace.files[0].deleted);
    EXPECT_EQ(trace.files[0].path, "/file");
}

TEST_F(AssembleOnExt4, TellsWhereARangeLiesOnTheDisk) {
    raw_.blocks[0].demand = 0b1111'0110;
    const Fd file(::open(disk_->path("file").c_str(), O_RDONLY | O_CLOEXEC));
    const auto extents = fs::file_extents(file.get());
    ASSERT_TRUE(extents.ok()) << extents.error().message();
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.reads.size(), 2U);
    for (const db::Read& read : trace.reads) {
        ASSERT_TRUE(read.disk_position.has_value());
        EXPECT_EQ(read.disk_position, fs::position_of(*extents, read.first_page * db::kPageSize));
    }
    EXPECT_NE(trace.reads[0].disk_position, trace.reads[1].disk_position);
}

TEST_F(AssembleOnExt4, TellsAFileSystemThatWasUnmounted) {
    const auto mounts = fs::read_mounts();
    ASSERT_TRUE(mounts.ok());
    disk_.reset();
    const db::Trace trace = assembled();
    EXPECT_TRUE(trace.devices.empty() && trace.files.empty() && trace.reads.empty());
    ASSERT_EQ(trace.boot.limits.size(), 1U);
    EXPECT_TRUE(trace.boot.limits[0].starts_with("1 blocks on file systems that were gone"));
    // The same, unmounted after the table was read: its files are gone, nothing else is opened.
    const db::Trace late = assemble(raw_, *mounts, {}, 0);
    ASSERT_EQ(late.files.size(), 1U);
    EXPECT_TRUE(late.files[0].deleted);
}

}  // namespace
}  // namespace lull::collector
