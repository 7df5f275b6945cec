// SPDX-License-Identifier: MIT
#include "tests/disk/queued_model.hpp"

#include <algorithm>
#include <utility>

namespace lull::disk {

QueuedModel::QueuedModel(std::uint64_t sectors, std::uint32_t queue_depth)
    : sectors_(sectors), queue_depth_(queue_depth) {}

void QueuedModel::submit(const Request& request, Nanoseconds now) {
    run_to(now);
    if (queued_ < queue_depth_) {
        ++queued_;
        enter(request, now_);
        dispatch(now_);
    } else {
        waiting_.push_back(request);
    }
}

std::optional<Nanoseconds> QueuedModel::next_completion() const {
    return done_.empty() ? earliest() : done_.front().at;
}

std::vector<Completion> QueuedModel::advance(Nanoseconds now) {
    run_to(now);
    return std::exchange(done_, {});
}

void QueuedModel::run_to(Nanoseconds now) {
    for (auto at = earliest(); at && *at <= now; at = earliest()) {
        counters_.busy += *at - now_;
        now_ = *at;
        finish(take_earliest());
        --queued_;
        if (!waiting_.empty()) {
            ++queued_;
            enter(waiting_.front(), now_);
            waiting_.pop_front();
        }
        dispatch(now_);
    }
    if (now > now_) {
        counters_.busy += queued_ > 0 ? now - now_ : 0;
        now_ = now;
    }
}

void QueuedModel::finish(const Finished& finished) {
    const Request& request = finished.request;
    if (request.operation == Operation::kRead) {
        ++counters_.reads;
        counters_.sectors_read += request.sectors;
    } else if (request.operation == Operation::kWrite) {
        ++counters_.writes;
        counters_.sectors_written += request.sectors;
    }
    done_.push_back({request.id, finished.at});
}

}  // namespace lull::disk
