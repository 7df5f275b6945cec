// SPDX-License-Identifier: MIT
// A scheduler under test: it sees the requests of the foreground and decides what goes to the disk.
// An I/O scheduler of a kernel may hold foreground requests back; a gate sends each at once and
// decides about the background only (PassThrough).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "tests/sim/background.hpp"
#include "tests/sim/script.hpp"

namespace lull::sim {

/// A request, from its arrival to its completion.
struct Io {
    std::uint64_t id = 0;
    bool background = false;
    IoKind kind = IoKind::kRead;
    bool metadata = false;
    std::uint32_t script = 0;
    std::uint32_t task = 0;
    std::uint64_t cgroup = 0;
    std::uint64_t sector = 0;
    std::uint32_t sectors = 0;
};

struct Action {
    enum class Kind : std::uint8_t {
        kNothing,     ///< wait for an event
        kForeground,  ///< send the foreground request `id`; then ask again
        kBackground,  ///< send a background request of at most `sectors`; then ask again
        kWake,        ///< ask again at `at`, or after the next event if that is earlier
    };
    Kind kind = Kind::kNothing;
    std::uint64_t id = 0;
    std::uint32_t sectors = 0;
    Nanoseconds at = 0;

    static Action nothing() { return {}; }
    static Action foreground(std::uint64_t id) { return {Kind::kForeground, id, 0, 0}; }
    static Action background(std::uint32_t sectors) { return {Kind::kBackground, 0, sectors, 0}; }
    static Action wake(Nanoseconds at) { return {Kind::kWake, 0, 0, at}; }
};

/// What only a clairvoyant may look at.
class Future {
  public:
    virtual ~Future() = default;

    struct Arrival {
        Nanoseconds at = 0;
        GapKind gap = GapKind::kThink;  ///< that it ends
        /// Its script from this request on.
        std::span<const Step> steps;
    };
    /// The next foreground request. Nothing while one is in flight, since what follows depends on
    /// its completion, and at the end.
    [[nodiscard]] virtual std::optional<Arrival> next_arrival() const = 0;
    /// A disk in the same state, to try things on.
    [[nodiscard]] virtual std::unique_ptr<disk::Model> disk() const = 0;
};

class Rule {
  public:
    virtual ~Rule() = default;

    /// Before anything else; `future` outlives the rule's use.
    virtual void begin(const Future& /*future*/) {}
    /// A foreground request arrived. Nothing goes to the disk before next() says so.
    virtual void arrived(const Io& io, Nanoseconds now) = 0;
    /// A request is complete; `service` is the time since it was sent to the disk.
    virtual void completed(const Io& io, Nanoseconds service, Nanoseconds now) = 0;
    /// A task of the foreground ended.
    virtual void exited(std::uint32_t /*task*/, Nanoseconds /*now*/) {}
    /// Asked after every event until it is neither kForeground nor kBackground.
    virtual Action next(const Background& background, Nanoseconds now) = 0;
};

/// Sends each foreground request at once.
class PassThrough : public Rule {
  public:
    void arrived(const Io& io, Nanoseconds now) final {
        arrived_.push_back(io.id);
        foreground_arrived(io, now);
    }
    void completed(const Io& io, Nanoseconds service, Nanoseconds now) final {
        if (io.background) {
            --background_in_flight_;
            background_done(io, service, now);
        } else {
            foreground_completed(io, now);
        }
    }
    Action next(const Background& background, Nanoseconds now) final {
        if (!arrived_.empty()) {
            const std::uint64_t id = arrived_.front();
            arrived_.pop_front();
            return Action::foreground(id);
        }
        const Action action = decide(background, now);
        if (action.kind == Action::Kind::kBackground) {
            ++background_in_flight_;
        }
        return action;
    }

  protected:
    [[nodiscard]] std::uint32_t background_in_flight() const { return background_in_flight_; }

    virtual void foreground_arrived(const Io& /*io*/, Nanoseconds /*now*/) {}
    virtual void foreground_completed(const Io& /*io*/, Nanoseconds /*now*/) {}
    virtual void background_done(const Io& /*io*/, Nanoseconds /*service*/, Nanoseconds /*now*/) {}
    /// kBackground, kWake or kNothing.
    virtual Action decide(const Background& background, Nanoseconds now) = 0;

  private:
    std::deque<std::uint64_t> arrived_;
    std::uint32_t background_in_flight_ = 0;
};

/// Another rule with nothing to do in the background.
class WithoutBackground final : public Rule {
  public:
    explicit WithoutBackground(Rule& rule) : rule_(rule) {}

    void begin(const Future& future) override { rule_.begin(future); }
    void arrived(const Io& io, Nanoseconds now) override { rule_.arrived(io, now); }
    void completed(const Io& io, Nanoseconds service, Nanoseconds now) override {
        rule_.completed(io, service, now);
    }
    void exited(std::uint32_t task, Nanoseconds now) override { rule_.exited(task, now); }
    Action next(const Background& background, Nanoseconds now) override {
        const Action action = rule_.next(background, now);
        return action.kind == Action::Kind::kBackground ? Action::nothing() : action;
    }

  private:
    Rule& rule_;
};

/// No background at all: the foreground alone.
class Alone final : public PassThrough {
  protected:
    Action decide(const Background& /*background*/, Nanoseconds /*now*/) override {
        return Action::nothing();
    }
};

}  // namespace lull::sim
