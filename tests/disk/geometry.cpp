// SPDX-License-Identifier: MIT
#include "tests/disk/geometry.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace lull::disk {

namespace {

/// Of a curve without offset whose full stroke takes 1: its average, if it is straight from `k` on.
double average_share(double k) {
    const double root = std::sqrt(k);
    const double scale = 2 * root / (1 + k);
    const double curved = 2 * (2.0 / 3 * k * root - 2.0 / 5 * k * k * root);
    const double straight = root * (1 - k) * (1 - k) + (1 - k) * (1 - k) * (1 - k) / (6 * root);
    return scale * (curved + straight);
}

double meeting_point(double share) {
    double low = 1e-9;
    double high = 1;
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (average_share(middle) < share ? low : high) = middle;
    }
    return high;
}

}  // namespace

Geometry::Geometry(const GeometryProfile& profile)
    : profile_(profile),
      track_time_(profile.revolution + profile.head_switch),
      cylinder_time_(profile.revolution * profile.heads +
                     profile.head_switch * (profile.heads - 1) + profile.cylinder_switch) {
    std::uint64_t sum = 0;
    zones_.resize(profile.zones);
    for (std::uint32_t i = 0; i < profile.zones; ++i) {
        const double share = profile.zones > 1 ? static_cast<double>(i) / (profile.zones - 1) : 0;
        const double rate = profile.first_rate + (profile.last_rate - profile.first_rate) * share;
        const double bytes = rate * static_cast<double>(cylinder_time_) / 1e9;
        zones_[i].sectors_per_track =
            static_cast<std::uint64_t>(std::lround(bytes / kSectorSize / profile.heads));
        sum += zones_[i].sectors_per_track * profile.heads;
    }
    assert(sum > 0);
    const std::uint64_t cylinders_per_zone = (profile.sectors + sum - 1) / sum;
    cylinders_ = cylinders_per_zone * profile.zones;
    for (std::uint32_t i = 1; i < profile.zones; ++i) {
        const Zone& before = zones_[i - 1];
        zones_[i].first_sector =
            before.first_sector + before.sectors_per_track * profile.heads * cylinders_per_zone;
        zones_[i].first_cylinder = before.first_cylinder + cylinders_per_zone;
        zones_[i].start =
            before.start + cylinder_time_ * static_cast<Nanoseconds>(cylinders_per_zone);
    }
}

const Geometry::Zone& Geometry::zone_of_sector(std::uint64_t sector) const {
    return *std::prev(std::upper_bound(
        zones_.begin() + 1, zones_.end(), sector,
        [](std::uint64_t value, const Zone& zone) { return value < zone.first_sector; }));
}

const Geometry::Zone& Geometry::zone_of_position(Nanoseconds position) const {
    return *std::prev(
        std::upper_bound(zones_.begin() + 1, zones_.end(), position,
                         [](Nanoseconds value, const Zone& zone) { return value < zone.start; }));
}

Nanoseconds Geometry::in_zone(const Zone& zone, std::uint64_t offset, bool end) const {
    const std::uint64_t track = offset / zone.sectors_per_track;
    const std::uint64_t index = offset % zone.sectors_per_track + (end ? 1 : 0);
    const auto cylinder = static_cast<Nanoseconds>(track / profile_.heads);
    const auto head = static_cast<Nanoseconds>(track % profile_.heads);
    const auto turned = static_cast<Nanoseconds>(
        index * static_cast<std::uint64_t>(profile_.revolution) / zone.sectors_per_track);
    return zone.start + cylinder * cylinder_time_ + head * track_time_ + turned;
}

Nanoseconds Geometry::position(std::uint64_t sector) const {
    if (sector >= profile_.sectors) {
        return end_position(profile_.sectors - 1);
    }
    const Zone& zone = zone_of_sector(sector);
    return in_zone(zone, sector - zone.first_sector, false);
}

Nanoseconds Geometry::end_position(std::uint64_t sector) const {
    sector = std::min(sector, profile_.sectors - 1);
    const Zone& zone = zone_of_sector(sector);
    return in_zone(zone, sector - zone.first_sector, true);
}

std::uint64_t Geometry::sectors_before(Nanoseconds position) const {
    const Zone& zone = zone_of_position(position);
    const Nanoseconds inside = position - zone.start;
    const Nanoseconds cylinder = inside / cylinder_time_;
    const Nanoseconds in_cylinder = inside % cylinder_time_;
    const Nanoseconds head = std::min<Nanoseconds>(in_cylinder / track_time_, profile_.heads - 1);
    const Nanoseconds in_track = in_cylinder - head * track_time_;
    // The boundary of sector i was rounded down, so one more nanosecond belongs to it.
    const std::uint64_t index =
        std::min((static_cast<std::uint64_t>(in_track) * zone.sectors_per_track +
                  zone.sectors_per_track - 1) /
                     static_cast<std::uint64_t>(profile_.revolution),
                 zone.sectors_per_track);
    const auto track =
        static_cast<std::uint64_t>(cylinder) * profile_.heads + static_cast<std::uint64_t>(head);
    return std::min(zone.first_sector + track * zone.sectors_per_track + index, profile_.sectors);
}

Track Geometry::track(Nanoseconds position) const {
    const Zone& zone = zone_of_position(position);
    const Nanoseconds inside = position - zone.start;
    const Nanoseconds head =
        std::min<Nanoseconds>(inside % cylinder_time_ / track_time_, profile_.heads - 1);
    return {zone.first_cylinder + static_cast<std::uint64_t>(inside / cylinder_time_),
            static_cast<std::uint32_t>(head)};
}

std::uint64_t Geometry::track_length(std::uint64_t sector) const {
    return zone_of_sector(sector).sectors_per_track;
}

SeekCurve::SeekCurve(const SeekProfile& profile, std::uint64_t cylinders)
    : track_to_track_(profile.track_to_track), stroke_(static_cast<double>(cylinders - 1)) {
    const auto shortest = static_cast<double>(profile.track_to_track);
    const auto average = static_cast<double>(profile.average);
    const auto full = static_cast<double>(profile.full_stroke);
    const double share = (average - shortest) / (full - shortest);
    if (share < average_share(1)) {
        meeting_ = meeting_point(share);
        offset_ = shortest;
    } else {
        offset_ = full - (full - average) / (1 - average_share(1));
    }
    meeting_root_ = std::sqrt(meeting_);
    root_ = (full - offset_) * 2 * meeting_root_ / (1 + meeting_);
}

Nanoseconds SeekCurve::time(std::uint64_t distance) const {
    if (distance <= 1) {
        return distance == 0 ? 0 : track_to_track_;
    }
    const double share = static_cast<double>(distance) / stroke_;
    const double shape = share < meeting_
                             ? std::sqrt(share)
                             : meeting_root_ + (share - meeting_) / (2 * meeting_root_);
    return static_cast<Nanoseconds>(offset_ + root_ * shape);
}

}  // namespace lull::disk
