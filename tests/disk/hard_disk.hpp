// SPDX-License-Identifier: MIT
// A drive with one arm over spinning platters: hard disks, and optical drives as slow ones.
//
// - The platter turns with the caller's clock. A request that comes just after its sector has
// passed
//   waits a turn for it.
// - One request is served at a time. With several in the command queue, the next is the one whose
//   data can begin earliest (shortest positioning time first), less a bonus for its age.
// - After a read the head reads on into its segment of the buffer, until another request needs the
//   arm or the segment is full. A read that is in the buffer, or will come past sooner than the arm
//   could get there otherwise, is served from it.
// - Counters::seeks counts moves of the arm to another cylinder for a request; the steps from track
//   to track while it reads or writes on are not among them.
// - The write cache is off, as after `hdparm -W0`: a write completes when it is on the platter, a
//   flush has nothing left to do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/disk/geometry.hpp"
#include "tests/disk/queued_model.hpp"

namespace lull::disk {

struct HardDiskProfile {
    std::string_view name;
    GeometryProfile geometry;
    SeekProfile seek;
    Nanoseconds write_settle = 0;       ///< a write's seek takes that much longer than a read's
    Nanoseconds overhead = 0;           ///< of a command that needs the arm
    Nanoseconds hit_overhead = 0;       ///< of one that the buffer answers
    double bus_rate = 0;                ///< bytes/s from the buffer to the host
    std::uint32_t segments = 1;         ///< of the buffer
    std::uint32_t segment_sectors = 0;  ///< how far a read reads on; 0: not at all
    /// Sequential commands after which it does: most drives wait until they know a stream, and lose
    /// a turn with each command before. 1: at once.
    std::uint32_t read_ahead_after = 1;
    std::uint32_t block_sectors = 1;  ///< what the medium can be read or written in
    std::uint32_t queue_depth = 1;
    double age_weight = 0;  ///< ns of positioning that one ns of waiting outweighs
};

class HardDisk final : public QueuedModel {
  public:
    /// `options` as of make_model; the seed chooses the angle at time 0.
    HardDisk(const HardDiskProfile& profile, const ModelOptions& options);

    [[nodiscard]] bool rotational() const override { return true; }
    [[nodiscard]] const Geometry& geometry() const { return geometry_; }
    [[nodiscard]] const SeekCurve& seek_curve() const { return seek_; }

  protected:
    void enter(const Request& request, Nanoseconds now) override;
    void dispatch(Nanoseconds now) override;
    [[nodiscard]] std::optional<Nanoseconds> earliest() const override;
    Finished take_earliest() override;

  private:
    /// A request in the command queue, with what choosing among many needs at hand.
    struct Queued {
        Request request;
        Nanoseconds entered = 0;
        std::uint64_t first = 0;  ///< sectors on the medium, rounded out to blocks
        std::uint64_t last = 0;   ///< inclusive
        Nanoseconds start = 0;    ///< of `first` on the spiral
        Nanoseconds end = 0;      ///< of `last` on the spiral
        Track track{};
    };
    /// Sectors [first, end) in the buffer.
    struct Segment {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        std::uint64_t used = 0;  ///< greater is more recent
    };
    /// The head on its way along the spiral: at `from` until `since`, then on, up to `limit`.
    struct Stream {
        Nanoseconds since = 0;
        Nanoseconds from = 0;
        Nanoseconds limit = 0;
    };
    /// Where the head is when a request is chosen.
    struct Head {
        Nanoseconds position = 0;  ///< on the spiral
        Track track{};
        Segment filled;  ///< what the segment of the stream holds; nothing without a stream
    };
    enum class Way : std::uint8_t { kNothing, kBuffer, kStream, kArm };
    struct Service {
        Way way = Way::kArm;
        Nanoseconds start = 0;  ///< data begins
        Nanoseconds end = 0;    ///< the request completes
    };

    [[nodiscard]] Head head(Nanoseconds at) const;
    [[nodiscard]] Nanoseconds head_position(Nanoseconds at) const;
    /// How long from `at` until the place `position` comes under the head.
    [[nodiscard]] Nanoseconds rotation_wait(Nanoseconds position, Nanoseconds at) const;
    [[nodiscard]] Nanoseconds bus_time(const Request& request) const;
    [[nodiscard]] std::uint64_t seek_distance(const Queued& queued, const Head& head) const;

    [[nodiscard]] Service plan(const Queued& queued, Nanoseconds now, const Head& head) const;
    [[nodiscard]] Service plan_arm(const Queued& queued, Nanoseconds now, const Head& head) const;
    /// The stream that serves `queued`, if following it is possible at all.
    [[nodiscard]] std::optional<Stream> stream_for(const Queued& queued, Nanoseconds now,
                                                   const Head& head) const;
    [[nodiscard]] std::optional<std::size_t> find_segment(const Queued& queued,
                                                          const Head& head) const;

    void serve(const Queued& queued, const Service& service, Nanoseconds now, const Head& head);
    void serve_by_arm(const Queued& queued, const Service& service, const Head& head);
    void serve_from_buffer(const Queued& queued, const Service& service, const Head& head);
    /// The head leaves the stream; what was read stays in the buffer.
    void stop_stream(const Head& head);
    [[nodiscard]] Segment filled(Nanoseconds position) const;
    /// Once enough reads followed each other. Reading on ends when the segment holds nothing older
    /// than `queued`.
    void read_ahead_of(const Queued& queued);

    HardDiskProfile profile_;
    Geometry geometry_;
    SeekCurve seek_;
    Nanoseconds phase_ = 0;  ///< angle at time 0

    std::vector<Queued> queue_;  ///< in order of entry
    std::optional<Finished> active_;

    Stream stream_;
    std::vector<Segment> segments_;
    std::optional<std::size_t> current_;  ///< the segment that the stream fills
    std::uint64_t uses_ = 0;
    std::uint64_t last_end_ = 0;    ///< sector behind the last read
    std::uint32_t sequential_ = 0;  ///< reads that followed each other, the last included
};

}  // namespace lull::disk
