// SPDX-License-Identifier: MIT
#include "sched/disk/block_stack.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "tests/sched/disk/fake_system.hpp"

namespace lull::sched {
namespace {

/// "dm-0[crypt LUKS2 home](sda2[partition](sda[disk]))"
std::string text_of(const StackNode& node) {
    std::string text = node.name + "[" + std::string(to_string(node.layer));
    text += node.about.empty() ? "]" : " " + node.about + "]";
    if (!node.ends.empty()) {
        text += "!" + node.ends;
    }
    for (std::size_t i = 0; i < node.below.size(); ++i) {
        text += (i == 0 ? "(" : " ") + text_of(node.below[i]);
    }
    return text + (node.below.empty() ? "" : ")");
}

std::string text_of(const Result<Place>& place) {
    if (!place) {
        return "error " + std::to_string(place.error().code);
    }
    std::string text;
    for (const StackNode& node : place->devices) {
        text += (text.empty() ? "" : " ") + text_of(node);
    }
    return text;
}

class BlockStack : public testing::Test {
  protected:
    std::string stack(const std::string& name) {
        return text_of(find_place(name, system_.roots()));
    }
    std::vector<std::string> disks(const std::string& name) {
        const auto place = find_place(name, system_.roots());
        std::vector<std::string> names;
        for (const dev_t number : disks_below(place->devices)) {
            names.push_back(BlockDevice::find(number, system_.roots())->name());
        }
        return names;
    }
    void two_disks() {
        system_.disk("sda", "8:0");
        system_.partition("sda", "sda1", "8:1");
        system_.partition("sda", "sda2", "8:2");
        system_.disk("sdb", "8:16");
        system_.partition("sdb", "sdb1", "8:17");
    }

