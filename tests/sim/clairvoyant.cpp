// SPDX-License-Identifier: MIT
#include "tests/sim/clairvoyant.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/simulator.hpp"

namespace lull::sim {

namespace {

/// When the next few requests of the foreground would be over, if they began on this disk: what
/// they find in the drive's buffer counts too.
Nanoseconds end_of_next(const disk::Model& model, const Future::Arrival& arrival) {
    constexpr std::size_t kLook = 8;
    constexpr std::uint64_t kId = 1ULL << 63;
    const auto copy = copy_of(model);
    Nanoseconds now = arrival.at;
    for (std::size_t i = 0; i < std::min(kLook, arrival.steps.size()); ++i) {
        const Step& step = arrival.steps[i];
        if (i > 0) {
            if (step.gap_kind != GapKind::kThink) {
                break;
            }
            now += step.gap;
        }
        copy->advance(now);
        disk::Request request = request_of(step);
        request.id = kId + i;
        copy->submit(request, now);
        for (bool done = false; !done;) {
            for (const disk::Completion& one : copy->advance(*copy->next_completion())) {
                done = done || one.id == request.id;
                now = one.at;
            }
        }
    }
    return now;
}

/// Fills a disk from `now` to `end` with what the background has next, all of it done by `end`.
class Filling {
  public:
    Filling(std::unique_ptr<disk::Model> disk, const Background& background,
            const ClairvoyantOptions& options, Nanoseconds now, Nanoseconds end)
        : disk_(std::move(disk)), background_(background), options_(options), now_(now), end_(end) {
        while (send()) {
            if (in_flight_ == options_.depth) {
                now_ = *disk_->next_completion();
                in_flight_ -= static_cast<std::uint32_t>(disk_->advance(now_).size());
            }
        }
    }

    [[nodiscard]] const std::deque<std::uint32_t>& sizes() const { return sizes_; }
    [[nodiscard]] std::uint64_t sectors() const { return sectors_; }
    [[nodiscard]] const disk::Model& disk() const { return *disk_; }

  private:
    bool send() {
        for (std::uint32_t wanted = options_.sectors; wanted >= Background::kShortest;
             wanted /= 2) {
            const Background::Piece piece = background_.peek(wanted);
            if (piece.sectors < wanted && wanted > Background::kShortest &&
                wanted / 2 >= piece.sectors) {
                continue;  // the run is shorter: the same request again
            }
            const disk::Request request{
                .id = ++id_, .sector = piece.sector, .sectors = piece.sectors};
            if (!in_time(request)) {
                continue;
            }
            disk_->submit(request, now_);
            (void)background_.take(wanted);
            ++in_flight_;
            sizes_.push_back(wanted);
            sectors_ += piece.sectors;
            return true;
        }
        return false;
    }
    [[nodiscard]] bool in_time(const disk::Request& request) const {
        // No profile needs that long for a few requests of the largest size.
        constexpr Nanoseconds kAmple = 200 * kMillisecond;
        if (end_ - now_ > kAmple) {
            return true;
        }
        const auto copy = copy_of(*disk_);
        copy->submit(request, now_);
        return copy->advance(end_).size() == in_flight_ + 1;
    }

    std::unique_ptr<disk::Model> disk_;
    Background background_;
    ClairvoyantOptions options_;
    Nanoseconds now_;
    Nanoseconds end_;
    std::uint32_t in_flight_ = 0;
    std::uint64_t id_ = 0;
    std::deque<std::uint32_t> sizes_;
    std::uint64_t sectors_ = 0;
};

}  // namespace

void Clairvoyant::plan(const Future::Arrival& arrival, const Background& background,
                       Nanoseconds now) {
    const auto disk = future_->disk();
    const Filling filling(copy_of(*disk), background, options_, now, arrival.at);
    if (filling.sectors() == 0) {
        return;
    }
    const Nanoseconds delay = end_of_next(filling.disk(), arrival) - end_of_next(*disk, arrival);
    if (static_cast<double>(delay) <= options_.price * static_cast<double>(filling.sectors())) {
        plan_ = filling.sizes();
    }
}

Action Clairvoyant::decide(const Background& background, Nanoseconds now) {
    const auto arrival = future_->next_arrival();
    // What is done in a pause does not count.
    if (!arrival || arrival->gap == GapKind::kPause || background_in_flight() >= options_.depth) {
        return Action::nothing();
    }
    if (arrival->at != planned_for_) {
        planned_for_ = arrival->at;
        plan_.clear();
        plan(*arrival, background, now);
    }
    if (plan_.empty()) {
        return Action::nothing();
    }
    const std::uint32_t sectors = plan_.front();
    plan_.pop_front();
    return Action::background(sectors);
}

}  // namespace lull::sim
