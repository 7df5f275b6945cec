// SPDX-License-Identifier: MIT
// What the residency rung does where it cannot see, and what it says of it.
#include "fs/residency.hpp"
#include "tests/collector/residency_fixture.hpp"

namespace lull::collector {
namespace {

TEST_F(Residency, CountsAnOverflowOfTheQueue) {
    // More names than the queue holds by default, all of one file so that they fit on the disk.
    constexpr int kNames = 17'000;
    ASSERT_TRUE(std::filesystem::create_directory(disk_->path("many")));
    make_file("many/n0", 1);
    for (int i = 1; i < kNames; ++i) {
        const std::string name = disk_->path("many/n" + std::to_string(i));
        ASSERT_EQ(::link(disk_->path("many/n0").c_str(), name.c_str()), 0);
    }
    ResidencyOptions options;
    options.unlimited_queue = false;
    start(options);
    ASSERT_TRUE(
        test::run({"sh", "-c", "cd \"$1\" && cat * >/dev/null", "sh", disk_->path("many")}).ok());
    finish();
    EXPECT_GE(trace_.losses.opens, 1U);
    EXPECT_NE(file(inode(disk_->path("many/n0"))), nullptr) << "what was queued is not lost";
}

TEST_F(Residency, CountsBlocksThatFoundNoRoom) {
    const std::string path = make_file("large", std::uint64_t{5} * kPagesPerBlock);
    start({}, 3);
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    finish();
    EXPECT_EQ(trace_.blocks.size(), 3U);
    EXPECT_GE(trace_.losses.blocks, 2U);
}

TEST_F(Residency, FallsBackToProcWithoutFanotify) {
    const std::string held = make_file("held", 3);
    const std::string late = make_file("late", 3);
    const std::string missed = make_file("missed", 3);
    Shell shell;
    shell.run("exec 3<" + held);
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_init, EPERM));
        start();
        shell.run("cat <&3 >/dev/null; exec 4<" + late + "; cat <&4 >/dev/null; cat " + missed +
                  " >/dev/null");
        finish();
    }).join();
    EXPECT_EQ(pages_of(inode(held), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(pages_of(inode(late), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(file(inode(missed)), nullptr);
    EXPECT_EQ(trace_.losses.probes, 1U);
    EXPECT_TRUE(tells("opens could not be watched"));
}

TEST_F(Residency, WatchesTheMountsWhereAFileSystemCannotBeWatched) {
    const std::string path = make_file("file", 3);
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_mark, EXDEV, FAN_MARK_FILESYSTEM));
        start();
        ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
        finish();
    }).join();
    EXPECT_EQ(pages_of(inode(path), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(trace_.losses.probes, 0U);
    EXPECT_TRUE(tells("only opens through the mounts that were there"));
}

TEST_F(Residency, SaysWhatCannotBeWatchedAtAll) {
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_mark, EPERM));
        start();
        finish();
    }).join();
    EXPECT_EQ(trace_.losses.probes, 1U);
    EXPECT_TRUE(tells("Opens on " + disk_->directory()));
}

TEST_F(Residency, FollowsFileSystemsThatAreMountedLater) {
    const std::string path = make_file("file", 3);
    const std::uint64_t number = inode(path);
    ASSERT_EQ(::umount(disk_->directory().c_str()), 0);
    start();
    ASSERT_EQ(::mount(disk_->device().c_str(), disk_->directory().c_str(), "ext4", 0, nullptr), 0);
    io_.run_one_for(std::chrono::seconds(10));
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    finish();
    ASSERT_NE(file(number), nullptr);
    EXPECT_EQ(file(number)->path, "/file");
}

