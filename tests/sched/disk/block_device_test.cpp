// SPDX-License-Identifier: MIT
#include "sched/disk/block_device.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "tests/sched/disk/fake_system.hpp"

namespace lull::sched {
namespace {

DiskFacts facts_of(const FakeSystem& system, const std::string& name) {
    const auto device = BlockDevice::find(name, system.roots());
    EXPECT_TRUE(device) << name;
    const auto facts = device->facts();
    EXPECT_TRUE(facts) << name;
    return *facts;
}

TEST(BlockDevice, IsFoundByNameNodeAndNumber) {
    FakeSystem system;
    system.disk("sda", "8:0");
    system.partition("sda", "sda2", "8:2");
    for (const char* name : {"sda2", "/dev/sda2"}) {
        const auto device = BlockDevice::find(name, system.roots());
        ASSERT_TRUE(device) << device.error().message();
        EXPECT_EQ(device->number(), ::makedev(8, 2));
        EXPECT_TRUE(device->partition());
        EXPECT_EQ(device->node(), system.root() / "dev/sda2");
    }
    const auto disk = BlockDevice::find(::makedev(8, 0), system.roots());
    ASSERT_TRUE(disk) << disk.error().message();
    EXPECT_EQ(disk->name(), "sda");
    EXPECT_FALSE(disk->partition());
}

TEST(BlockDevice, IsFoundByItsNameInTheMapper) {
    FakeSystem system;
    system.disk("sda", "8:0");
    system.mapper("dm-3", "253:3", "vg-root", "LVM-x", {"sda"});
    const auto device = BlockDevice::find("/dev/mapper/vg-root", system.roots());
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_EQ(device->name(), "dm-3");
    EXPECT_EQ(BlockDevice::find("/dev/mapper/vg-home", system.roots()).error().code, ENODEV);
}

TEST(BlockDevice, HasTheNameOfItsNodeWhereThatHasASlash) {
    FakeSystem system;
    system.disk("cciss!c0d0", "104:0");
    const auto device = BlockDevice::find("/dev/cciss/c0d0", system.roots());
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_EQ(device->name(), "cciss/c0d0");
    EXPECT_EQ(device->node(), system.root() / "dev/cciss/c0d0");
}

TEST(BlockDevice, IsNotFoundWhereThereIsNone) {
    FakeSystem system;
    system.disk("sda", "8:0");
    std::ofstream(system.root() / "dev/file") << "no device";
    const auto regular = (system.root() / "dev/file").string();
    for (const std::string& name :
         {std::string("sdb"), std::string("/dev/sdb"), std::string("/dev/"), std::string(), regular,
          std::string("/dev/file")}) {
        const auto device = BlockDevice::find(name, system.roots());
        ASSERT_FALSE(device) << name;
        EXPECT_EQ(device.error().code, ENODEV) << name;
    }
    EXPECT_EQ(BlockDevice::find(::makedev(8, 16), system.roots()).error().code, ENODEV);
}

TEST(BlockDevice, ReadsTheFactsOfAHardDisk) {
    FakeSystem system;
    system.disk("sda", "8:0",
                {{"size", "3907029168"},
                 {"removable", "0"},
                 {"queue/rotational", "1"},
                 {"queue/scheduler", "none [mq-deadline] kyber bfq"},
                 {"queue/nr_requests", "64"},
                 {"queue/read_ahead_kb", "128"},
                 {"queue/logical_block_size", "512"},
                 {"mq/0/nr_tags", "32"},
                 {"device/queue_depth", "31"},
                 {"device/vendor", "ATA     "},
                 {"device/model", "ST2000DM008-2FR1"}},
                "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0");
    const auto facts = facts_of(system, "sda");
    EXPECT_TRUE(facts.rotational);
    EXPECT_EQ(facts.scheduler, "mq-deadline");
    EXPECT_EQ(facts.schedulers, (std::vector<std::string>{"none", "mq-deadline", "kyber", "bfq"}));
    EXPECT_EQ(facts.nr_requests, 64U);
    EXPECT_EQ(facts.queue_depth, 31U);
    EXPECT_EQ(facts.hardware_queues, 1U);
    EXPECT_EQ(facts.read_ahead_kb, 128U);
    EXPECT_EQ(facts.logical_block, 512U);
    EXPECT_EQ(facts.sectors, 3'907'029'168U);
    EXPECT_FALSE(facts.removable);
    EXPECT_FALSE(facts.read_only);
    EXPECT_EQ(facts.model, "ST2000DM008-2FR1");
    EXPECT_EQ(facts.transport, Transport::kAta);
}

TEST(BlockDevice, TakesTheDepthFromTheTagsWhereThereIsNoOther) {
    FakeSystem system;
    system.disk("nvme0n1", "259:0",
                {{"queue/rotational", "0"},
                 {"queue/scheduler", "[none] mq-deadline"},
                 {"mq/0/nr_tags", "1023"},
                 {"mq/1/nr_tags", "1023"},
                 {"device/model", "Samsung SSD 980"}},
                "pci0000:00/0000:01:00.0/nvme/nvme0");
    const auto facts = facts_of(system, "nvme0n1");
    EXPECT_FALSE(facts.rotational);
    EXPECT_EQ(facts.scheduler, "none");
    EXPECT_EQ(facts.queue_depth, 1023U);
    EXPECT_EQ(facts.hardware_queues, 2U);
    EXPECT_EQ(facts.model, "Samsung SSD 980");
}

TEST(BlockDevice, ADiskWithoutRequestsHasNoScheduler) {
    FakeSystem system;
    system.disk("zram0", "253:0", {{"queue/scheduler", "none"}});
    const auto facts = facts_of(system, "zram0");
    EXPECT_EQ(facts.scheduler, "none");
    EXPECT_EQ(facts.hardware_queues, 0U);
    EXPECT_EQ(facts.transport, Transport::kMemory);
}

TEST(BlockDevice, KnowsHowADiskIsAttached) {
    struct Case {
        const char* name;
        const char* parent;
        Transport transport;
    };
    const Case cases[] = {
        {"vda", "pci0000:00/0000:00:02.0/virtio1", Transport::kVirtio},
        {"sda", "pci0000:00/0000:00:05.0/virtio2/host0/target0:0:0/0:0:0:0", Transport::kVirtio},
        {"sdb", "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0",
         Transport::kUsb},
        {"sdc", "pci0000:00/0000:03:00.0/host1/target1:0:0/1:0:0:0", Transport::kScsi},
        {"sdd", "platform/host2/session1/target2:0:0/2:0:0:1", Transport::kIscsi},
        {"nvme0n1", "virtual/nvme-subsystem/nvme-subsys0", Transport::kNvme},
        {"mmcblk0", "platform/soc/mmc_host/mmc0/mmc0:aaaa", Transport::kMmc},
        {"nbd0", "virtual", Transport::kNbd},
        {"loop0", "virtual", Transport::kLoop},
        {"ram0", "virtual", Transport::kMemory},
        {"dasda", "css0/0.0.0100", Transport::kOther},
    };
    FakeSystem system;
    int minor = 0;
    for (const Case& one : cases) {
        system.disk(one.name, "240:" + std::to_string(minor++), {}, one.parent);
        EXPECT_EQ(facts_of(system, one.name).transport, one.transport) << one.name;
    }
}

TEST(BlockDevice, NamesTheModelAsTheBusDoes) {
    FakeSystem system;
    system.disk("sdb", "8:16", {{"device/vendor", "SanDisk "}, {"device/model", "Ultra Fit"}});
    system.disk("mmcblk0", "179:0", {{"device/cid", "03534453"}, {"device/name", "SU08G"}});
    system.disk("vda", "254:0", {{"device/vendor", "0x1af4"}});
    EXPECT_EQ(facts_of(system, "sdb").model, "SanDisk Ultra Fit");
    EXPECT_EQ(facts_of(system, "mmcblk0").model, "SU08G");
    EXPECT_EQ(facts_of(system, "vda").model, "");
}

TEST(BlockDevice, HasNoFactsOnceItIsGone) {
    FakeSystem system;
    system.disk("sdb", "8:16");
    const auto device = BlockDevice::find("sdb", system.roots());
    ASSERT_TRUE(device);
    system.remove("sdb");
    const auto facts = device->facts();
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().code, ENODEV);
}

TEST(BlockDevice, HasItsSchedulerBackAfterwards) {
    FakeSystem system;
    system.disk("sda", "8:0", {{"queue/scheduler", "none [mq-deadline] bfq"}});
    const auto device = BlockDevice::find("sda", system.roots());
    ASSERT_TRUE(device);
    {
        const auto changed = device->set_queue("scheduler", "bfq");
        ASSERT_TRUE(changed) << changed.error().message();
        EXPECT_EQ(*read_value(device->directory() / "queue/scheduler"), "bfq");
    }
    EXPECT_EQ(*read_value(device->directory() / "queue/scheduler"), "mq-deadline");
}

}  // namespace
}  // namespace lull::sched
