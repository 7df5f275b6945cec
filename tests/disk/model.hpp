// SPDX-License-Identifier: MIT
// A disk in simulated time: requests go in with their arrival time, completions come out with
// theirs. Pure: no clock, no I/O, no randomness that is not seeded. Two users: the simulator of the
// arbiter tests, and the FUSE file (server.hpp) that serves it in real time behind a loop device.
//
// Units: times are nanoseconds on the caller's clock, never going back; sectors are 512 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lull::disk {

using Nanoseconds = std::int64_t;
inline constexpr std::uint64_t kSectorSize = 512;

enum class Operation : std::uint8_t { kRead, kWrite, kFlush };

struct Request {
    std::uint64_t id = 0;  ///< the caller's; handed back at completion
    Operation operation = Operation::kRead;
    std::uint64_t sector = 0;
    std::uint32_t sectors = 0;  ///< >= 1, 0 only for a flush
};

struct Completion {
    std::uint64_t id = 0;
    Nanoseconds at = 0;
};

/// What the disk did since it was made.
struct Counters {
    std::uint64_t reads = 0;  ///< completed requests
    std::uint64_t writes = 0;
    std::uint64_t sectors_read = 0;
    std::uint64_t sectors_written = 0;
    std::uint64_t seeks = 0;       ///< the head changed its cylinder (0 on flash)
    std::uint64_t cache_hits = 0;  ///< reads served from the drive's own buffer
    Nanoseconds busy = 0;          ///< time with at least one request inside
};

/// The interface of every model. A request submitted is inside until its completion is taken out.
class Model {
  public:
    virtual ~Model() = default;

    /// Takes a request at time `now`. Any number may be inside; the model serves as many at once
    /// as the drive's command queue holds and keeps the rest waiting in order of arrival.
    virtual void submit(const Request& request, Nanoseconds now) = 0;
    /// The time of the earliest completion that is already decided, if any request is inside.
    [[nodiscard]] virtual std::optional<Nanoseconds> next_completion() const = 0;
    /// Lets time pass to `now` and hands out every completion due by then, in order of time.
    virtual std::vector<Completion> advance(Nanoseconds now) = 0;

    [[nodiscard]] virtual const Counters& counters() const = 0;
    [[nodiscard]] virtual std::uint64_t sectors() const = 0;  ///< capacity
    [[nodiscard]] virtual bool rotational() const = 0;
};

/// The profiles by name: hdd-7200, hdd-5400, hdd-2004, hdd-2012, dvd, sd-card, sata-ssd, nvme.
/// Null for a name that is not among them. `capacity` in sectors, 0 for the profile's own; a
/// smaller one uses the outer (fast) part of the same drive, so that seeks stay as short as they
/// would be there. `queue_depth` 0 takes the profile's own.
struct ModelOptions {
    std::uint64_t capacity = 0;
    std::uint32_t queue_depth = 0;
    std::uint64_t seed = 1;
};
[[nodiscard]] std::unique_ptr<Model> make_model(const std::string& profile,
                                                const ModelOptions& options = {});
[[nodiscard]] const std::vector<std::string>& profile_names();

}  // namespace lull::disk
