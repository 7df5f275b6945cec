// SPDX-License-Identifier: MIT
#include "fs/mounts.hpp"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lull::fs {
namespace {

class Mounts : public testing::Test {
  protected:
    void SetUp() override {
        path_ = testing::TempDir() + "mountinfo-" +
                testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    void TearDown() override { std::remove(path_.c_str()); }

    Result<std::vector<Mount>> read(const std::string& text) {
        std::ofstream(path_, std::ios::binary) << text;
        return read_mounts(path_);
    }
    std::vector<Mount> must_read(const std::string& text) {
        auto mounts = read(text);
        EXPECT_TRUE(mounts.ok()) << mounts.error().message();
        return mounts ? *std::move(mounts) : std::vector<Mount>{};
    }
    static std::string best_point(const std::vector<Mount>& mounts, std::uint32_t major,
                                  std::uint32_t minor) {
        const Mount* best = best_mount(mounts, major, minor);
        return best == nullptr ? "(none)" : best->mount_point;
    }

    std::string path_;
};

TEST_F(Mounts, ReadsEachField) {
    const auto mounts = must_read(
        "36 35 98:7 /mnt1 /mnt2 rw,noatime master:1 shared:22 - ext3 /dev/root rw,errors=continue\n"
        "37 36 0:50 / /mnt2/x ro - tmpfs tmpfs rw\n");
    ASSERT_EQ(mounts.size(), 2U);
    EXPECT_EQ(mounts[0].id, 36U);
    EXPECT_EQ(mounts[0].parent, 35U);
    EXPECT_EQ(mounts[0].major, 98U);
    EXPECT_EQ(mounts[0].minor, 7U);
    EXPECT_EQ(mounts[0].root, "/mnt1");
    EXPECT_EQ(mounts[0].mount_point, "/mnt2");
    EXPECT_EQ(mounts[0].options, "rw,noatime");
    EXPECT_EQ(mounts[0].fs_type, "ext3");
    EXPECT_EQ(mounts[0].source, "/dev/root");
    EXPECT_EQ(mounts[1].fs_type, "tmpfs") << "no optional field at all";
}

TEST_F(Mounts, UndoesOctalEscapes) {
    const auto mounts = must_read(
        "40 1 8:1 /a\\040b /m\\012n\\011o\\134040 rw - ext4 /dev/disk\\040one rw\n"
        "41 1 8:2 / /odd\\9\\04 rw - ext4 /dev/sdb rw\n");
    ASSERT_EQ(mounts.size(), 2U);
    EXPECT_EQ(mounts[0].root, "/a b");
    EXPECT_EQ(mounts[0].mount_point, "/m\nn\to\\040") << "an escaped backslash starts no escape";
    EXPECT_EQ(mounts[0].source, "/dev/disk one");
    EXPECT_EQ(mounts[1].mount_point, "/odd\\9\\04") << "what is no escape stays";
}

TEST_F(Mounts, TakesAnEmptySource) {
    const auto mounts = must_read("40 1 0:30 / /m rw - tmpfs  rw,size=4k\n");
    ASSERT_EQ(mounts.size(), 1U);
    EXPECT_EQ(mounts[0].source, "");
}

TEST_F(Mounts, RefusesWhatMakesNoSense) {
    const std::string good = "36 35 98:0 / /m rw - ext4 /dev/sda1 rw\n";
    for (const char* line :
         {"", "36 35 98:0 / /m rw", "36 35 98:0 / /m rw master:1 ext4 /dev/sda1 rw",
          "36 35 98 / /m rw - ext4 /dev/sda1 rw", "36 35 98:x / /m rw - ext4 /dev/sda1 rw",
          "x 35 98:0 / /m rw - ext4 /dev/sda1 rw", "36 -1 98:0 / /m rw - ext4 /dev/sda1 rw",
          "36 35 98:0 / m rw - ext4 /dev/sda1 rw", "36 35 98:0 / /m rw - ext4"}) {
        const auto mounts = read(fmt::format("{}{}\n{}", good, line, good));
        ASSERT_FALSE(mounts.ok()) << line;
        EXPECT_EQ(mounts.error().code, EBADMSG) << line;
        EXPECT_NE(mounts.error().what.find("line 2"), std::string::npos) << mounts.error().what;
    }
    EXPECT_EQ(read_mounts(path_ + "-absent").error().code, ENOENT);
}

TEST_F(Mounts, PrefersTheWholeFileSystemThenTheShortestPath) {
    const auto mounts = must_read(
        "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 8:2 /sub /s rw - ext4 /dev/sda2 rw\n"
        "3 1 8:2 / /mnt/long rw - ext4 /dev/sda2 rw\n"
        "4 1 8:2 / /mnt/l rw - ext4 /dev/sda2 rw\n"
        "5 1 8:3 /only/part /p rw - ext4 /dev/sda3 rw\n");
    EXPECT_EQ(best_point(mounts, 8, 1), "/");
    EXPECT_EQ(best_point(mounts, 8, 2), "/mnt/l");
    EXPECT_EQ(best_point(mounts, 8, 3), "/p") << "a bind mount where there is nothing else";
    EXPECT_EQ(best_point(mounts, 8, 4), "(none)");
}

TEST_F(Mounts, PassesOverWhatLaterMountsHide) {
    const auto mounts = must_read(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 8:2 / /m rw - ext4 /dev/sda2 rw\n"
        "3 2 8:3 / /m rw - ext4 /dev/sda3 rw\n"
        "4 1 8:4 / /d/below rw - ext4 /dev/sda4 rw\n"
        "5 4 8:5 / /d/below/deep rw - ext4 /dev/sda5 rw\n"
        "6 1 0:40 / /d rw - tmpfs tmpfs rw\n"
        "7 6 8:6 / /d/below rw - ext4 /dev/sda6 rw\n"
        "8 1 8:2 / /somewhere/else rw - ext4 /dev/sda2 rw\n"
        "9 1 8:9 / /dx rw - ext4 /dev/sda9 rw\n");
    EXPECT_EQ(best_point(mounts, 8, 1), "/");
    EXPECT_EQ(best_point(mounts, 8, 3), "/m");
    EXPECT_EQ(best_point(mounts, 8, 2), "/somewhere/else");
    EXPECT_EQ(best_point(mounts, 8, 4), "(none)");
    EXPECT_EQ(best_point(mounts, 8, 5), "(none)") << "its parent is hidden";
    EXPECT_EQ(best_point(mounts, 8, 6), "/d/below") << "lies on what hides the other";
    EXPECT_EQ(best_point(mounts, 8, 9), "/dx") << "a longer name is not below";
}

TEST_F(Mounts, IsNotMisledByTheOrderOfLinesAfterAMove) {
    // As switch_root leaves it: /proc was mounted before the root it was moved to.
    const auto mounts = must_read(
        "22 27 0:21 / /proc rw - proc proc rw\n"
        "24 27 8:5 / /boot rw - ext4 /dev/sda5 rw\n"
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    EXPECT_EQ(best_point(mounts, 8, 5), "/boot");
    EXPECT_EQ(best_point(mounts, 254, 0), "/");
}

TEST_F(Mounts, TellsSubvolumesOfBtrfsApartFromTheWhole) {
    const std::string subvolumes =
        "20 1 0:48 /@ / rw - btrfs /dev/sda2 rw,subvol=/@\n"
        "21 20 0:48 /@home /home rw - btrfs /dev/sda2 rw,subvol=/@home\n";
    EXPECT_EQ(best_point(must_read(subvolumes), 0, 48), "/");
    EXPECT_EQ(
        best_point(must_read(subvolumes + "22 20 0:48 / /top rw - btrfs /dev/sda2 rw\n"), 0, 48),
        "/top");
}

TEST_F(Mounts, EndsOnIdsThatRunInACircle) {
    const auto mounts = must_read(
        "1 2 8:1 / /a rw - ext4 /dev/sda1 rw\n"
        "2 1 8:2 / /b rw - ext4 /dev/sda2 rw\n");
    EXPECT_EQ(best_point(mounts, 8, 1), "(none)");
}

TEST_F(Mounts, KnowsWhatLiesOnABlockDevice) {
    const auto mounts = must_read(
        "1 0 8:1 / / rw - ext4 /dev/root rw\n"
        "2 1 0:48 / /b rw - btrfs /dev/sda2 rw\n"
        "3 1 0:22 / /t rw - tmpfs tmpfs rw\n"
        "4 1 0:23 / /n rw - nfs server:/dev/x rw\n");
    ASSERT_EQ(mounts.size(), 4U);
    EXPECT_TRUE(on_block_device(mounts[0]));
    EXPECT_TRUE(on_block_device(mounts[1]));
    EXPECT_FALSE(on_block_device(mounts[2]));
    EXPECT_FALSE(on_block_device(mounts[3]));
    EXPECT_EQ(file_system_uuid(mounts[2]).error().code, ENODATA);
}

TEST_F(Mounts, ReadsTheMountsOfThisMachine) {
    const auto mounts = read_mounts();
    ASSERT_TRUE(mounts.ok()) << mounts.error().message();
    EXPECT_FALSE(mounts->empty());
}

}  // namespace
}  // namespace lull::fs
