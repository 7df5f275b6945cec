// SPDX-License-Identifier: MIT
// The probe on models of drives, in simulated time.
#include "sched/disk/service_times.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/disk/model.hpp"

namespace lull::sched {
namespace {

class ModelTarget : public ProbeTarget {
  public:
    explicit ModelTarget(std::unique_ptr<disk::Model> model, Nanoseconds far_away = 0)
        : model_(std::move(model)), far_away_(far_away) {}

    [[nodiscard]] std::uint64_t bytes() const override {
        return model_->sectors() * disk::kSectorSize;
    }
    Result<Nanoseconds> read(std::span<const std::uint64_t> offsets, std::uint32_t length,
                             std::uint32_t depth) override {
        const Nanoseconds begin = now_;
        std::size_t sent = 0;
        for (std::size_t done = 0; done < offsets.size();) {
            while (sent < offsets.size() && sent - done < depth) {
                EXPECT_LE(offsets[sent] + length, bytes());
                model_->submit({sent, disk::Operation::kRead, offsets[sent] / disk::kSectorSize,
                                static_cast<std::uint32_t>(length / disk::kSectorSize)},
                               now_);
                ++sent;
            }
            now_ = *model_->next_completion();
            done += model_->advance(now_).size();
        }
        // What is far away costs the way for each read, but for as many at a time as are sent.
        now_ += far_away_ * static_cast<Nanoseconds>((offsets.size() + depth - 1) / depth);
        reads_ += offsets.size();
        return now_ - begin;
    }

    [[nodiscard]] Nanoseconds now() const { return now_; }

  private:
    std::unique_ptr<disk::Model> model_;
    Nanoseconds far_away_;
    Nanoseconds now_ = 0;
    std::uint64_t reads_ = 0;
};

ServiceTimes measured(const std::string& profile, std::uint64_t seed = 1) {
    ModelTarget target(disk::make_model(profile));
    const auto times = measure(target, {.seed = seed});
    EXPECT_TRUE(times) << profile;
    return *times;
}

TEST(ServiceTimes, KnowsWhatSeeks) {
    for (const char* profile : {"hdd-7200", "hdd-5400", "hdd-2004", "hdd-2012", "dvd"}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto times = measured(profile, seed);
            EXPECT_TRUE(times.seeks()) << profile << ' ' << seed;
            EXPECT_EQ(times.idle_depth(), 1U) << profile << ' ' << seed;
        }
    }
}

TEST(ServiceTimes, KnowsWhatDoesNot) {
    for (const char* profile : {"sd-card", "sata-ssd", "nvme"}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            EXPECT_FALSE(measured(profile, seed).seeks()) << profile << ' ' << seed;
        }
    }
}

TEST(ServiceTimes, IsNotMisledByADistance) {
    // Flash behind a network that takes 5 ms there and back.
    ModelTarget target(disk::make_model("nvme"), 5 * kMillisecond);
    const auto times = measure(target, {});
    ASSERT_TRUE(times);
    EXPECT_GT(times->random_median, 5 * kMillisecond);
    EXPECT_FALSE(times->seeks());
    EXPECT_TRUE(times->depth_helps());
}

TEST(ServiceTimes, AgreesWithTheFiguresOfTheDrives) {
    // See the profiles for their sources: a 7200 rpm drive makes 75 to 80 random reads per second
    // and reads 56 MB/s inside to 113 MB/s outside.
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto hard_disk = measured("hdd-7200", seed);
        EXPECT_NEAR(static_cast<double>(hard_disk.random_mean), 13e6, 2.5e6);
        EXPECT_GT(1e3 / hard_disk.ns_per_byte, 50);
        EXPECT_LT(1e3 / hard_disk.ns_per_byte, 120);
    }
    // 10 000 random reads per second at depth 1 and 540 MB/s.
    const auto ssd = measured("sata-ssd");
    EXPECT_NEAR(static_cast<double>(ssd.random_mean), 100e3, 20e3);
    EXPECT_NEAR(1e3 / ssd.ns_per_byte, 540, 80);
}

TEST(ServiceTimes, KnowsWhereDepthHelps) {
    EXPECT_TRUE(measured("nvme").depth_helps());
    EXPECT_GE(measured("nvme").idle_depth(), 4U);
    EXPECT_GE(measured("sata-ssd").idle_depth(), 2U);
    // One command at a time.
    EXPECT_FALSE(measured("sd-card").depth_helps());
    EXPECT_EQ(measured("sd-card").idle_depth(), 1U);
}