TEST_F(Residency, TellsTheMetadataThatWasReadFromTheDevice) {
    LULL_NEEDS(fs::counts_cheaply(), "cachestat (Linux 6.5)");
    for (const std::uint64_t block : {1024U, 4096U}) {
        make_disk({"-b", std::to_string(block)});
        constexpr int kDirectories = 50;
        for (int i = 0; i < kDirectories; ++i) {
            ASSERT_TRUE(std::filesystem::create_directory(disk_->path("d" + std::to_string(i))));
        }
        ASSERT_EQ(::umount(disk_->directory().c_str()), 0);
        const Fd disk(::open(disk_->device().c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(::ioctl(disk.get(), BLKFLSBUF, 0), 0) << "its metadata must be out of memory";
        ASSERT_EQ(::mount(disk_->device().c_str(), disk_->directory().c_str(), "ext4", 0, nullptr),
                  0);
        constexpr std::uint64_t kDevicePages = (64ULL << 20) / kPage;
        const auto before = fs::resident_count(disk.get(), 0, kDevicePages);
        start();
        ASSERT_TRUE(test::output_of({"ls", "-R", disk_->directory()}).ok());
        finish();
        const auto after = fs::resident_count(disk.get(), 0, kDevicePages);
        ASSERT_TRUE(before.ok() && after.ok());

        const auto cached = pages_of(0, kDevicePages, &RawBlock::cached);
        const auto pages =
            static_cast<std::uint64_t>(std::count(cached.begin(), cached.end(), true));
        EXPECT_EQ(pages, *after - *before);
        EXPECT_GE(pages, kDirectories * block / kPage) << "each directory has a block";
    }
}

TEST_F(Residency, TellsDirectoriesWhereMetadataIsNotSeen) {
    const std::string directory = disk_->path("directory");
    ASSERT_TRUE(std::filesystem::create_directory(directory));
    std::thread([&] {
        ASSERT_TRUE(forbid(451, ENOSYS));  // cachestat
        start();
        ASSERT_TRUE(test::output_of({"ls", directory}).ok());
        finish();
    }).join();
    ASSERT_NE(file(inode(directory)), nullptr);
    EXPECT_EQ(file(inode(directory))->kind, db::FileKind::kDirectory);
    EXPECT_EQ(file(inode(directory))->path, "/directory");
    EXPECT_EQ(file(0), nullptr);
    for (const RawBlock& block : trace_.blocks) {
        EXPECT_NE(block.inode, 0U) << "metadata by page is told in full or not at all";
    }
}

TEST_F(Residency, EndsCleanlyWhenItIsThrownAwayWhileItRecords) {
    const std::string path = make_file("file", 3);
    start();
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    rung_.reset();
    io_.poll();
    io_.restart();
    start();
    finish();
    EXPECT_EQ(file(inode(path)), nullptr);
}

TEST_F(Residency, BlocksAreTheSameWithoutCachestat) {
    LULL_NEEDS(fs::counts_cheaply(), "cachestat (Linux 6.5)");
    const std::string path = make_file("large", 9001);
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM), 0);
    for (const std::uint64_t page : {0U, 31U, 32U, 4095U, 4096U, 8999U, 9000U}) {
        char byte = 0;
        ASSERT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(page * kPage)), 1);
    }
    const auto check = [&] {
        const auto blocks = resident_blocks(fd.get(), 9001);
        ASSERT_TRUE(blocks.ok()) << blocks.error().message();
        const std::map<std::uint32_t, std::uint32_t> expected = {
            {0, 1U | 1U << 31}, {1, 1}, {127, 1U << 31}, {128, 1}, {281, 3U << 7}};
        ASSERT_EQ(blocks->size(), expected.size());
        for (const auto& [block, mask] : expected) {
            EXPECT_EQ(mask_of(*blocks, block), mask) << block;
        }
        EXPECT_EQ(mask_of(*blocks, 2), 0U);
        EXPECT_EQ(mask_of(*blocks, 500), 0U);
    };
    check();
    std::thread([&] {
        ASSERT_TRUE(forbid(451, ENOSYS));
        EXPECT_FALSE(fs::counts_cheaply());
        check();
    }).join();
}

}  // namespace
}  // namespace lull::collector
