// SPDX-License-Identifier: MIT
#include "tests/disk/status.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lull::disk {
namespace {

constexpr unsigned kFirstOctave = 10;  // 2^10 ns: the first bucket ends at about 1 us
constexpr unsigned kPerOctave = 4;

}  // namespace

void Lateness::add(Nanoseconds late) {
    const auto value = static_cast<std::uint64_t>(std::max<Nanoseconds>(late, 0));
    if (value < (1U << kFirstOctave)) {
        ++buckets_.front();
        return;
    }
    const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1;
    const auto quarter = (value >> (octave - 2)) & (kPerOctave - 1);
    const std::size_t first = std::size_t{octave - kFirstOctave} * kPerOctave;
    const auto index = first + quarter + 1;
    ++buckets_[std::min<std::size_t>(index, kBuckets - 1)];
}

std::uint64_t Lateness::count() const {
    return std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0});
}

Nanoseconds Lateness::percentile(double part) const {
    const auto wanted = part * static_cast<double>(count());
    std::uint64_t seen = 0;
    for (std::size_t index = 0; index < kBuckets; ++index) {
        seen += buckets_[index];
        if (seen == 0 || static_cast<double>(seen) < wanted) {
            continue;
        }
        if (index == 0) {
            return Nanoseconds{1} << kFirstOctave;
        }
        const auto octave = kFirstOctave + (index - 1) / kPerOctave;
        const auto quarter = (index - 1) % kPerOctave;
        return static_cast<Nanoseconds>((kPerOctave + quarter + 1) << (octave - 2));
    }
    return 0;
}

Result<StatusPage> StatusPage::create() {
    Fd fd(::memfd_create("lull-disk-status", MFD_CLOEXEC));
    if (!fd || ::ftruncate(fd.get(), sizeof(Page)) != 0) {
        return last_error("shared memory for the status page");
    }
    return map(std::move(fd), PROT_READ | PROT_WRITE);
}

Result<StatusPage> StatusPage::open(Fd fd) {
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) {
        return last_error("status page");
    }
    if (facts.st_size != static_cast<off_t>(sizeof(Page))) {
        return Error{EINVAL, "status page of another version"};
    }
    return map(std::move(fd), PROT_READ);
}

Result<StatusPage> StatusPage::map(Fd fd, int protection) {
    void* address = ::mmap(nullptr, sizeof(Page), protection, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) {
        return last_error("mapping the status page");
    }
    return StatusPage(std::move(fd), static_cast<Page*>(address));
}

StatusPage::StatusPage(StatusPage&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}

StatusPage::~StatusPage() {
    if (page_ != nullptr) {
        ::munmap(page_, sizeof(Page));
    }
}

void StatusPage::publish(const Status& status) {
    static_assert(std::is_trivially_copyable_v<Status>);
    const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(status);
    const auto sequence = page_->sequence.load(std::memory_order_relaxed);
    page_->sequence.store(sequence + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t index = 0; index < kWords; ++index) {
        page_->words[index].store(words[index], std::memory_order_relaxed);
    }
    page_->sequence.store(sequence + 2, std::memory_order_release);
}

Status StatusPage::read() const {
    std::array<std::uint64_t, kWords> words{};
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    do {
        before = page_->sequence.load(std::memory_order_acquire);
        for (std::size_t index = 0; index < kWords; ++index) {
            words[index] = page_->words[index].load(std::memory_order_relaxed);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        after = page_->sequence.load(std::memory_order_relaxed);
    } while (before != after || before % 2 != 0);
    return std::bit_cast<Status>(words);
}

}  // namespace lull::disk
