// SPDX-License-Identifier: MIT
// The emulated disk is a disk: what is written can be read, every request is counted, a new mount
// is cold, its queue can be set.
#include "tests/disk/fixture.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fs/residency.hpp"
#include "tests/disk/block_io.hpp"
#include "tests/needs.hpp"

namespace lull::disk {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

EmulatedDiskOptions small_disk(const std::string& profile = "sata-ssd") {
    EmulatedDiskOptions options;
    options.profile = profile;
    options.bytes = 512 * kMiB;
    return options;
}

Fd open_file(const std::filesystem::path& path, int flags) {
    return Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

/// A file of pseudo-random blocks, written through the page cache and synced.
void write_file(const std::filesystem::path& path, std::uint64_t blocks, std::uint64_t salt) {
    const Fd fd = open_file(path, O_CREAT | O_WRONLY | O_TRUNC);
    ASSERT_TRUE(fd);
    AlignedBuffer block(kBlock);
    for (std::uint64_t number = 0; number < blocks; ++number) {
        fill_block(block.data(), number, salt);
        ASSERT_EQ(::write(fd.get(), block.data(), kBlock), static_cast<ssize_t>(kBlock));
    }
    ASSERT_EQ(::fsync(fd.get()), 0);
}

void expect_blocks(int fd, const std::vector<std::uint64_t>& numbers, std::uint64_t salt) {
    AlignedBuffer got(kBlock);
    AlignedBuffer wanted(kBlock);
    for (const auto number : numbers) {
        ASSERT_EQ(::pread(fd, got.data(), kBlock, static_cast<off_t>(number * kBlock)),
                  static_cast<ssize_t>(kBlock));
        fill_block(wanted.data(), number, salt);
        ASSERT_EQ(std::memcmp(got.data(), wanted.data(), kBlock), 0) << "block " << number;
    }
}

std::vector<std::uint64_t> all_blocks(std::uint64_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

class EmulatedDiskTest : public testing::TestWithParam<FileSystem> {
  protected:
    void SetUp() override { LULL_NEEDS_ROOT(); }
};

TEST_P(EmulatedDiskTest, GivesBackWhatWasWritten) {
    LULL_NEEDS(can_make(GetParam()), "the mkfs of this file system");
    auto options = small_disk();
    options.file_system = GetParam();
    auto disk = EmulatedDisk::create(options);
    ASSERT_TRUE(disk) << disk.error().message();
    const auto path = disk->mount_point() / "data";
    constexpr std::uint64_t kBlocks = 4096;
    write_file(path, kBlocks, 1);

    AlignedBuffer block(kBlock);
    const auto rewritten = random_blocks(200, kBlocks, 5);
    {
        const Fd direct = open_file(path, O_RDWR | O_DIRECT);
        expect_blocks(direct.get(), random_blocks(200, kBlocks, 3), 1);
        for (const auto number : rewritten) {
            fill_block(block.data(), number, 2);
            ASSERT_EQ(
                ::pwrite(direct.get(), block.data(), kBlock, static_cast<off_t>(number * kBlock)),
                static_cast<ssize_t>(kBlock));
        }
    }
    const auto remounted = disk->remount_cold();
    ASSERT_TRUE(remounted) << remounted.error().message();
    const Fd buffered = open_file(path, O_RDONLY);
    expect_blocks(buffered.get(), rewritten, 2);
    std::vector<std::uint64_t> others = all_blocks(kBlocks);
    for (const auto number : rewritten) {
        std::erase(others, number);
    }
    expect_blocks(buffered.get(), others, 1);
}

std::string name_of(const testing::TestParamInfo<FileSystem>& info) {
    switch (info.param) {
        case FileSystem::kExt4:
            return "ext4";
        case FileSystem::kXfs:
            return "xfs";
        case FileSystem::kBtrfs:
            return "btrfs";
        case FileSystem::kNone:
            break;
    }
    return "none";
}

INSTANTIATE_TEST_SUITE_P(FileSystems, EmulatedDiskTest,
                         testing::Values(FileSystem::kExt4, FileSystem::kXfs, FileSystem::kBtrfs),
                         name_of);

TEST(EmulatedDisk, CountsEveryRequest) {
    LULL_NEEDS_ROOT();
    auto options = small_disk();
    options.file_system = FileSystem::kNone;
    auto disk = EmulatedDisk::create(options);
    ASSERT_TRUE(disk) << disk.error().message();
    const Fd fd = open_file(disk->device(), O_RDWR | O_DIRECT);
    const auto before = disk->status();

    AlignedBuffer block(kBlock);
    for (const auto number : random_blocks(211, 100'000, 1)) {
        ASSERT_EQ(::pread(fd.get(), block.data(), kBlock, static_cast<off_t>(number * kBlock)),
                  static_cast<ssize_t>(kBlock));
    }
    for (const auto number : random_blocks(101, 100'000, 2)) {
        ASSERT_EQ(::pwrite(fd.get(), block.data(), kBlock, static_cast<off_t>(number * kBlock)),
                  static_cast<ssize_t>(kBlock));
    }
    const auto after = disk->status();
    EXPECT_EQ(after.counters.reads - before.counters.reads, 211U);
    EXPECT_EQ(after.counters.writes - before.counters.writes, 101U);
    EXPECT_EQ(after.counters.sectors_read - before.counters.sectors_read, 211U * 8);
    EXPECT_EQ(after.counters.sectors_written - before.counters.sectors_written, 101U * 8);
    EXPECT_EQ(after.bypassed, before.bypassed);
    EXPECT_EQ(after.in_flight, 0U);
}

TEST(EmulatedDisk, OtherProcessesReadItsCounters) {
    LULL_NEEDS_ROOT();
    auto options = small_disk();
    options.file_system = FileSystem::kNone;
    auto disk = EmulatedDisk::create(options);
    ASSERT_TRUE(disk) << disk.error().message();
    const Fd fd = open_file(disk->device(), O_RDONLY | O_DIRECT);
    AlignedBuffer block(kBlock);
    ASSERT_EQ(::pread(fd.get(), block.data(), kBlock, 0), static_cast<ssize_t>(kBlock));
    auto page = StatusPage::open(open_file(disk->status_path(), O_RDONLY));
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_GT(page->read().counters.reads, 0U);
    EXPECT_EQ(page->read().counters.reads, disk->counters().reads);
}

TEST(EmulatedDisk, ANewMountIsCold) {
    LULL_NEEDS_ROOT();
    auto disk = EmulatedDisk::create(small_disk());
    ASSERT_TRUE(disk) << disk.error().message();
    const auto path = disk->mount_point() / "data";
    constexpr std::uint64_t kBlocks = 1024;
    write_file(path, kBlocks, 1);
    {
        const Fd warm = open_file(path, O_RDONLY);
        ASSERT_EQ(*fs::resident_count(warm.get(), 0, kBlocks), kBlocks);
    }
    const auto remounted = disk->remount_cold();
    ASSERT_TRUE(remounted) << remounted.error().message();
    const auto before = disk->counters();
    const Fd cold = open_file(path, O_RDONLY);
    EXPECT_EQ(*fs::resident_count(cold.get(), 0, kBlocks), 0U);
    // The inode and the root directory came from the disk again.
    EXPECT_GT(disk->counters().reads, before.reads);
    expect_blocks(cold.get(), all_blocks(kBlocks), 1);
    EXPECT_GE(disk->counters().sectors_read - before.sectors_read, kBlocks * 8);
}

TEST(EmulatedDisk, AFileInUseStopsTheRemountAndNothingElse) {
    LULL_NEEDS_ROOT();
    auto disk = EmulatedDisk::create(small_disk());
    ASSERT_TRUE(disk) << disk.error().message();
    const auto path = disk->mount_point() / "data";
    Fd used = open_file(path, O_CREAT | O_RDWR);
    const auto refused = disk->remount_cold();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EBUSY);
    EXPECT_TRUE(std::filesystem::exists(path));
    used.reset();
    EXPECT_TRUE(disk->remount_cold());
}

TEST(EmulatedDisk, KnowsItsDevice) {
    LULL_NEEDS_ROOT();
    auto disk = EmulatedDisk::create(small_disk("hdd-7200"));
    ASSERT_TRUE(disk) << disk.error().message();
    struct stat facts {};
    ASSERT_EQ(::stat(disk->mount_point().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_dev, disk->device_number());
    EXPECT_EQ(*disk->queue().get("rotational"), "1");
    EXPECT_EQ(*disk->queue().get("read_ahead_kb"), "128");
}

TEST(EmulatedDisk, TakesEverySchedulerOfTheKernel) {
    LULL_NEEDS_ROOT();
    auto disk = EmulatedDisk::create(small_disk());
    ASSERT_TRUE(disk) << disk.error().message();
    const auto first = *disk->queue().get("scheduler");
    const auto names = disk->queue().schedulers();
    ASSERT_TRUE(names) << names.error().message();
    ASSERT_FALSE(names->empty());
    const auto path = disk->mount_point() / "data";
    for (const auto& name : *names) {
        const auto set = disk->set_queue("scheduler", name);
        ASSERT_TRUE(set) << set.error().message();
        EXPECT_EQ(*disk->queue().get("scheduler"), name);
        write_file(path, 64, 1);
        ASSERT_TRUE(disk->remount_cold()) << name;
        expect_blocks(open_file(path, O_RDONLY).get(), all_blocks(64), 1);
    }
    ASSERT_TRUE(disk->set_queue("scheduler", first));
    EXPECT_EQ(*disk->queue().get("scheduler"), first);
}

TEST(EmulatedDisk, PutsTheSchedulerBack) {
    LULL_NEEDS_ROOT();
    auto options = small_disk();
    std::filesystem::path queue;
    std::string before;
    {
        auto disk = EmulatedDisk::create(options);
        ASSERT_TRUE(disk) << disk.error().message();
        queue = std::filesystem::path("/sys/block") / disk->device().filename() / "queue/scheduler";
        before = *disk->queue().get("scheduler");
        ASSERT_TRUE(disk->set_queue("scheduler", before == "bfq" ? "none" : "bfq"));
    }
    std::ifstream stream(queue);
    std::string line;
    std::getline(stream, line);
    EXPECT_EQ(chosen_word(line), before);
}

TEST(EmulatedDisk, KeepsANamedImage) {
    LULL_NEEDS_ROOT();
    auto options = small_disk();
    std::string directory = testing::TempDir() + "image-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    options.image = std::filesystem::path(directory) / "disk.img";
    for (const std::uint64_t round : {0U, 1U}) {
        auto disk = EmulatedDisk::create(options);
        ASSERT_TRUE(disk) << disk.error().message();
        const auto path = disk->mount_point() / "data";
        if (round == 0) {
            write_file(path, 64, 9);
        } else {
            expect_blocks(open_file(path, O_RDONLY).get(), all_blocks(64), 9);
        }
    }
    EXPECT_EQ(std::filesystem::file_size(options.image), options.bytes);
    std::filesystem::remove_all(directory);
}

TEST(EmulatedDisk, RefusesAProfileThatIsNone) {
    LULL_NEEDS_ROOT();
    EXPECT_FALSE(EmulatedDisk::create(small_disk("drum-memory")));
    auto disk = EmulatedDisk::create(small_disk());
    ASSERT_TRUE(disk) << disk.error().message();
    const auto refused = disk->set_profile("drum-memory");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
}

TEST(EmulatedDisk, TellsThatItsServerIsMissing) {
    LULL_NEEDS_ROOT();
    auto options = small_disk();
    options.server = "/nonexistent/lull-disk";
    const auto disk = EmulatedDisk::create(options);
    ASSERT_FALSE(disk);
    EXPECT_EQ(disk.error().code, ENOENT);
    EXPECT_NE(disk.error().what.find("/nonexistent/lull-disk"), std::string::npos);
}

TEST(EmulatedDisk, ChangesItsDriveWhileItIsInUse) {
    LULL_NEEDS_ROOT();
    auto disk = EmulatedDisk::create(small_disk("hdd-7200"));
    ASSERT_TRUE(disk) << disk.error().message();
    const auto path = disk->mount_point() / "data";
    write_file(path, 64, 4);
    const auto before = disk->counters();
    const auto changed = disk->set_profile("nvme");
    ASSERT_TRUE(changed) << changed.error().message();
    EXPECT_EQ(*disk->queue().get("rotational"), "0");
    EXPECT_EQ(*disk->queue().get("read_ahead_kb"), "128");
    EXPECT_EQ(disk->counters().writes, before.writes);
    ASSERT_TRUE(disk->remount_cold());
    expect_blocks(open_file(path, O_RDONLY).get(), all_blocks(64), 4);
    EXPECT_GT(disk->counters().reads, before.reads);
    EXPECT_EQ(disk->counters().seeks, before.seeks);
}

TEST(EmulatedDisk, TakesNoTimeWithoutTiming) {
    LULL_NEEDS_ROOT();
    auto options = small_disk("hdd-7200");
    options.timing = false;
    auto disk = EmulatedDisk::create(options);
    ASSERT_TRUE(disk) << disk.error().message();
    write_file(disk->mount_point() / "data", 1024, 4);
    EXPECT_EQ(disk->counters().busy, 0);
    EXPECT_EQ(disk->counters().writes, 0U);
    EXPECT_GT(disk->status().bypassed, 0U);
    ASSERT_TRUE(disk->set_timing(true));
    ASSERT_TRUE(disk->remount_cold());
    EXPECT_GT(disk->counters().busy, 0);
}

}  // namespace
}  // namespace lull::disk
