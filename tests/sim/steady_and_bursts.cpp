// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/sim/foregrounds.hpp"

namespace lull::sim {

namespace {

constexpr std::uint32_t kPage = 8;

class Bursts {
  public:
    explicit Bursts(const CaseOptions& options)
        : options_(options),
          random_(options.seed),
          log_(random_.below(options.sectors / kPage) * kPage) {}

    Script write() {
        constexpr std::size_t kBursts = 40;
        for (std::size_t i = 0; i < kBursts; ++i) {
            quiet_ = milliseconds(random_.log_between(1000, 5000));
            constexpr double kInteractive = 0.75;
            if (random_.chance(kInteractive)) {
                interactive();
            } else {
                database();
            }
        }
        return std::move(script_);
    }

  private:
    Step& add(double gap_ms) {
        script_.push_back({.gap = milliseconds(gap_ms)});
        if (quiet_ > 0) {
            script_.back().gap = quiet_;
            script_.back().gap_kind = GapKind::kQuiet;
            quiet_ = 0;
        }
        return script_.back();
    }

    void interactive() {
        constexpr std::uint64_t kArea = 1 << 19;  // sectors: 256 MiB
        constexpr double kThinks = 0.02;
        constexpr double kGoesOn = 0.6;
        const std::uint64_t area = random_.below((options_.sectors - 2 * kArea) / kPage) * kPage;
        const auto requests = static_cast<std::size_t>(random_.between(60, 300));
        std::uint64_t position = area;
        for (std::size_t i = 0; i < requests; ++i) {
            Step& step = add(random_.chance(kThinks) ? random_.log_between(20, 200)
                                                     : random_.log_between(0.05, 5));
            step.task = 3000;
            step.cgroup = 30;
            if (!random_.chance(kGoesOn)) {
                position = area + random_.below(kArea / kPage) * kPage;
            }
            step.sector = position;
            step.sectors = static_cast<std::uint32_t>(random_.log_between(1, 32)) * kPage;
            position += step.sectors;
        }
    }

    void database() {
        const auto transactions = static_cast<std::size_t>(random_.between(30, 120));
        for (std::size_t i = 0; i < transactions; ++i) {
            Step& write = add(random_.log_between(1, 10));
            write.kind = IoKind::kSyncWrite;
            write.sector = log_;
            write.sectors = static_cast<std::uint32_t>(random_.log_between(1, 8)) * kPage;
            log_ = (log_ + write.sectors) % (options_.sectors - 1024);
            write.task = 4000;
            write.cgroup = 40;
            Step& flush = add(0.01);
            flush.kind = IoKind::kFlush;
            flush.task = 4000;
            flush.cgroup = 40;
        }
    }

    const CaseOptions& options_;
    Random random_;
    Script script_;
    Nanoseconds quiet_ = 0;  ///< before the next request
    std::uint64_t log_ = 0;  ///< where the database's log ends
};

}  // namespace

Foreground steady(const CaseOptions& options, Nanoseconds random_read) {
    constexpr std::size_t kRequests = 2400;
    constexpr Nanoseconds kPeriod = kSecond / 30;
    constexpr double kJitter = 0.2;
    Random random(options.seed);
    Script script;
    for (std::size_t i = 0; i < kRequests; ++i) {
        const auto sleep = static_cast<double>(std::max(kPeriod - random_read, kMillisecond));
        script.push_back(
            {.gap = static_cast<Nanoseconds>(sleep * random.between(1 - kJitter, 1 + kJitter)),
             .task = 5000,
             .cgroup = 50,
             .sector = random.below(options.sectors / kPage) * kPage,
             .sectors = kPage});
    }
    return {"steady_30", {script}};
}

Foreground on_off(const CaseOptions& options) {
    return {"on_off", {Bursts(options).write()}};
}

}  // namespace lull::sim
