// SPDX-License-Identifier: MIT
#include "tests/sim/arbiter_rule.hpp"

#include <algorithm>

#include "tests/disk/workload.hpp"

namespace lull::sim {

namespace {

sched::ForegroundIo::Kind kind_of(IoKind kind) {
    using Kind = sched::ForegroundIo::Kind;
    switch (kind) {
        case IoKind::kRead:
            return Kind::kRead;
        case IoKind::kSyncWrite:
            return Kind::kSyncWrite;
        case IoKind::kAsyncWrite:
            return Kind::kAsyncWrite;
        case IoKind::kFlush:
            return Kind::kFlush;
    }
    return Kind::kRead;
}

sched::ArbiterSettings settings_of(const ArbiterOptions& options) {
    sched::ArbiterSettings settings;
    settings.disk = options.disk;
    settings.gate = options.gate;
    return settings;
}

sched::QueueOptions idle_queue() {
    sched::QueueOptions options;
    options.io_class = sched::IoClass::kIdle;
    return options;
}

}  // namespace

sched::DiskTraits traits_of(const DiskOptions& disk) {
    const auto make = [&disk] {
        return disk::make_model(
            disk.profile,
            {.capacity = disk.sectors, .queue_depth = disk.queue_depth, .seed = disk.seed});
    };
    const auto random = make();
    const auto sequential = make();
    constexpr double kNanoseconds = 1e9;
    sched::DiskTraits traits;
    traits.seeks = random->rotational();
    traits.random_service =
        static_cast<Nanoseconds>(kNanoseconds / disk::random_rate(*random, {.requests = 1000}));
    const double rate =
        disk::sequential_rate(*sequential, {.sectors = Background::kLongest, .requests = 200});
    traits.ns_per_sector = kNanoseconds * disk::kSectorSize / rate;
    const bool fast = traits.random_service < microseconds(80);
    traits.idle_depth = traits.seeks ? 1 : fast ? 4 : 2;
    return traits;
}

std::uint32_t Sizer::sectors(Nanoseconds longest, bool follows) const {
    const double time = static_cast<double>(longest) - (follows ? following_ : way_);
    const double sectors =
        std::clamp<double>(time / disk_.ns_per_sector, Background::kShortest, Background::kLongest);
    return static_cast<std::uint32_t>(sectors) / Background::kShortest * Background::kShortest;
}

void Sizer::done(std::uint32_t sectors, Nanoseconds service, bool followed) {
    constexpr double kWeight = 1.0 / 16;
    double& mean = followed ? following_ : way_;
    const double way = std::max(static_cast<double>(service) - disk_.ns_per_sector * sectors, 0.0);
    mean += (way - mean) * kWeight;
}

ArbiterRule::ArbiterRule(const ArbiterOptions& options)
    : options_(options),
      arbiter_(settings_of(options)),
      queue_(arbiter_.add_queue(idle_queue())),
      sizer_(options.disk) {}

void ArbiterRule::tell(const Io& io, bool arrival, Nanoseconds now) {
    news_.push_back({now + options_.lag,
                     arrival,
                     {io.cgroup, io.task, io.sector, io.sectors, kind_of(io.kind)}});
}

void ArbiterRule::deliver(Nanoseconds now) {
    for (; !news_.empty() && news_.front().at <= now; news_.pop_front()) {
        const News& news = news_.front();
        if (news.arrival) {
            undisturbed_ = false;
            arbiter_.foreground_arrived(news.io, now);
        } else {
            arbiter_.foreground_completed(news.io, now);
        }
    }
}

void ArbiterRule::foreground_arrived(const Io& io, Nanoseconds now) {
    tell(io, true, now);
    deliver(now);
}

void ArbiterRule::foreground_completed(const Io& io, Nanoseconds now) {
    tell(io, false, now);
    deliver(now);
}

void ArbiterRule::background_done(const Io& io, Nanoseconds service, Nanoseconds now) {
    deliver(now);
    sizer_.done(io.sectors, service, followed_.front());
    followed_.pop_front();
    arbiter_.done(queue_, {io.sector, io.sectors, service, sched::IoClass::kIdle}, now);
}

Action ArbiterRule::decide(const Background& background, Nanoseconds now) {
    deliver(now);
    if (!offered_) {
        const Background::Piece piece = background.peek(options_.sectors);
        arbiter_.has_work(queue_, {.sector = piece.sector, .sectors = piece.sectors}, now);
        offered_ = true;
    }
    const sched::Decision decision = arbiter_.decide(now);
    if (decision.kind == sched::Decision::Kind::kDispatch) {
        offered_ = false;
        const bool follows = undisturbed_ && background.position() == end_;
        const std::uint32_t sectors =
            std::min(options_.sectors, sizer_.sectors(decision.longest, follows));
        const Background::Piece piece = background.peek(sectors);
        end_ = piece.sector + piece.sectors;
        undisturbed_ = true;
        followed_.push_back(follows);
        return Action::background(sectors);
    }
    Nanoseconds wake = decision.kind == sched::Decision::Kind::kWake ? decision.at : sched::kNever;
    if (!news_.empty()) {
        wake = std::min(wake, news_.front().at);
    }
    return wake == sched::kNever ? Action::nothing() : Action::wake(wake);
}

}  // namespace lull::sim
