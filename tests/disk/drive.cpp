// SPDX-License-Identifier: MIT
#include "tests/disk/drive.hpp"

#include <algorithm>

namespace lull::disk {
namespace {

Counters sum(const Counters& a, const Counters& b) {
    Counters both;
    both.reads = a.reads + b.reads;
    both.writes = a.writes + b.writes;
    both.sectors_read = a.sectors_read + b.sectors_read;
    both.sectors_written = a.sectors_written + b.sectors_written;
    both.seeks = a.seeks + b.seeks;
    both.cache_hits = a.cache_hits + b.cache_hits;
    both.busy = a.busy + b.busy;
    return both;
}

}  // namespace

bool Drive::submit(const Request& request, Nanoseconds now) {
    if (!timing_) {
        ++status_.bypassed;
        return false;
    }
    model_->submit(request, now);
    status_.max_in_flight = std::max(status_.max_in_flight, ++status_.in_flight);
    return true;
}

std::optional<Nanoseconds> Drive::next_completion() const {
    return status_.in_flight == 0 ? std::nullopt : model_->next_completion();
}

std::vector<Completion> Drive::advance(Nanoseconds now) {
    auto done = model_->advance(now);
    status_.in_flight -= done.size();
    return done;
}

std::vector<Completion> Drive::replace(std::unique_ptr<Model> model) {
    std::vector<Completion> all;
    while (const auto next = next_completion()) {
        const auto done = advance(*next);
        all.insert(all.end(), done.begin(), done.end());
    }
    status_.counters = sum(status_.counters, model_->counters());
    model_ = std::move(model);
    return all;
}

Status Drive::status() const {
    Status now = status_;
    now.counters = sum(status_.counters, model_->counters());
    return now;
}

}  // namespace lull::disk
