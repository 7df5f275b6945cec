// SPDX-License-Identifier: MIT
#include "sched/disk/service_times.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>

namespace lull::sched {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint64_t kSmallestDisk = 1 << 20;
// Two at once, so that the disk does not wait for the next; within what a hard disk reads ahead
// into its buffer, without which each read would cost a turn.
constexpr std::uint32_t kStreamRead = 256 << 10;
constexpr std::uint32_t kStreamDepth = 2;
constexpr std::uint32_t kDeepest = 16;
constexpr double kSectorBytes = 512;
// A read that takes so many times the median has met something else: a request of another's, or a
// processor that slept. The longest seek and a whole turn are within 3 times the mean of both.
constexpr Nanoseconds kStrayFactor = 4;
constexpr Nanoseconds kSlow = 2 * kMillisecond;  // see ServiceTimes::seeks

/// Spends the disk's time in parts, each with its share of what is allowed.
class Probe {
  public:
    Probe(ProbeTarget& target, const ProbeOptions& options)
        : target_(target), longest_(options.longest), random_(options.seed) {}

    Result<ServiceTimes> run() {
        for (const auto part : {&Probe::random_alone, &Probe::stream, &Probe::deep}) {
            if (auto done = (this->*part)(); !done) {
                return done.error();
            }
        }
        return std::move(times_);
    }

  private:
    Result<void> random_alone() {
        constexpr std::size_t kMost = 64;
        constexpr std::size_t kLeast = 8;  // even where they take longer than allowed
        std::vector<Nanoseconds> taken;
        Nanoseconds sum = 0;
        while (taken.size() < kMost && (taken.size() < kLeast || sum < longest_ * 2 / 5)) {
            const auto time = read(random_blocks(1), kBlock, 1);
            if (!time) {
                return time.error();
            }
            taken.push_back(*time);
            sum += *time;
        }
        std::sort(taken.begin(), taken.end());
        times_.random_median = taken[taken.size() / 2];
        const auto end =
            std::upper_bound(taken.begin(), taken.end(), kStrayFactor * times_.random_median);
        times_.random_mean =
            std::accumulate(taken.begin(), end, Nanoseconds{0}) / std::distance(taken.begin(), end);
        return {};
    }

    Result<void> stream() {
        constexpr std::uint64_t kMost = 128;
        constexpr std::uint64_t kAtOnce = 8;
        const std::uint64_t fit = std::min(kMost, target_.bytes() / kStreamRead - 1);
        const std::uint64_t last = target_.bytes() - (fit + 1) * kStreamRead;
        std::uint64_t offset = std::min(random_blocks(1).front(), last / kBlock * kBlock);
        // The first one pays for the way there.
        if (const auto way = read(std::vector{offset}, kStreamRead, 1); !way) {
            return way.error();
        }
        Nanoseconds sum = 0;
        std::uint64_t count = 0;
        while (count < fit && sum < longest_ / 5) {
            std::vector<std::uint64_t> offsets(std::min(kAtOnce, fit - count));
            for (std::uint64_t& one : offsets) {
                one = offset += kStreamRead;
            }
            const auto time = read(offsets, kStreamRead, kStreamDepth);
            if (!time) {
                return time.error();
            }
            sum += *time;
            count += offsets.size();
        }
        times_.ns_per_byte = static_cast<double>(sum) / static_cast<double>(count * kStreamRead);
        return {};
    }

    Result<void> deep() {
        constexpr std::size_t kMost = 192;
        for (const std::uint32_t depth : {2U, 4U, 8U, kDeepest}) {
            // On a disk that may seek only the depth that tells it from one that is far away.
            const bool slow = times_.random_median >= kSlow;
            if (slow && depth != kDeepest) {
                continue;
            }
            const Nanoseconds share = slow ? longest_ * 2 / 5 : longest_ / 10;
            const auto fit =
                static_cast<std::size_t>(share / std::max<Nanoseconds>(times_.random_mean, 1));
            const std::size_t count = std::min(fit, kMost);
            // Fewer than twice the depth tell of its beginning and end only.
            if (count < std::size_t{2} * depth) {
                continue;
            }
            const auto time = read(random_blocks(count), kBlock, depth);
            if (!time) {
                return time.error();
            }
            const double alone =
                static_cast<double>(times_.random_mean) * static_cast<double>(count);
            times_.depths.push_back(
                {depth, alone / static_cast<double>(std::max<Nanoseconds>(*time, 1))});
        }
        return {};
    }

