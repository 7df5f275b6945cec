// SPDX-License-Identifier: MIT
#include "tests/disk/hard_disk.hpp"

#include <algorithm>
#include <random>

namespace lull::disk {

HardDisk::HardDisk(const HardDiskProfile& profile, const ModelOptions& options)
    : QueuedModel(options.capacity == 0 ? profile.geometry.sectors
                                        : std::min(options.capacity, profile.geometry.sectors),
                  options.queue_depth == 0 ? profile.queue_depth : options.queue_depth),
      profile_(profile),
      geometry_(profile.geometry),
      seek_(profile.seek, geometry_.cylinders()),
      phase_(static_cast<Nanoseconds>(std::mt19937_64(options.seed)() %
                                      static_cast<std::uint64_t>(profile.geometry.revolution))),
      segments_(profile.segments) {
    queue_.reserve(options.queue_depth == 0 ? profile.queue_depth : options.queue_depth);
}

void HardDisk::enter(const Request& request, Nanoseconds now) {
    Queued queued{.request = request, .entered = now};
    if (request.operation != Operation::kFlush) {
        const std::uint64_t block = profile_.block_sectors;
        queued.first = request.sector / block * block;
        queued.last = std::min((request.sector + request.sectors + block - 1) / block * block,
                               geometry_.sectors()) -
                      1;
        queued.start = geometry_.position(queued.first);
        queued.end = geometry_.end_position(queued.last);
        queued.track = geometry_.track(queued.start);
    }
    queue_.push_back(queued);
}

void HardDisk::dispatch(Nanoseconds now) {
    if (active_ || queue_.empty()) {
        return;
    }
    const Head head = this->head(now);
    std::size_t best = 0;
    Service service;
    double best_cost = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const Service candidate = plan(queue_[i], now, head);
        const double cost = static_cast<double>(candidate.start - now) -
                            profile_.age_weight * static_cast<double>(now - queue_[i].entered);
        if (i == 0 || cost < best_cost) {
            best = i;
            service = candidate;
            best_cost = cost;
        }
    }
    serve(queue_[best], service, now, head);
    active_ = Finished{queue_[best].request, service.end};
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(best));
}

std::optional<Nanoseconds> HardDisk::earliest() const {
    return active_ ? std::optional(active_->at) : std::nullopt;
}

QueuedModel::Finished HardDisk::take_earliest() {
    const Finished finished = *active_;
    active_.reset();
    return finished;
}

Nanoseconds HardDisk::head_position(Nanoseconds at) const {
    return std::clamp(stream_.from + at - stream_.since, stream_.from, stream_.limit);
}

Nanoseconds HardDisk::rotation_wait(Nanoseconds position, Nanoseconds at) const {
    const Nanoseconds turn = geometry_.revolution();
    const Nanoseconds wait = (position - at - phase_) % turn;
    return wait < 0 ? wait + turn : wait;
}

Nanoseconds HardDisk::bus_time(const Request& request) const {
    return static_cast<Nanoseconds>(static_cast<double>(request.sectors * kSectorSize) * 1e9 /
                                    profile_.bus_rate);
}

HardDisk::Head HardDisk::head(Nanoseconds at) const {
    const Nanoseconds position = head_position(at);
    return {position, geometry_.track(position), current_ ? filled(position) : Segment{}};
}

std::uint64_t HardDisk::seek_distance(const Queued& queued, const Head& head) const {
    const std::uint64_t from = head.track.cylinder;
    const std::uint64_t to = queued.track.cylinder;
    return to > from ? to - from : from - to;
}

HardDisk::Service HardDisk::plan(const Queued& queued, Nanoseconds now, const Head& head) const {
    const Nanoseconds understood = std::max(now, queued.entered + profile_.hit_overhead);
    if (queued.request.operation == Operation::kFlush) {
        return {Way::kNothing, now, understood};
    }
    const Service by_arm = plan_arm(queued, now, head);
    if (queued.request.operation == Operation::kWrite) {
        return by_arm;
    }
    const Nanoseconds sent = understood + bus_time(queued.request);
    if (find_segment(queued, head)) {
        return {Way::kBuffer, now, sent};
    }
    if (const auto stream = stream_for(queued, now, head)) {
        const Nanoseconds start = std::max(now, stream->since + queued.start - stream->from);
        const Nanoseconds end = std::max(sent, stream->since + queued.end - stream->from);
        if (end <= by_arm.end) {
            return {Way::kStream, start, end};
        }
    }
    return by_arm;
}

