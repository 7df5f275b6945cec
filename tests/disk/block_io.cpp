// SPDX-License-Identifier: MIT
#include "tests/disk/block_io.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>

#include <gtest/gtest.h>
#include <liburing.h>

namespace lull::disk {

AlignedBuffer::AlignedBuffer(std::size_t bytes)
    : bytes_(bytes), memory_(std::make_unique<std::byte[]>(bytes + kBlock)) {
    void* start = memory_.get();
    std::size_t space = bytes + kBlock;
    data_ = static_cast<std::byte*>(std::align(kBlock, bytes, start, space));
}

void fill_block(std::byte* block, std::uint64_t number, std::uint64_t salt) {
    std::mt19937_64 random(number * 1'000'003 + salt);
    for (std::size_t at = 0; at < kBlock; at += sizeof(std::uint64_t)) {
        const std::uint64_t value = random();
        std::memcpy(block + at, &value, sizeof(value));
    }
}

std::vector<std::uint64_t> random_blocks(std::size_t count, std::uint64_t blocks,
                                         std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [&] { return random() % blocks; });
    return numbers;
}

Nanoseconds steady_now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * Nanoseconds{1'000'000'000} + time.tv_nsec;
}

Nanoseconds timed_reads(int fd, const std::vector<std::uint64_t>& blocks, unsigned depth) {
    io_uring ring{};
    EXPECT_EQ(::io_uring_queue_init(depth, &ring, 0), 0);
    AlignedBuffer buffer(depth * kBlock);
    std::deque<unsigned> free_slots;
    for (unsigned slot = 0; slot < depth; ++slot) {
        free_slots.push_back(slot);
    }
    const auto start = steady_now();
    std::size_t issued = 0;
    std::size_t finished = 0;
    while (finished < blocks.size()) {
        while (issued < blocks.size() && !free_slots.empty()) {
            auto* entry = ::io_uring_get_sqe(&ring);
            const auto slot = free_slots.front();
            free_slots.pop_front();
            ::io_uring_prep_read(entry, fd, buffer.data() + slot * kBlock, kBlock,
                                 blocks[issued++] * kBlock);
            ::io_uring_sqe_set_data64(entry, slot);
        }
        EXPECT_GE(::io_uring_submit_and_wait(&ring, 1), 0);
        io_uring_cqe* done = nullptr;
        while (::io_uring_peek_cqe(&ring, &done) == 0) {
            EXPECT_EQ(done->res, static_cast<int>(kBlock));
            free_slots.push_back(static_cast<unsigned>(::io_uring_cqe_get_data64(done)));
            ::io_uring_cqe_seen(&ring, done);
            ++finished;
        }
    }
    const auto took = steady_now() - start;
    ::io_uring_queue_exit(&ring);
    return took;
}

Nanoseconds predicted_reads(Model& model, const std::vector<std::uint64_t>& blocks,
                            unsigned depth) {
    constexpr std::uint64_t kSectors = kBlock / kSectorSize;
    Nanoseconds now = 0;
    std::size_t issued = 0;
    std::size_t finished = 0;
    while (finished < blocks.size()) {
        while (issued < blocks.size() && issued - finished < depth) {
            model.submit({issued, Operation::kRead, blocks[issued] * kSectors, kSectors}, now);
            ++issued;
        }
        now = model.next_completion().value_or(now);
        finished += model.advance(now).size();
    }
    return now;
}

}  // namespace lull::disk