    [[nodiscard]] std::vector<std::uint64_t> random_blocks(std::size_t count) {
        std::uniform_int_distribution<std::uint64_t> block(0, target_.bytes() / kBlock - 1);
        std::vector<std::uint64_t> offsets(count);
        std::generate(offsets.begin(), offsets.end(), [&] { return block(random_) * kBlock; });
        return offsets;
    }

    Result<Nanoseconds> read(std::span<const std::uint64_t> offsets, std::uint32_t length,
                             std::uint32_t depth) {
        auto time = target_.read(offsets, length, depth);
        if (time) {
            times_.bytes += offsets.size() * length;
            times_.took += *time;
        }
        return time;
    }

    ProbeTarget& target_;
    Nanoseconds longest_;
    std::mt19937_64 random_;
    ServiceTimes times_;
};

double gain_at(const ServiceTimes& times, std::uint32_t depth) {
    const auto found = std::find_if(times.depths.begin(), times.depths.end(),
                                    [&](const DepthGain& one) { return one.depth == depth; });
    return found == times.depths.end() ? 1 : found->gain;
}

}  // namespace

bool ServiceTimes::seeks() const {
    constexpr double kFarAway = 5;
    const double way = static_cast<double>(random_median) - ns_per_byte * kBlock;
    return way >= static_cast<double>(kSlow) && gain_at(*this, kDeepest) < kFarAway;
}

bool ServiceTimes::depth_helps() const {
    constexpr double kHelps = 1.5;
    return std::any_of(depths.begin(), depths.end(),
                       [](const DepthGain& one) { return one.gain >= kHelps; });
}

std::uint32_t ServiceTimes::idle_depth() const {
    constexpr double kLongerThanAlone = 1.5;
    constexpr std::uint32_t kMost = 8;
    std::uint32_t best = 1;
    for (const auto& [depth, gain] : depths) {
        if (!seeks() && depth <= kMost && depth / gain <= kLongerThanAlone) {
            best = depth;
        }
    }
    return best;
}

DiskTraits ServiceTimes::traits() const {
    DiskTraits traits;
    traits.seeks = seeks();
    traits.random_service = random_mean;
    traits.ns_per_sector = ns_per_byte * kSectorBytes;
    traits.idle_depth = idle_depth();
    return traits;
}

Result<ServiceTimes> measure(ProbeTarget& target, const ProbeOptions& options) {
    if (target.bytes() < kSmallestDisk) {
        return Error{EINVAL, "a disk of less than a MiB"};
    }
    return Probe(target, options).run();
}

DiskTraits assumed_traits(const DiskFacts& facts) {
    // Random 4 KiB reads alone, and rates, of usual drives of each kind; see the sources of the
    // profiles in tests/disk. A USB stick, a virtual disk and a remote one may be anything.
    constexpr double kNsPerSecond = 1e9;
    const auto traits = [](bool seeks, Nanoseconds random, double bytes_per_second,
                           std::uint32_t depth) {
        return DiskTraits{seeks, random, kSectorBytes * kNsPerSecond / bytes_per_second, depth};
    };
    const DiskTraits hard_disk = traits(true, 12 * kMillisecond, 120e6, 1);
    switch (facts.transport) {
        case Transport::kNvme:
            return traits(false, 80 * kMicrosecond, 2e9, 4);
        case Transport::kMmc:
            return traits(false, 700 * kMicrosecond, 40e6, 1);
        case Transport::kMemory:
            return traits(false, 10 * kMicrosecond, 2e9, 4);
        case Transport::kAta:
        case Transport::kScsi:
        case Transport::kLoop:
            return facts.rotational ? hard_disk : traits(false, 120 * kMicrosecond, 500e6, 2);
        case Transport::kUsb:
        case Transport::kVirtio:
        case Transport::kNbd:
        case Transport::kIscsi:
        case Transport::kOther:
            break;
    }
    return hard_disk;
}

}  // namespace lull::sched
