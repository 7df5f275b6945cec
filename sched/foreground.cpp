// SPDX-License-Identifier: MIT
#include "sched/foreground.hpp"

#include <algorithm>

namespace lull::sched {

std::optional<Gap> Foreground::arrived(const ForegroundIo& io, Nanoseconds now) {
    std::optional<Gap> ended;
    if (in_flight_++ == 0) {
        ended = gap_;
        gap_.reset();
        busy_since_ = now;
        if (ended) {
            previous_gap_ = now - ended->begin;
            requests_ = 0;
        }
    }
    ++requests_;
    sequential_ = io.sector == end_ && io.sectors > 0;
    end_ = io.sector + io.sectors;
    if (io.task != task_) {
        task_ = io.task;
        task_requests_ = 0;
    }
    ++task_requests_;
    last_ = io;
    return ended;
}

void Foreground::completed(const ForegroundIo& io, Nanoseconds now) {
    if (in_flight_ == 0) {
        return;  // it was sent before we looked
    }
    if (--in_flight_ > 0) {
        return;
    }
    busy_ += now - busy_since_;
    gap_ = Gap{now, io, previous_gap_, requests_, sequential_, task_requests_ <= kFewRequests};
}

void Foreground::resynchronise(std::uint32_t in_flight, Nanoseconds now) {
    if (in_flight_ > 0 && in_flight == 0) {
        busy_ += now - busy_since_;
        gap_ = Gap{now, last_, previous_gap_, requests_, false, false};
    } else if (in_flight_ == 0 && in_flight > 0) {
        busy_since_ = now;
        gap_.reset();
    }
    in_flight_ = in_flight;
}

}  // namespace lull::sched
