// SPDX-License-Identifier: MIT
// The ceiling: a rule that knows the length of each gap and the request that ends it, and can try
// things on a copy of the disk. It fills a gap with requests that all end in time, if what that
// costs the foreground (its head has moved) is worth it at a price. With the price at which the
// whole run costs 1 % no rule that decides gap by gap does better, except by ending late: that it
// never does.
#pragma once

#include <deque>
#include <memory>

#include "tests/sim/rule.hpp"

namespace lull::sim {

struct ClairvoyantOptions {
    std::uint32_t depth = 1;                       ///< requests in flight
    std::uint32_t sectors = Background::kLongest;  ///< of a request where there is time
    /// Foreground nanoseconds that a sector may cost.
    double price = 1e9;
};

class Clairvoyant final : public PassThrough {
  public:
    explicit Clairvoyant(const ClairvoyantOptions& options) : options_(options) {}
    void begin(const Future& future) override { future_ = &future; }

  protected:
    Action decide(const Background& background, Nanoseconds now) override;

  private:
    void plan(const Future::Arrival& arrival, const Background& background, Nanoseconds now);

    ClairvoyantOptions options_;
    const Future* future_ = nullptr;
    Nanoseconds planned_for_ = -1;  ///< the arrival that ends the gap
    std::deque<std::uint32_t> plan_;
};

}  // namespace lull::sim
