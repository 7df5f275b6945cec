// SPDX-License-Identifier: MIT
// A Model in service: one that can be exchanged and put out of use while requests are inside, and
// that keeps the books. Pure, like the models.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tests/disk/model.hpp"
#include "tests/disk/status.hpp"

namespace lull::disk {

class Drive {
  public:
    explicit Drive(std::unique_ptr<Model> model) : model_(std::move(model)) {}

    /// True when the request went inside and will come out of advance(); false when the timing is
    /// off and the caller answers it at once.
    [[nodiscard]] bool submit(const Request& request, Nanoseconds now);
    [[nodiscard]] std::optional<Nanoseconds> next_completion() const;
    [[nodiscard]] std::vector<Completion> advance(Nanoseconds now);

    /// Requests that come later take no time (or take it again). What is inside stays its time.
    void set_timing(bool on) { timing_ = on; }
    /// Puts another model in place. The old one finishes what is inside, as far ahead of the clock
    /// as that takes; the completions are due now.
    [[nodiscard]] std::vector<Completion> replace(std::unique_ptr<Model> model);

    void add_lateness(Nanoseconds late) { status_.lateness.add(late); }
    [[nodiscard]] Status status() const;

  private:
    std::unique_ptr<Model> model_;
    bool timing_ = true;
    Status status_;  // its counters are those of the models that were replaced
};

}  // namespace lull::disk
