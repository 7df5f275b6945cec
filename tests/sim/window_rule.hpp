// SPDX-License-Identifier: MIT
// The plain rule that all others are measured against: wait a fixed window after the last
// foreground completion, then send requests of one size until the foreground comes. It needs
// nothing of sched/, so it can check what sched/ does with the same window.
#pragma once

#include "tests/sim/rule.hpp"

namespace lull::sim {

struct WindowOptions {
    Nanoseconds window = 50 * kMillisecond;
    std::uint32_t sectors = 256;
    std::uint32_t depth = 1;  ///< requests in flight
};

class WindowRule final : public PassThrough {
  public:
    explicit WindowRule(const WindowOptions& options) : options_(options) {}

  protected:
    void foreground_arrived(const Io& /*io*/, Nanoseconds /*now*/) override { ++in_flight_; }
    void foreground_completed(const Io& /*io*/, Nanoseconds now) override {
        --in_flight_;
        last_ = now;
    }
    Action decide(const Background& /*background*/, Nanoseconds now) override {
        if (in_flight_ > 0 || background_in_flight() >= options_.depth) {
            return Action::nothing();
        }
        const Nanoseconds opens = last_ ? *last_ + options_.window : now;
        return opens > now ? Action::wake(opens) : Action::background(options_.sectors);
    }

  private:
    WindowOptions options_;
    std::uint32_t in_flight_ = 0;
    std::optional<Nanoseconds> last_;  ///< nothing was seen before: the disk is free
};

}  // namespace lull::sim