TEST(ServiceTimes, TakesNoLongerThanAllowed) {
    for (const std::string& profile : disk::profile_names()) {
        for (const Nanoseconds longest : {200 * kMillisecond, 2 * kSecond}) {
            ModelTarget target(disk::make_model(profile));
            const auto times = measure(target, {.longest = longest});
            ASSERT_TRUE(times) << profile;
            EXPECT_EQ(times->took, target.now());
            // The reads that are made in any case, and the last one of each part.
            const Nanoseconds more = 12 * times->random_mean +
                                     static_cast<Nanoseconds>(times->ns_per_byte * 2 * (1 << 20));
            EXPECT_LE(times->took, longest + more) << profile;
        }
    }
}

TEST(ServiceTimes, AreTraitsForTheArbiter) {
    const auto times = measured("nvme");
    const DiskTraits traits = times.traits();
    EXPECT_FALSE(traits.seeks);
    EXPECT_EQ(traits.random_service, times.random_mean);
    EXPECT_DOUBLE_EQ(traits.ns_per_sector, times.ns_per_byte * 512);
    EXPECT_EQ(traits.idle_depth, times.idle_depth());
}

class BrokenTarget : public ProbeTarget {
  public:
    explicit BrokenTarget(std::uint64_t bytes, int good) : bytes_(bytes), good_(good) {}
    [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
    Result<Nanoseconds> read(std::span<const std::uint64_t> /*offsets*/, std::uint32_t /*length*/,
                             std::uint32_t /*depth*/) override {
        return good_-- > 0 ? Result<Nanoseconds>(kMillisecond) : Error{EIO, "a bad sector"};
    }

  private:
    std::uint64_t bytes_;
    int good_;
};

/// Each read takes 1 ms, but one in sixteen 50 ms.
class StrayTarget : public ProbeTarget {
  public:
    [[nodiscard]] std::uint64_t bytes() const override { return std::uint64_t{1} << 30; }
    Result<Nanoseconds> read(std::span<const std::uint64_t> offsets, std::uint32_t /*length*/,
                             std::uint32_t depth) override {
        constexpr int kStray = 16;
        const bool stray = depth == 1 && ++reads_ % kStray == 0;
        return static_cast<Nanoseconds>(offsets.size()) * (stray ? 50 : 1) * kMillisecond;
    }

  private:
    int reads_ = 0;
};

TEST(ServiceTimes, AreNotMisledByStrays) {
    StrayTarget target;
    const auto times = measure(target, {.longest = 10 * kSecond});
    ASSERT_TRUE(times);
    EXPECT_EQ(times->random_mean, kMillisecond);
    EXPECT_EQ(times->idle_depth(), 1U);
    EXPECT_FALSE(times->depth_helps());
}

TEST(ServiceTimes, GivesUpOnADiskThatFails) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    for (const int good : {0, 1, 63, 64, 65, 80, 81, 84}) {
        BrokenTarget target(kGiB, good);
        const auto times = measure(target, {});
        ASSERT_FALSE(times) << good;
        EXPECT_EQ(times.error().code, EIO);
    }
}

TEST(ServiceTimes, TakesASmallDiskAndRefusesATinyOne) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    for (const std::uint64_t bytes : {kMiB, kMiB + 512, 2 * kMiB, 5 * kMiB + 4096}) {
        ModelTarget target(disk::make_model("nvme", {.capacity = bytes / disk::kSectorSize}));
        EXPECT_TRUE(measure(target, {})) << bytes;
    }
    BrokenTarget tiny(kMiB - 512, 1000);
    EXPECT_EQ(measure(tiny, {}).error().code, EINVAL);
}

TEST(AssumedTraits, AreGentleInDoubt) {
    const auto traits = [](Transport transport, bool rotational) {
        DiskFacts facts;
        facts.transport = transport;
        facts.rotational = rotational;
        return assumed_traits(facts);
    };
    for (const auto unsure : {Transport::kVirtio, Transport::kUsb, Transport::kNbd,
                              Transport::kIscsi, Transport::kOther}) {
        for (const bool rotational : {false, true}) {
            EXPECT_TRUE(traits(unsure, rotational).seeks) << to_string(unsure);
            EXPECT_EQ(traits(unsure, rotational).idle_depth, 1U) << to_string(unsure);
        }
    }
    EXPECT_FALSE(traits(Transport::kNvme, true).seeks);
    EXPECT_FALSE(traits(Transport::kMmc, false).seeks);
    EXPECT_TRUE(traits(Transport::kAta, true).seeks);
    EXPECT_FALSE(traits(Transport::kAta, false).seeks);
}

}  // namespace
}  // namespace lull::sched
