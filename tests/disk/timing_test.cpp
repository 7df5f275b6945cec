// SPDX-License-Identifier: MIT
// The emulated disk keeps the time of its model. Only ratios are looked at: to what the model says
// for the same requests, and of one way of reading to another on the same disk.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/disk/block_io.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/needs.hpp"

namespace lull::disk {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kBlocks = kBytes / kBlock;

class BareDisk : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        EmulatedDiskOptions options;
        options.profile = "hdd-7200";
        options.bytes = kBytes;
        options.file_system = FileSystem::kNone;
        auto made = EmulatedDisk::create(options);
        ASSERT_TRUE(made) << made.error().message();
        disk_.emplace(*std::move(made));
        fd_.reset(::open(disk_->device().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
        ASSERT_TRUE(fd_);
    }

    [[nodiscard]] double ratio_to_model(const std::vector<std::uint64_t>& blocks, unsigned depth) {
        ModelOptions options;
        options.capacity = kBytes / kSectorSize;
        const auto model = make_model("hdd-7200", options);
        const auto predicted = predicted_reads(*model, blocks, depth);
        return static_cast<double>(timed_reads(fd_.get(), blocks, depth)) /
               static_cast<double>(predicted);
    }

    std::optional<EmulatedDisk> disk_;
    Fd fd_;
};

TEST_F(BareDisk, RandomReadsTakeTheTimeOfTheModel) {
    const auto ratio = ratio_to_model(random_blocks(64, kBlocks, 11), 1);
    EXPECT_GE(ratio, 0.8);
    EXPECT_LE(ratio, 1.5);
}

TEST_F(BareDisk, QueuedReadsTakeTheTimeOfTheModel) {
    const auto ratio = ratio_to_model(random_blocks(192, kBlocks, 12), 32);
    EXPECT_GE(ratio, 0.7);
    EXPECT_LE(ratio, 1.5);
    EXPECT_GE(disk_->status().max_in_flight, 32U);
}

TEST_F(BareDisk, AQueueServesMoreThanOneAtATime) {
    const auto blocks = random_blocks(96, kBlocks, 13);
    const auto one = timed_reads(fd_.get(), blocks, 1);
    const auto many = timed_reads(fd_.get(), random_blocks(96, kBlocks, 14), 32);
    EXPECT_LT(static_cast<double>(many), 0.8 * static_cast<double>(one));
}

TEST_F(BareDisk, NeighboursCostLessThanStrangers) {
    std::vector<std::uint64_t> neighbours;
    for (std::uint64_t number = 0; number < 64; ++number) {
        neighbours.push_back(100'000 + number);
    }
    const auto near = timed_reads(fd_.get(), neighbours, 1);
    const auto far = timed_reads(fd_.get(), random_blocks(64, kBlocks, 15), 1);
    EXPECT_LT(near * 4, far);
}

TEST_F(BareDisk, IsBusyAsLongAsItIsUsed) {
    const auto before = disk_->counters();
    const auto took = timed_reads(fd_.get(), random_blocks(64, kBlocks, 16), 1);
    const auto busy = disk_->counters().busy - before.busy;
    EXPECT_LE(busy, took);
    EXPECT_GE(static_cast<double>(busy), 0.6 * static_cast<double>(took));
    EXPECT_GE(disk_->counters().seeks - before.seeks, 60U);
}

TEST_F(BareDisk, AnswersAreRarelyLate) {
    static_cast<void>(timed_reads(fd_.get(), random_blocks(64, kBlocks, 17), 1));
    const auto status = disk_->status();
    const auto service = status.counters.busy / static_cast<Nanoseconds>(status.counters.reads);
    EXPECT_LT(status.lateness.percentile(0.5), service / 10);
}

}  // namespace
}  // namespace lull::disk
