// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <numeric>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fs/extents.hpp"
#include "fs/mounts.hpp"
#include "fs/residency.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"

namespace lull::fs {
namespace {

constexpr std::uint64_t kPage = 4096;

/// Lets cachestat fail with `code` in the calling thread, for good.
bool forbid_cachestat(std::uint32_t code) {
    std::array<sock_filter, 4> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 451, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{program.size(), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class OnExt4 : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        make({});
    }
    void make(const std::vector<std::string>& mkfs_options) {
        disk_.reset();
        auto disk = test::LoopMount::make(mkfs_options);
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
    }
    /// Opens without letting the kernel read ahead.
    [[nodiscard]] Fd open_cold(const std::string& path) const {
        const auto evicted = test::evict(path);
        EXPECT_TRUE(evicted.ok()) << evicted.error().message();
        Fd file(::open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC));
        EXPECT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM), 0);
        return file;
    }
    static void read_page(const Fd& file, std::uint64_t page) {
        char byte = 0;
        ASSERT_EQ(::pread(file.get(), &byte, 1, static_cast<off_t>(page * kPage)), 1);
    }
    static void expect_resident(const Fd& file, std::uint64_t first,
                                const std::vector<bool>& expected) {
        const auto pages = resident_pages(file.get(), first, expected.size());
        ASSERT_TRUE(pages.ok()) << pages.error().message();
        EXPECT_EQ(*pages, expected);
        const auto count = resident_count(file.get(), first, expected.size());
        ASSERT_TRUE(count.ok()) << count.error().message();
        EXPECT_EQ(*count,
                  static_cast<std::uint64_t>(std::accumulate(expected.begin(), expected.end(), 0)));
    }

    std::unique_ptr<test::LoopMount> disk_;
};

TEST_F(OnExt4, UuidIsWhatBlkidPrints) {
    struct stat about {};
    ASSERT_EQ(::stat(disk_->directory().c_str(), &about), 0);
    const auto mounts = read_mounts();
    ASSERT_TRUE(mounts.ok());
    const Mount* mount = best_mount(*mounts, major(about.st_dev), minor(about.st_dev));
    ASSERT_NE(mount, nullptr);
    EXPECT_EQ(mount->mount_point, disk_->directory());
    EXPECT_EQ(mount->source, disk_->device());

    const auto expected = test::output_of(
        {"blkid", "--probe", "--match-tag", "UUID", "--output", "value", disk_->device()});
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    const auto from_kernel = file_system_uuid(*mount);
    ASSERT_TRUE(from_kernel.ok()) << from_kernel.error().message();
    EXPECT_EQ(*from_kernel, *expected);

    // A mount point that shows another file system must not answer for this one.
    Mount hidden = *mount;
    hidden.mount_point = "/";
    const auto from_blkid = file_system_uuid(hidden);
    ASSERT_TRUE(from_blkid.ok()) << from_blkid.error().message();
    EXPECT_EQ(*from_blkid, *expected);

    hidden.source = "/dev/root";
    const auto by_number = file_system_uuid(hidden);
    ASSERT_TRUE(by_number.ok()) << by_number.error().message();
    EXPECT_EQ(*by_number, *expected);
}

TEST_F(OnExt4, ADeviceWithoutAFileSystemHasNoUuid) {
    auto blank = test::LoopMount::make({});
    ASSERT_TRUE(blank.ok()) << blank.error().message();
    const std::string device = (*blank)->device();
    struct stat about {};
    ASSERT_EQ(::stat(device.c_str(), &about), 0);
    ASSERT_TRUE(test::run({"umount", (*blank)->directory()}).ok());
    ASSERT_TRUE(test::run({"wipefs", "--quiet", "--all", device}).ok());
    Mount mount;
    mount.major = major(about.st_rdev);
    mount.minor = minor(about.st_rdev);
    mount.mount_point = (*blank)->directory();
    mount.source = device;
    EXPECT_EQ(file_system_uuid(mount).error().code, ENODATA);
}

TEST_F(OnExt4, ResidencyFollowsEachPageRead) {
    const std::string path = disk_->path("file");
    ASSERT_TRUE(test::write_pages(path, 0, 67).ok());
    const Fd file = open_cold(path);
    std::vector<bool> expected(67);
    expect_resident(file, 0, expected);
    for (const std::uint64_t page : {0U, 2U, 31U, 32U, 33U, 64U, 66U}) {
        read_page(file, page);
        expected[page] = true;
        expect_resident(file, 0, expected);
    }
    expect_resident(file, 31, {true, true, true, false});
}

TEST_F(OnExt4, PagesPastTheEndAreNotResident) {
    const std::string path = disk_->path("file");
    ASSERT_TRUE(test::write_pages(path, 0, 3).ok());
    ASSERT_EQ(::truncate(path.c_str(), 2 * kPage + 1), 0);
    const Fd file = open_cold(path);
    read_page(file, 2);
    expect_resident(file, 0, {false, false, true, false, false});
    expect_resident(file, 2, {true, false});
    expect_resident(file, 3, {false});
    expect_resident(file, ~std::uint64_t{0} / kPage, {false, false});
    expect_resident(file, 0, {});
}

