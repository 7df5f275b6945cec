// SPDX-License-Identifier: MIT
// The probe on emulated disks, in real time.
#include <gtest/gtest.h>

#include "sched/disk/block_device.hpp"
#include "sched/disk/service_times.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/needs.hpp"

namespace lull::sched {
namespace {

class Probe : public testing::Test {
  protected:
    static Result<ServiceTimes> measured(disk::EmulatedDisk& emulated) {
        const auto device = BlockDevice::find(emulated.device_number());
        return device ? measure(*device, {.longest = kSecond}) : device.error();
    }
    static disk::EmulatedDiskOptions bare(const std::string& profile) {
        disk::EmulatedDiskOptions options;
        options.profile = profile;
        options.bytes = std::uint64_t{4} << 30;
        options.file_system = disk::FileSystem::kNone;
        return options;
    }
};

TEST_F(Probe, KnowsAHardDiskFromFlashWhateverTheySay) {
    LULL_NEEDS_ROOT();
    auto emulated = disk::EmulatedDisk::create(bare("hdd-7200"));
    ASSERT_TRUE(emulated) << emulated.error().message();
    ASSERT_TRUE(emulated->set_queue("rotational", "0"));
    const auto slow = measured(*emulated);
    ASSERT_TRUE(slow) << slow.error().message();
    EXPECT_TRUE(slow->seeks()) << slow->random_median << " ns, " << slow->ns_per_byte << " ns/B";
    EXPECT_EQ(slow->other_bytes, 0U);

    ASSERT_TRUE(emulated->set_profile("nvme"));
    ASSERT_TRUE(emulated->set_queue("rotational", "1"));
    const auto fast = measured(*emulated);
    ASSERT_TRUE(fast) << fast.error().message();
    EXPECT_FALSE(fast->seeks()) << fast->random_median << " ns, " << fast->ns_per_byte << " ns/B";
    EXPECT_LT(fast->random_mean, slow->random_mean);
}

TEST_F(Probe, ReadsWhatItSaysAndWritesNothing) {
    LULL_NEEDS_ROOT();
    auto emulated = disk::EmulatedDisk::create(bare("nvme"));
    ASSERT_TRUE(emulated) << emulated.error().message();
    ASSERT_TRUE(emulated->settle());
    const auto before = emulated->counters();
    const auto times = measured(*emulated);
    ASSERT_TRUE(times) << times.error().message();
    const auto after = emulated->counters();
    EXPECT_EQ((after.sectors_read - before.sectors_read) * disk::kSectorSize, times->bytes);
    EXPECT_EQ(after.writes, before.writes);
}

}  // namespace
}  // namespace lull::sched
