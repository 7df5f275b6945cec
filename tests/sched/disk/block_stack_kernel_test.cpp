// SPDX-License-Identifier: MIT
// Stacks that the kernel has built: partitions, loop on loop, btrfs on two. All of them end at a
// loop device whose file no block device holds, as all emulated disks do.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sched/disk/block_stack.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/needs.hpp"
#include "tests/sched/disk/loop_file.hpp"

namespace lull::sched {
namespace {

using disk::EmulatedDisk;

Result<EmulatedDisk> make_disk(disk::FileSystem file_system) {
    disk::EmulatedDiskOptions options;
    options.profile = "nvme";
    options.bytes = std::uint64_t{256} << 20;
    options.file_system = file_system;
    options.timing = false;
    return EmulatedDisk::create(options);
}

std::string name_of(const EmulatedDisk& emulated) {
    return emulated.device().filename().string();
}

TEST(BlockStackOfTheKernel, AnEmulatedDiskIsAWholeDisk) {
    LULL_NEEDS_ROOT();
    const auto emulated = make_disk(disk::FileSystem::kExt4);
    ASSERT_TRUE(emulated) << emulated.error().message();
    const auto place = find_place(emulated->mount_point().string());
    ASSERT_TRUE(place) << place.error().message();
    ASSERT_EQ(place->devices.size(), 1U);
    const StackNode& node = place->devices.front();
    EXPECT_EQ(node.name, name_of(*emulated));
    EXPECT_EQ(node.layer, Layer::kLoop);
    EXPECT_FALSE(node.ends.empty());
    EXPECT_EQ(disks_below(place->devices), std::vector<dev_t>{emulated->device_number()});
    ASSERT_TRUE(place->mount);
    EXPECT_EQ(place->mount->fs_type, "ext4");

    const auto disks = whole_disks();
    ASSERT_TRUE(disks) << disks.error().message();
    EXPECT_TRUE(std::any_of(disks->begin(), disks->end(), [&](const BlockDevice& one) {
        return one.number() == emulated->device_number();
    }));
}

TEST(BlockStackOfTheKernel, TheFactsAreThoseOfTheQueue) {
    LULL_NEEDS_ROOT();
    auto emulated = make_disk(disk::FileSystem::kNone);
    ASSERT_TRUE(emulated) << emulated.error().message();
    ASSERT_TRUE(emulated->set_queue("scheduler", "mq-deadline"));
    const auto device = BlockDevice::find(emulated->device().string());
    ASSERT_TRUE(device) << device.error().message();
    const auto facts = device->facts();
    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->sectors, (std::uint64_t{256} << 20) / 512);
    EXPECT_EQ(facts->scheduler, "mq-deadline");
    EXPECT_EQ(facts->schedulers.front(), "none");
    EXPECT_FALSE(facts->rotational);
    EXPECT_EQ(facts->read_ahead_kb, 128U);
    EXPECT_EQ(facts->logical_block, 512U);
    EXPECT_GT(facts->nr_requests, 0U);
    EXPECT_GT(facts->queue_depth, 0U);
    EXPECT_EQ(facts->hardware_queues, 1U);
    EXPECT_EQ(facts->transport, Transport::kLoop);
    {
        const auto changed = device->set_queue("scheduler", "none");
        ASSERT_TRUE(changed) << changed.error().message();
        EXPECT_EQ(*changed->now(), "none");
        EXPECT_EQ(changed->before(), "mq-deadline");
    }
    EXPECT_EQ(device->facts()->scheduler, "mq-deadline");
    EXPECT_EQ(device->set_queue("scheduler", "no-such").error().code, EINVAL);
}

TEST(BlockStackOfTheKernel, TwoPartitionsAreOneDisk) {
    LULL_NEEDS_ROOT();
    const auto emulated = make_disk(disk::FileSystem::kNone);
    ASSERT_TRUE(emulated) << emulated.error().message();
    {
        const Fd fd(::open(emulated->device().c_str(), O_RDWR | O_CLOEXEC));
        const auto made = make_two_partitions(fd.get());
        ASSERT_TRUE(made) << made.error().message();
    }
    for (const char* partition : {"p1", "p2"}) {
        const auto place = find_place(name_of(*emulated) + partition);
        ASSERT_TRUE(place) << place.error().message();
        ASSERT_EQ(place->devices.size(), 1U);
        EXPECT_EQ(place->devices.front().layer, Layer::kPartition);
        EXPECT_EQ(disks_below(place->devices), std::vector<dev_t>{emulated->device_number()});
        const auto facts = BlockDevice::find(place->devices.front().number)->facts();
        EXPECT_EQ(facts->sectors, 40'960U);
    }
}

TEST(BlockStackOfTheKernel, ALoopDeviceLiesOnTheDiskOfItsFile) {
    LULL_NEEDS_ROOT();
    const auto emulated = make_disk(disk::FileSystem::kExt4);
    ASSERT_TRUE(emulated) << emulated.error().message();
    // A file without a name: no path leads to it, the kernel knows its file system.
    const LoopFile loop(emulated->mount_point().string(), std::uint64_t{16} << 20);
    ASSERT_TRUE(loop.attached()) << loop.error();
    const auto node = stack_of(loop.device().number());
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_EQ(node->layer, Layer::kLoop);
    ASSERT_EQ(node->below.size(), 1U) << node->ends;
    EXPECT_EQ(node->below.front().name, name_of(*emulated));
    EXPECT_EQ(disks_below({*node}), std::vector<dev_t>{emulated->device_number()});
}

TEST(BlockStackOfTheKernel, ABtrfsLiesOnBothOfItsDisks) {
    LULL_NEEDS_ROOT();
    const auto first = make_disk(disk::FileSystem::kNone);
    ASSERT_TRUE(first) << first.error().message();
    LULL_NEEDS(disk::can_make(disk::FileSystem::kBtrfs), "mkfs.btrfs");
    const auto second = make_disk(disk::FileSystem::kBtrfs);
    ASSERT_TRUE(second) << second.error().message();
    // The ioctl, since the program knows two loop devices apart by the names of their files.
    const Fd top(::open(second->mount_point().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    btrfs_ioctl_vol_args argument{};
    first->device().string().copy(argument.name, BTRFS_PATH_NAME_MAX);
    ASSERT_EQ(::ioctl(top.get(), BTRFS_IOC_ADD_DEV, &argument), 0) << std::strerror(errno);
    const auto directory = second->mount_point() / "deeper";
    std::filesystem::create_directory(directory);
    const auto place = find_place(directory.string());
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(place->devices.size(), 2U);
    std::vector<dev_t> expected{first->device_number(), second->device_number()};
    auto disks = disks_below(place->devices);
    std::sort(expected.begin(), expected.end());
    std::sort(disks.begin(), disks.end());
    EXPECT_EQ(disks, expected);
    // And so does a loop device on one of its files, which has a number that no mount has.
    const LoopFile loop(directory.string(), std::uint64_t{16} << 20);
    ASSERT_TRUE(loop.attached()) << loop.error();
    const auto node = stack_of(loop.device().number());
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_EQ(disks_below({*node}).size(), 2U) << node->ends;
}

}  // namespace
}  // namespace lull::sched