TEST_F(OnExt4, HolesBecomeResidentWhenRead) {
    const std::string path = disk_->path("sparse");
    ASSERT_TRUE(test::write_pages(path, 100'000, 1).ok());
    const Fd file = open_cold(path);
    expect_resident(file, 0, std::vector<bool>(100'001));
    read_page(file, 70'000);
    std::vector<bool> expected(100'001);
    expected[70'000] = true;
    expect_resident(file, 0, expected);
}

TEST_F(OnExt4, KnowsThePagesOfABlockDevice) {
    const Fd device(::open(disk_->device().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(device);
    read_page(device, 0);
    const auto pages = resident_pages(device.get(), 0, (64U << 20U) / kPage + 1);
    ASSERT_TRUE(pages.ok()) << pages.error().message();
    EXPECT_TRUE(pages->front());
    EXPECT_FALSE(pages->back()) << "past the end of the device";
}

TEST_F(OnExt4, OtherThingsHaveNoResidency) {
    const Fd directory(::open(disk_->directory().c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(resident_pages(directory.get(), 0, 1).error().code, EINVAL);
    EXPECT_EQ(resident_count(directory.get(), 0, 1).error().code, EINVAL);
    EXPECT_EQ(resident_count(-1, 0, 1).error().code, EBADF);
}

TEST_F(OnExt4, CountsTheSameWithoutCachestat) {
    const std::string path = disk_->path("file");
    ASSERT_TRUE(test::write_pages(path, 0, 40).ok());
    const Fd file = open_cold(path);
    for (const std::uint64_t page : {1U, 7U, 39U}) {
        read_page(file, page);
    }
    EXPECT_EQ(*resident_count(file.get(), 0, 40), 3U);
    for (const int code : {ENOSYS, EPERM}) {
        std::thread([&] {
            ASSERT_TRUE(forbid_cachestat(static_cast<std::uint32_t>(code)));
            EXPECT_FALSE(counts_cheaply());
            const auto count = resident_count(file.get(), 0, 40);
            ASSERT_TRUE(count.ok()) << count.error().message();
            EXPECT_EQ(*count, 3U);
            EXPECT_EQ(*resident_count(file.get(), 7, 33), 2U);
        }).join();
    }
}

TEST_F(OnExt4, ExtentsHoldWhatWasWritten) {
    const std::string path = disk_->path("file");
    ASSERT_TRUE(test::write_pages(path, 0, 8).ok());
    ASSERT_TRUE(test::write_pages(path, 20, 5).ok());
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto extents = file_extents(file.get());
    ASSERT_TRUE(extents.ok()) << extents.error().message();

    const Fd device(::open(disk_->device().c_str(), O_RDONLY | O_CLOEXEC));
    for (std::uint64_t page = 0; page < 30; ++page) {
        const auto position = position_of(*extents, page * kPage + 17);
        const bool written = page < 8 || (page >= 20 && page < 25);
        ASSERT_EQ(position.has_value(), written) << page;
        if (written) {
            std::string bytes(1, 0);
            ASSERT_EQ(::pread(device.get(), bytes.data(), 1, static_cast<off_t>(*position)), 1);
            EXPECT_EQ(bytes, "x") << page;
        }
    }
}

TEST_F(OnExt4, AsksAgainWhenThereAreManyExtents) {
    const std::string path = disk_->path("comb");
    constexpr std::uint64_t kTeeth = 700;
    for (std::uint64_t tooth = 0; tooth < kTeeth; ++tooth) {
        const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        ASSERT_EQ(::pwrite(file.get(), "x", 1, static_cast<off_t>(tooth * 2 * kPage)), 1);
    }
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(file.get()), 0);
    const auto extents = file_extents(file.get());
    ASSERT_TRUE(extents.ok()) << extents.error().message();
    ASSERT_EQ(extents->size(), kTeeth);
    for (std::uint64_t tooth = 0; tooth < kTeeth; ++tooth) {
        EXPECT_EQ((*extents)[tooth].logical, tooth * 2 * kPage);
    }
}

TEST_F(OnExt4, LeavesOutExtentsWithoutAPosition) {
    make({"-O", "inline_data", "-I", "256"});
    const std::string small = disk_->path("inline");
    const Fd inline_file(::open(small.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(::write(inline_file.get(), "tiny", 4), 4);
    ASSERT_EQ(::fsync(inline_file.get()), 0);
    const auto in_inode = file_extents(inline_file.get());
    ASSERT_TRUE(in_inode.ok()) << in_inode.error().message();
    EXPECT_TRUE(in_inode->empty());

    const Fd delayed(::open(disk_->path("delayed").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    const std::string data(16 * kPage, 'x');
    ASSERT_EQ(::write(delayed.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
    const auto unallocated = file_extents(delayed.get());
    ASSERT_TRUE(unallocated.ok()) << unallocated.error().message();
    EXPECT_TRUE(unallocated->empty()) << "asking must not flush the file either";
    ASSERT_EQ(::fsync(delayed.get()), 0);
    EXPECT_FALSE(file_extents(delayed.get())->empty());
}

TEST_F(OnExt4, ADeviceHasNoExtents) {
    const Fd device(::open(disk_->device().c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(file_extents(device.get()).error().code, EOPNOTSUPP);
}

}  // namespace
}  // namespace lull::fs