HardDisk::Service HardDisk::plan_arm(const Queued& queued, Nanoseconds now,
                                     const Head& head) const {
    const std::uint64_t distance = seek_distance(queued, head);
    Nanoseconds move = seek_.time(distance);
    if (distance == 0 && queued.track.head != head.track.head) {
        move = geometry_.head_switch();
    }
    if (queued.request.operation == Operation::kWrite) {
        move += move > 0 ? profile_.write_settle : 0;
    }
    const Nanoseconds there = std::max(now, queued.entered + profile_.overhead) + move;
    const Nanoseconds start = there + rotation_wait(queued.start, there);
    return {Way::kArm, start, start + queued.end - queued.start};
}

std::optional<std::size_t> HardDisk::find_segment(const Queued& queued, const Head& head) const {
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        const Segment& segment = current_ == i ? head.filled : segments_[i];
        if (queued.first >= segment.first && queued.last < segment.end) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<HardDisk::Stream> HardDisk::stream_for(const Queued& queued, Nanoseconds now,
                                                     const Head& head) const {
    if (!current_ || queued.first < head.filled.first || queued.start > stream_.limit) {
        return std::nullopt;
    }
    if (head.position < stream_.limit) {
        return stream_;
    }
    // Reading on has ended: the head has to catch the place again.
    const Nanoseconds ready = std::max(now, queued.entered + profile_.overhead);
    return Stream{ready + rotation_wait(stream_.limit, ready), stream_.limit, stream_.limit};
}

void HardDisk::serve(const Queued& queued, const Service& service, Nanoseconds now,
                     const Head& head) {
    const bool read = queued.request.operation == Operation::kRead;
    sequential_ = read && queued.first == last_end_ ? sequential_ + 1 : 1;
    last_end_ = read ? queued.last + 1 : 0;
    switch (service.way) {
        case Way::kNothing:
            return;
        case Way::kArm:
            serve_by_arm(queued, service, head);
            return;
        case Way::kStream:
            mutable_counters().cache_hits += head.position < stream_.limit ? 1 : 0;
            stream_ = *stream_for(queued, now, head);
            segments_[*current_].used = ++uses_;
            read_ahead_of(queued);
            return;
        case Way::kBuffer:
            serve_from_buffer(queued, service, head);
            return;
    }
}

void HardDisk::serve_by_arm(const Queued& queued, const Service& service, const Head& head) {
    if (seek_distance(queued, head) > 0) {
        ++mutable_counters().seeks;
    }
    stop_stream(head);
    stream_ = {service.start, queued.start, queued.end};
    if (queued.request.operation == Operation::kWrite) {
        for (Segment& segment : segments_) {
            if (queued.first < segment.end && segment.first <= queued.last) {
                segment = {};
            }
        }
        return;
    }
    const auto oldest =
        std::min_element(segments_.begin(), segments_.end(),
                         [](const Segment& a, const Segment& b) { return a.used < b.used; });
    *oldest = {queued.first, queued.first, ++uses_};
    current_ = static_cast<std::size_t>(oldest - segments_.begin());
    read_ahead_of(queued);
}

void HardDisk::serve_from_buffer(const Queued& queued, const Service& service, const Head& head) {
    ++mutable_counters().cache_hits;
    const std::size_t found = *find_segment(queued, head);
    segments_[found].used = ++uses_;
    if (current_ != found) {
        return;
    }
    const bool full = head.position >= stream_.limit;
    const std::uint64_t unread = geometry_.sectors_before(stream_.limit) - queued.last - 1;
    if (full && unread < profile_.segment_sectors / 2) {
        stream_ = {service.end + rotation_wait(stream_.limit, service.end), stream_.limit,
                   stream_.limit};
    }
    if (!full || unread < profile_.segment_sectors / 2) {
        read_ahead_of(queued);
    }
}

void HardDisk::stop_stream(const Head& head) {
    if (current_) {
        segments_[*current_] = head.filled;
        current_.reset();
    }
}

HardDisk::Segment HardDisk::filled(Nanoseconds position) const {
    Segment segment = segments_[*current_];
    segment.end = geometry_.sectors_before(position);
    // New sectors take the place of the oldest ones.
    const std::uint64_t room = profile_.segment_sectors;
    segment.first = std::max(segment.first, segment.end - std::min(segment.end, room));
    return segment;
}

void HardDisk::read_ahead_of(const Queued& queued) {
    if (sequential_ < profile_.read_ahead_after) {
        stream_.limit = std::max(stream_.limit, queued.end);
        return;
    }
    const std::uint64_t end = std::max(queued.last + 1, queued.first + profile_.segment_sectors);
    stream_.limit = std::max(stream_.limit, geometry_.end_position(end - 1));
}

}  // namespace lull::disk
