// SPDX-License-Identifier: MIT
// The idle classes of three I/O schedulers of Linux, as small models: what decides when an
// IDLE-class request goes, and what a foreground request waits for. Sources: facts of the releases
// named. They see the foreground's tasks as BE/4, and the background as one task in the IDLE class
// that always has kBacklog requests of 128 KiB queued, as `lull replay` sends them.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sched/seekiness.hpp"
#include "sched/think_time.hpp"
#include "tests/sim/rule.hpp"

namespace lull::sim {

class KernelRule : public Rule {
  public:
    static constexpr std::uint32_t kBacklog = 32;
    static constexpr std::uint32_t kSectors = 256;

    void completed(const Io& io, Nanoseconds service, Nanoseconds now) final;

  protected:
    [[nodiscard]] std::uint32_t background_in_flight() const { return background_in_flight_; }
    [[nodiscard]] std::uint32_t foreground_in_flight() const { return foreground_in_flight_; }
    Action send_background() {
        ++background_in_flight_;
        return Action::background(kSectors);
    }
    Action send_foreground(std::uint64_t id) {
        ++foreground_in_flight_;
        return Action::foreground(id);
    }
    virtual void foreground_done(const Io& /*io*/, Nanoseconds /*now*/) {}

  private:
    std::uint32_t background_in_flight_ = 0;
    std::uint32_t foreground_in_flight_ = 0;
};

/// mq-deadline since 5.16: the IDLE class goes whenever no request of a higher class is queued or
/// in flight, as deep as the device takes it, or when it is older than prio_aging_expire (10 s). No
/// anticipation.
class DeadlineRule final : public KernelRule {
  public:
    void arrived(const Io& io, Nanoseconds now) override;
    Action next(const Background& background, Nanoseconds now) override;

  private:
    std::deque<std::uint64_t> queue_;
    Nanoseconds last_background_ = 0;
};

/// BFQ (6.x): the IDLE class goes when no BE queue has work and none is waited for, and one request
/// of it at each choice of a queue that comes 200 ms after its last (BFQ_CL_IDLE_TIMEOUT). A sync
/// queue is waited for 8 ms (slice_idle), also on flash, because two classes are busy; the wait
/// ends with the task. A queue keeps the disk for timeout_sync (124 ms). Alone, the IDLE class is
/// as deep as its backlog.
/// Not modelled: budgets in sectors, weight raising (the tasks of the foreground are served in
/// order of arrival, and a new one is not kept waiting for another's window), injection.
class BfqRule final : public KernelRule {
  public:
    void arrived(const Io& io, Nanoseconds now) override;
    void exited(std::uint32_t task, Nanoseconds now) override;
    Action next(const Background& background, Nanoseconds now) override;

  protected:
    void foreground_done(const Io& io, Nanoseconds now) override;

  private:
    struct Waiting {
        std::uint64_t id = 0;
        std::uint32_t task = 0;
        bool idles = false;  ///< its task is waited for after it
    };
    std::deque<Waiting> queue_;
    std::optional<std::uint32_t> in_service_;
    std::uint32_t in_flight_ = 0;  ///< of the queue in service
    bool idles_ = true;
    Nanoseconds idle_until_ = 0;
    Nanoseconds chosen_at_ = 0;
    Nanoseconds last_background_ = 0;
};

/// CFQ of 2.6.35, BE against IDLE in one group: slices of 100 ms that begin with the first
/// completion; the window of 8 ms for the queue in service, if its task lives and thinks for less
/// on the mean, or if it is the last of its tree; the preemption rules that apply between BE
/// queues; one request of the IDLE queue whenever all else is empty. On flash there is no window
/// (nonrot and hw_tag). The tree's own think time, which ends the last rule for a slow thinker,
/// came with 3.2. Not modelled: low_latency's shorter slices (one or two tasks are busy here), the
/// merging of cooperating queues, wait_busy, async queues other than in order of arrival.
class CfqRule final : public KernelRule {
  public:
    explicit CfqRule(bool rotational) : rotational_(rotational) {}

    void arrived(const Io& io, Nanoseconds now) override;
    void exited(std::uint32_t task, Nanoseconds now) override;
    Action next(const Background& background, Nanoseconds now) override;

  protected:
    void foreground_done(const Io& io, Nanoseconds now) override;

  private:
    struct Queue {
        std::deque<std::uint64_t> waiting;
        std::uint32_t in_flight = 0;
        std::uint32_t metadata_waiting = 0;
        sched::Seekiness seekiness;
        std::uint64_t end = 0;  ///< of the last request
        Nanoseconds last_done = -1;
        sched::ThinkTime think;
        bool idle_window = true;
    };
    using Task = std::uint32_t;

    [[nodiscard]] bool should_idle(const Queue& queue) const;
    [[nodiscard]] bool preempts(const Queue& queue, const Io& io, Nanoseconds now) const;
    void update(Queue& queue, const Io& io, Nanoseconds now) const;
    void expire();

    bool rotational_;
    std::map<Task, Queue> queues_;
    std::list<Task> order_;  ///< those with waiting requests that are not in service
    std::map<std::uint64_t, bool> metadata_;  ///< of the waiting requests
    std::optional<Task> active_;
    std::optional<Nanoseconds> slice_end_;  ///< from the first completion on
    Nanoseconds idle_until_ = 0;
    std::uint64_t head_ = 0;
};

/// "cfq_2_6_35", "bfq" or "mq_deadline"; null for another name.
[[nodiscard]] std::unique_ptr<Rule> make_kernel_rule(const std::string& name, bool rotational);

}  // namespace lull::sim
