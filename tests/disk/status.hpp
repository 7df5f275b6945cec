// SPDX-License-Identifier: MIT
// What an emulated disk tells other processes about itself: a page of shared memory, written by the
// server alone and read by anybody without a request to the disk.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/model.hpp"

namespace lull::disk {

/// How much later than the model asked each reply was sent. Four buckets per power of two, from
/// 1 us to 17 s: a percentile is at most a fifth too high.
class Lateness {
  public:
    void add(Nanoseconds late);
    /// The upper edge of the bucket that holds the given part (0..1) of the replies; 0 without any.
    [[nodiscard]] Nanoseconds percentile(double part) const;
    [[nodiscard]] std::uint64_t count() const;

  private:
    static constexpr std::size_t kBuckets = 98;
    std::array<std::uint64_t, kBuckets> buckets_{};
};

struct Status {
    Counters counters;                ///< of the timed requests, summed over the profiles in use
    std::uint64_t bypassed = 0;       ///< requests answered at once while the timing was off
    std::uint64_t in_flight = 0;      ///< timed requests inside now
    std::uint64_t max_in_flight = 0;  ///< the most ever inside
    Lateness lateness;                ///< of the timed requests
};

/// The shared page. One writer; a reader repeats its copy until no write came between.
class StatusPage {
  public:
    /// A new page of zeros in anonymous shared memory.
    static Result<StatusPage> create();
    /// The page behind `fd`, for reading only.
    static Result<StatusPage> open(Fd fd);
    ~StatusPage();
    StatusPage(const StatusPage&) = delete;
    StatusPage& operator=(const StatusPage&) = delete;
    StatusPage(StatusPage&& other) noexcept;
    StatusPage& operator=(StatusPage&& other) = delete;

    void publish(const Status& status);
    [[nodiscard]] Status read() const;
    /// To hand to another process.
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    static constexpr std::size_t kWords = sizeof(Status) / sizeof(std::uint64_t);
    struct Page {
        std::atomic<std::uint64_t> sequence;  // odd while a write is under way
        std::array<std::atomic<std::uint64_t>, kWords> words;
    };
    static_assert(sizeof(Status) % sizeof(std::uint64_t) == 0);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    StatusPage(Fd fd, Page* page) : fd_(std::move(fd)), page_(page) {}
    static Result<StatusPage> map(Fd fd, int protection);

    Fd fd_;
    Page* page_;
};

}  // namespace lull::disk
