// SPDX-License-Identifier: MIT
// The platters of a drive: where a sector lies, under which angle, and how long a seek takes.
//
// All sectors lie on one spiral, measured in time: position(s) is how long a head that starts at
// sector 0 and never waits needs to reach sector s. Head and cylinder switches are part of the
// spiral, because drives skew their tracks by just that much. So reading n sectors in a row takes
// the difference of two positions, and the angle of a sector is its position modulo one revolution.
//
// Units: nanoseconds for positions and times, sectors of 512 bytes, bytes per second for rates.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/disk/model.hpp"

namespace lull::disk {

struct GeometryProfile {
    std::uint64_t sectors = 0;        ///< capacity of the whole drive
    Nanoseconds revolution = 0;       ///< time of one turn
    std::uint32_t heads = 1;          ///< recording surfaces
    std::uint32_t zones = 1;          ///< groups of cylinders with one track length, >= 1
    double first_rate = 0;            ///< sustained bytes/s in the zone of sector 0
    double last_rate = 0;             ///< sustained bytes/s in the zone of the last sector
    Nanoseconds head_switch = 0;      ///< skew between the tracks of a cylinder
    Nanoseconds cylinder_switch = 0;  ///< skew between neighbouring cylinders
};

/// A place of the arm.
struct Track {
    std::uint64_t cylinder = 0;
    std::uint32_t head = 0;
};

class Geometry {
  public:
    explicit Geometry(const GeometryProfile& profile);

    /// Where `sector` begins on the spiral. A sector past the end counts as the end.
    [[nodiscard]] Nanoseconds position(std::uint64_t sector) const;
    /// Where `sector` ends; less than position(sector + 1) at the end of a track.
    [[nodiscard]] Nanoseconds end_position(std::uint64_t sector) const;
    /// How many sectors have passed under a head that went from 0 to `position`.
    [[nodiscard]] std::uint64_t sectors_before(Nanoseconds position) const;
    /// The track that a head at `position` is on.
    [[nodiscard]] Track track(Nanoseconds position) const;

    [[nodiscard]] Nanoseconds revolution() const { return profile_.revolution; }
    [[nodiscard]] Nanoseconds head_switch() const { return profile_.head_switch; }
    [[nodiscard]] std::uint64_t cylinders() const { return cylinders_; }
    [[nodiscard]] std::uint64_t sectors() const { return profile_.sectors; }
    /// Sectors on a track of the zone that holds `sector`.
    [[nodiscard]] std::uint64_t track_length(std::uint64_t sector) const;

  private:
    struct Zone {
        std::uint64_t first_sector = 0;
        std::uint64_t first_cylinder = 0;
        std::uint64_t sectors_per_track = 0;
        Nanoseconds start = 0;
    };

    [[nodiscard]] const Zone& zone_of_sector(std::uint64_t sector) const;
    [[nodiscard]] const Zone& zone_of_position(Nanoseconds position) const;
    /// Where the sector at `offset` in `zone` begins, or ends.
    [[nodiscard]] Nanoseconds in_zone(const Zone& zone, std::uint64_t offset, bool end) const;

    GeometryProfile profile_;
    Nanoseconds track_time_ = 0;     ///< one turn and the switch to the next head
    Nanoseconds cylinder_time_ = 0;  ///< all tracks of a cylinder and the switch to the next
    std::uint64_t cylinders_ = 0;
    std::vector<Zone> zones_;
};

/// What a data sheet says about seeks: without rotation, settling included.
struct SeekProfile {
    Nanoseconds track_to_track = 0;
    Nanoseconds average = 0;  ///< over uniformly random pairs of cylinders
    Nanoseconds full_stroke = 0;
};

/// Time against distance: a + b sqrt(d) for short seeks (the arm accelerates all the way), c + e d
/// for long ones (it coasts), the straight part being the tangent where they meet. This is the
/// shape that Ruemmler and Wilkes measured (IEEE Computer, March 1994). The three published figures
/// fix it: a is the track-to-track time and the meeting point follows from the average. Where a
/// sheet's average is too high for that, the whole curve is a square root, a follows from the
/// average, and the track-to-track time holds for neighbours only.
class SeekCurve {
  public:
    SeekCurve(const SeekProfile& profile, std::uint64_t cylinders);

    [[nodiscard]] Nanoseconds time(std::uint64_t distance) const;  ///< 0 for distance 0

  private:
    Nanoseconds track_to_track_ = 0;
    double stroke_ = 1;   ///< the longest distance
    double meeting_ = 1;  ///< where the straight part begins, as a share of the stroke
    double meeting_root_ = 1;
    double offset_ = 0;
    double root_ = 0;
};

}  // namespace lull::disk