    FakeSystem system_;
};

TEST_F(BlockStack, AWholeDiskLiesOnNothing) {
    system_.disk("vda", "254:0");
    EXPECT_EQ(stack("vda"), "vda[disk]");
    EXPECT_EQ(disks("/dev/vda"), std::vector<std::string>{"vda"});
}

TEST_F(BlockStack, APartitionLiesOnItsDisk) {
    two_disks();
    EXPECT_EQ(stack("sda2"), "sda2[partition](sda[disk])");
}

TEST_F(BlockStack, TellsWhatMadeAMapperDevice) {
    two_disks();
    system_.mapper("dm-0", "253:0", "home", "CRYPT-LUKS2-0123-home", {"sda2"});
    system_.mapper("dm-1", "253:1", "old", "CRYPT-LUKS1-0123-old", {"sda2"});
    system_.mapper("dm-2", "253:2", "plain", "CRYPT-PLAIN-plain", {"sda2"});
    system_.mapper("dm-3", "253:3", "disk", "mpath-3600", {"sda", "sdb"});
    system_.mapper("dm-4", "253:4", "part", "part1-mpath-3600", {"dm-3"});
    system_.mapper("dm-5", "253:5", "line", "", {"sdb1"});
    system_.mapper("dm-6", "253:6", "root", "CRYPT-VERITY-0123-root", {"sda1"});
    EXPECT_EQ(stack("dm-0"), "dm-0[crypt LUKS2 home](sda2[partition](sda[disk]))");
    EXPECT_EQ(stack("dm-1"), "dm-1[crypt LUKS1 old](sda2[partition](sda[disk]))");
    EXPECT_EQ(stack("dm-2"), "dm-2[crypt crypt plain](sda2[partition](sda[disk]))");
    EXPECT_EQ(stack("dm-3"), "dm-3[multipath multipath disk](sda[disk] sdb[disk])");
    EXPECT_EQ(stack("dm-4"),
              "dm-4[mapper dm part](dm-3[multipath multipath disk](sda[disk] sdb[disk]))");
    EXPECT_EQ(stack("dm-5"), "dm-5[mapper dm line](sdb1[partition](sdb[disk]))");
    EXPECT_EQ(stack("dm-6"), "dm-6[mapper verity root](sda1[partition](sda[disk]))");
}

TEST_F(BlockStack, GoesThroughManyLayersToEveryDisk) {
    // LVM on LUKS on a RAID of two partitions.
    two_disks();
    system_.disk("md0", "9:0", {{"md/level", "raid1"}});
    system_.put_on("md0", {"sda2", "sdb1"});
    system_.mapper("dm-0", "253:0", "crypt", "CRYPT-LUKS2-1-crypt", {"md0"});
    system_.mapper("dm-1", "253:1", "vg-root", "LVM-1", {"dm-0"});
    EXPECT_EQ(stack("/dev/mapper/vg-root"),
              "dm-1[lvm LVM vg-root](dm-0[crypt LUKS2 crypt](md0[raid raid1]("
              "sda2[partition](sda[disk]) sdb1[partition](sdb[disk]))))");
    EXPECT_EQ(disks("dm-1"), (std::vector<std::string>{"sda", "sdb"}));
}

TEST_F(BlockStack, APartitionOfARaidLiesOnTheRaid) {
    two_disks();
    system_.disk("md0", "9:0", {{"md/level", "raid0"}});
    system_.put_on("md0", {"sda", "sdb"});
    system_.partition("md0", "md0p1", "259:0");
    EXPECT_EQ(stack("md0p1"), "md0p1[partition](md0[raid raid0](sda[disk] sdb[disk]))");
}

TEST_F(BlockStack, TellsADiskOnceThoughItIsReachedTwice) {
    two_disks();
    system_.mapper("dm-0", "253:0", "vg-big", "LVM-1", {"sda1", "sda2", "sdb1"});
    EXPECT_EQ(disks("dm-0"), (std::vector<std::string>{"sda", "sdb"}));
}

TEST_F(BlockStack, GoesThroughWhatItDoesNotKnow) {
    two_disks();
    system_.disk("bcache0", "251:0");
    system_.put_on("bcache0", {"sda1", "sdb1"});
    EXPECT_EQ(stack("bcache0"),
              "bcache0[stacked](sda1[partition](sda[disk]) sdb1[partition](sdb[disk]))");
}

TEST_F(BlockStack, FindsTheDeviceOfAFile) {
    two_disks();
    const auto file = system_.root() / "srv/file";
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "data";
    std::filesystem::create_symlink(file, system_.root() / "link");
    system_.mount("8:1", "/", "ext4", "/dev/root");
    system_.mount("8:17", (system_.root() / "srv").string(), "xfs", "/dev/sdb1");
    for (const auto& path : {file, file.parent_path(), system_.root() / "link"}) {
        const auto place = find_place(path.string(), system_.roots());
        EXPECT_EQ(text_of(place), "sdb1[partition](sdb[disk])") << path;
        ASSERT_TRUE(place->mount);
        EXPECT_EQ(place->mount->fs_type, "xfs");
    }
    EXPECT_EQ(stack(system_.root().string()), "sda1[partition](sda[disk])");
}

TEST_F(BlockStack, FindsAllDevicesOfABtrfs) {
    two_disks();
    system_.mapper("dm-0", "253:0", "second", "CRYPT-LUKS2-1-second", {"sdb1"});
    system_.btrfs("11111111-2222", {"sda2", "dm-0"});
    system_.btrfs("33333333-4444", {"sda1"});
    system_.mount("0:40", "/", "btrfs", "/dev/sda2");
    // Its own list of devices, whichever of them the mount names.
    EXPECT_EQ(stack(system_.root().string()),
              "dm-0[crypt LUKS2 second](sdb1[partition](sdb[disk])) sda2[partition](sda[disk])");
    system_.mount("0:40", "/", "btrfs", "/dev/mapper/second");
    EXPECT_EQ(stack(system_.root().string()),
              "dm-0[crypt LUKS2 second](sdb1[partition](sdb[disk])) sda2[partition](sda[disk])");
    EXPECT_EQ(disks(system_.root().string()), (std::vector<std::string>{"sdb", "sda"}));
}

TEST_F(BlockStack, GoesThroughTheFileOfALoopDevice) {
    two_disks();
    system_.mount("8:1", "/", "ext4", "/dev/sda1");
    system_.mount("8:17", "/srv", "ext4", "/dev/sdb1");
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/srv/disk.img"}});
    system_.partition("loop0", "loop0p1", "259:1");
    EXPECT_EQ(stack("loop0p1"),
              "loop0p1[partition](loop0[loop /srv/disk.img](sdb1[partition](sdb[disk])))");
}

TEST_F(BlockStack, GoesThroughALoopDeviceOnALoopDevice) {
    two_disks();
    system_.mount("8:1", "/", "ext4", "/dev/sda1");
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/disk.img"}});
    system_.mount("7:0", "/mnt", "ext4", "/dev/loop0");
    system_.disk("loop1", "7:1", {{"loop/backing_file", "/mnt/inner.img"}});
    system_.disk("loop2", "7:2", {{"loop/backing_file", "/dev/loop1"}});
    EXPECT_EQ(stack("loop2"),
              "loop2[loop /dev/loop1](loop1[loop /mnt/inner.img](loop0[loop /disk.img]("
              "sda1[partition](sda[disk]))))");
}

TEST_F(BlockStack, GoesThroughAFileOnABtrfsOfTwo) {
    two_disks();
    system_.btrfs("1111", {"sda1", "sdb1"});
    system_.mount("0:40", "/", "btrfs", "/dev/sda1");
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/disk.img"}});
    EXPECT_EQ(disks("loop0"), (std::vector<std::string>{"sda", "sdb"}));
}

TEST_F(BlockStack, SaysWhereTheWayDownEnds) {
    system_.mount("0:30", "/tmp", "tmpfs", "tmpfs");
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/tmp/disk.img"}});
    system_.disk("loop1", "7:1", {{"loop/backing_file", "/elsewhere/disk.img"}});
    EXPECT_EQ(stack("loop0"), "loop0[loop /tmp/disk.img]!the file lies on no block device (tmpfs)");
    EXPECT_EQ(stack("loop1"),
              "loop1[loop /elsewhere/disk.img]!the file's file system cannot be seen from here");
    EXPECT_EQ(disks("loop0"), std::vector<std::string>{"loop0"});
}

TEST_F(BlockStack, EndsThoughADeviceLiesOnItself) {
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/disk.img"}});
    system_.mount("7:0", "/", "ext4", "/dev/loop0");
    const auto text = stack("loop0");
    EXPECT_NE(text.find("!more layers than are followed"), std::string::npos) << text;
}

TEST_F(BlockStack, ToleratesADeviceThatJustWent) {
    two_disks();
    system_.disk("md0", "9:0", {{"md/level", "raid1"}});
    system_.put_on("md0", {"sda2", "sdb1"});
    system_.remove("sdb1");
    EXPECT_EQ(stack("md0"), "md0[raid raid1](sda2[partition](sda[disk]))");
}

TEST_F(BlockStack, RefusesWhatLiesOnNoDisk) {
    two_disks();
    system_.mount("0:30", "/", "overlay", "overlay");
    EXPECT_EQ(stack(system_.root().string()), "error " + std::to_string(ENODEV));
    EXPECT_EQ(stack("sdz"), "error " + std::to_string(ENOENT));
    EXPECT_EQ(stack("/no/such/file"), "error " + std::to_string(ENOENT));
    EXPECT_EQ(stack("/dev/null"), "error " + std::to_string(ENODEV));
}

TEST_F(BlockStack, ListsTheWholeDisks) {
    two_disks();
    system_.disk("nvme0n1", "259:0");
    system_.disk("nvme0c0n1", "259:1", {{"hidden", "1"}});
    system_.disk("sr0", "11:0", {{"size", "0"}});
    system_.disk("loop0", "7:0", {{"size", "0"}});
    system_.mount("8:1", "/", "ext4", "/dev/sda1");
    system_.mount("0:30", "/tmp", "tmpfs", "tmpfs");
    system_.disk("loop1", "7:1", {{"loop/backing_file", "/disk.img"}});
    system_.disk("loop2", "7:2", {{"loop/backing_file", "/tmp/disk.img"}});
    system_.mapper("dm-0", "253:0", "home", "CRYPT-LUKS2-1-home", {"sda2"});
    const auto disks = whole_disks(system_.roots());
    ASSERT_TRUE(disks) << disks.error().message();
    std::vector<std::string> names;
    for (const auto& disk : *disks) {
        names.push_back(disk.name());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"loop2", "nvme0n1", "sda", "sdb"}));
}

TEST_F(BlockStack, ASystemWithoutBlockDevicesIsAnError) {
    std::filesystem::remove(system_.roots().sys / "block");
    EXPECT_EQ(whole_disks(system_.roots()).error().code, ENOENT);
}

}  // namespace
}  // namespace lull::sched
