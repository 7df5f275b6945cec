// SPDX-License-Identifier: MIT
#include "tests/disk/flash.hpp"

#include <algorithm>

namespace lull::disk {

namespace {

Nanoseconds transfer_time(std::uint64_t sectors, double rate) {
    return static_cast<Nanoseconds>(static_cast<double>(sectors * kSectorSize) * 1e9 / rate);
}

}  // namespace

Flash::Flash(const FlashProfile& profile, const ModelOptions& options)
    : QueuedModel(
          options.capacity == 0 ? profile.sectors : std::min(options.capacity, profile.sectors),
          options.queue_depth == 0 ? profile.queue_depth : options.queue_depth),
      profile_(profile),
      die_free_(profile.dies),
      channel_free_(profile.channels) {
    heap_.reserve(options.queue_depth == 0 ? profile.queue_depth : options.queue_depth);
}

bool Flash::later(const InFlight& a, const InFlight& b) {
    return a.finished.at != b.finished.at ? a.finished.at > b.finished.at : a.order > b.order;
}

void Flash::enter(const Request& request, Nanoseconds now) {
    Nanoseconds at = now;
    switch (request.operation) {
        case Operation::kRead:
            at = read(request, now);
            break;
        case Operation::kWrite:
            at = write(request, now);
            break;
        case Operation::kFlush:
            at = std::max(now + profile_.write_overhead, programmed_);
            break;
    }
    heap_.push_back({{request, at}, entered_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void Flash::dispatch(Nanoseconds /*now*/) {
    // Each request was given to its dies when it entered.
}

std::optional<Nanoseconds> Flash::earliest() const {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().finished.at);
}

QueuedModel::Finished Flash::take_earliest() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Finished finished = heap_.back().finished;
    heap_.pop_back();
    return finished;
}

Nanoseconds Flash::accept(Nanoseconds now, Nanoseconds interval) {
    const Nanoseconds start = std::max(now, controller_free_);
    controller_free_ = start + interval;
    return start;
}

Nanoseconds Flash::cross_interface(Nanoseconds ready, std::uint64_t sectors) {
    interface_free_ =
        std::max(interface_free_, ready) + transfer_time(sectors, profile_.interface_rate);
    return interface_free_;
}

Nanoseconds Flash::read(const Request& request, Nanoseconds now) {
    const Nanoseconds start = accept(now, profile_.read_interval) + profile_.read_overhead;
    // The interface is booked as if no die were busy: a read behind a slow one overtakes it.
    Nanoseconds end = cross_interface(start + profile_.sense, request.sectors);
    const std::uint64_t last = request.sector + request.sectors;
    for (std::uint64_t sector = request.sector; sector < last;) {
        const std::uint64_t page = sector / profile_.page_sectors;
        const std::uint64_t page_end = std::min(last, (page + 1) * profile_.page_sectors);
        const std::uint64_t sectors = page_end - sector;
        const std::uint64_t die = page % profile_.dies;

        die_free_[die] = std::max(die_free_[die], start) + profile_.sense;
        const Nanoseconds transfer = transfer_time(sectors, profile_.channel_rate);
        Nanoseconds& channel = channel_free_[die % profile_.channels];
        channel = std::max(channel, start + profile_.sense) + transfer;
        const Nanoseconds here = std::max(die_free_[die] + transfer, channel);
        end = std::max(end, here + transfer_time(sectors, profile_.interface_rate));
        sector = page_end;
    }
    return end;
}

Nanoseconds Flash::write(const Request& request, Nanoseconds now) {
    const Nanoseconds start = accept(now, profile_.write_interval) + profile_.write_overhead;
    const Nanoseconds received = cross_interface(start, request.sectors);
    const bool scattered = request.sector != write_end_;
    write_end_ = request.sector + request.sectors;
    if (!profile_.write_back) {
        const std::uint64_t pages =
            (request.sectors + profile_.page_sectors - 1) / profile_.page_sectors;
        const Nanoseconds first = transfer_time(std::min(request.sectors, profile_.page_sectors),
                                                profile_.interface_rate);
        const Nanoseconds delay = scattered ? profile_.scattered_write : 0;
        return std::max(received, program(pages, start + first + delay));
    }
    unprogrammed_ += request.sectors;
    const Nanoseconds end = program(unprogrammed_ / profile_.page_sectors, received);
    unprogrammed_ %= profile_.page_sectors;
    return std::max(received, end - profile_.write_lag);
}

Nanoseconds Flash::program(std::uint64_t pages, Nanoseconds from) {
    Nanoseconds end = from;
    for (std::uint64_t i = 0; i < pages; ++i) {
        Nanoseconds& die = die_free_[next_program_die_++ % profile_.dies];
        die = std::max(die, from) + profile_.program;
        end = std::max(end, die);
    }
    programmed_ = std::max(programmed_, end);
    return end;
}

}  // namespace lull::disk
