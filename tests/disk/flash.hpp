// SPDX-License-Identifier: MIT
// Solid-state drives and memory cards: dies that work in parallel behind channels and an interface.
//
// - Logical pages are striped over the dies in turn; each die senses one page at a time, its queue
//   is served in order. So random reads collide on dies, sequential ones use them all.
// - Channels, the interface and the controller are ceilings of rate, shared in order of entry.
// - With write-back, a write completes when the drive has the data; pages are programmed behind it,
//   on the dies in turn, and delay the reads there. Writes wait once programming lags too far. A
//   flush waits for all programming. Without, a write completes when it is programmed.
// - Nothing here depends on chance; there is no garbage collection and no wear.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/disk/queued_model.hpp"

namespace lull::disk {

struct FlashProfile {
    std::string_view name;
    std::uint64_t sectors = 0;
    std::uint32_t dies = 1;
    std::uint32_t channels = 1;
    std::uint32_t page_sectors = 8;
    Nanoseconds sense = 0;           ///< a die reads a page
    Nanoseconds program = 0;         ///< a die writes a page
    double channel_rate = 0;         ///< bytes/s between a channel's dies and the controller
    double interface_rate = 0;       ///< bytes/s to and from the host
    Nanoseconds read_overhead = 0;   ///< latency of a read beside all of the above
    Nanoseconds write_overhead = 0;  ///< latency of a write beside the interface
    Nanoseconds read_interval = 0;   ///< the controller takes one read per so long
    Nanoseconds write_interval = 0;
    bool write_back = false;
    Nanoseconds write_lag = 0;        ///< with write-back: how far programming may lag
    Nanoseconds scattered_write = 0;  ///< more for a write that does not continue the last one
    std::uint32_t queue_depth = 1;
};

class Flash final : public QueuedModel {
  public:
    /// `options` as of make_model; the seed is not used.
    Flash(const FlashProfile& profile, const ModelOptions& options);

    [[nodiscard]] bool rotational() const override { return false; }

  protected:
    void enter(const Request& request, Nanoseconds now) override;
    void dispatch(Nanoseconds now) override;
    [[nodiscard]] std::optional<Nanoseconds> earliest() const override;
    Finished take_earliest() override;

  private:
    struct InFlight {
        Finished finished;
        std::uint64_t order = 0;  ///< of entry; the earlier completes first at equal times
    };

    [[nodiscard]] static bool later(const InFlight& a, const InFlight& b);
    [[nodiscard]] Nanoseconds read(const Request& request, Nanoseconds now);
    [[nodiscard]] Nanoseconds write(const Request& request, Nanoseconds now);
    /// When the controller turns to a request that enters at `now`.
    Nanoseconds accept(Nanoseconds now, Nanoseconds interval);
    /// When `bytes` have crossed the interface, ready for it at `ready`.
    Nanoseconds cross_interface(Nanoseconds ready, std::uint64_t sectors);
    /// Programs `pages` pages from `from` on; gives the end of the last.
    Nanoseconds program(std::uint64_t pages, Nanoseconds from);

    FlashProfile profile_;
    std::vector<InFlight> heap_;  ///< earliest on top
    std::uint64_t entered_ = 0;

    std::vector<Nanoseconds> die_free_;
    std::vector<Nanoseconds> channel_free_;
    Nanoseconds interface_free_ = 0;
    Nanoseconds controller_free_ = 0;

    std::uint64_t next_program_die_ = 0;
    std::uint64_t unprogrammed_ = 0;  ///< sectors that wait for their page to fill
    std::uint64_t write_end_ = 0;     ///< the sector behind the last write
    Nanoseconds programmed_ = 0;      ///< when all programming so far ends
};

}  // namespace lull::disk
