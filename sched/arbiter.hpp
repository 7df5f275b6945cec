// SPDX-License-Identifier: MIT
// The arbiter of one disk: whose request goes next, and when. It is told what happens, with the
// time at which it happened, and answers with one decision at a time; it reads no clock and does no
// I/O, so years of disk time can be simulated in a test.
//
// Two questions, kept apart (sched/README.md): who is next is the service tree's (service_tree.hpp)
// with slices and the waiting for a queue on top; when the IDLE class may go is the gate's
// (idle_gate.hpp), which watches the I/O that the arbiter does not control, the foreground.
//
// Units: nanoseconds on the caller's clock, never going back; sectors of 512 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/idle_gate.hpp"
#include "sched/ioprio.hpp"
#include "sched/near_index.hpp"
#include "sched/preemption.hpp"
#include "sched/seekiness.hpp"
#include "sched/service_tree.hpp"
#include "sched/think_time.hpp"
#include "sched/units.hpp"
#include "sched/weights.hpp"

namespace lull::sched {

struct ArbiterSettings {
    DiskTraits disk;
    GateSettings gate;
    LevelLaw level_law = LevelLaw::kGeometric;
    /// Slice of level 4 (CFQ 2.6.10..4.20: slice_sync); 180..40 ms by level.
    Nanoseconds base_slice = 100 * kMillisecond;
    /// The same for queues of asynchronous work (CFQ: slice_async).
    Nanoseconds base_slice_async = 40 * kMillisecond;
    /// How long an empty queue in service is waited for (CFQ since 2.6.20: slice_idle). 0: never.
    Nanoseconds queue_window = 8 * kMillisecond;
    /// Requests of RT and of BE in flight at most, each; 0: one on a disk that seeks, since deeper
    /// queues break the shares (Axboe 2004), 32 on one that does not. IDLE: DiskTraits::idle_depth.
    std::uint32_t max_depth = 0;
    /// An IDLE queue that has waited that long without service gets one request, whatever is going
    /// on; kNever is the default: the IDLE class may starve.
    Nanoseconds starvation_age = kNever;
};

using QueueId = EntityId;
using GroupId = EntityId;

struct QueueOptions {
    GroupId group = ServiceTree::kRoot;
    IoClass io_class = IoClass::kBestEffort;  ///< not NONE
    int level = 4;                            ///< 0..7; IDLE has none
    /// Of the queue in its group, in place of what the level gives.
    std::optional<Weight> weight;
    bool async = false;  ///< nobody waits for it: it is never waited for either
};

/// The next request of a queue.
struct Work {
    Sector sector = 0;
    std::uint32_t sectors = 0;  ///< wanted; the decision bounds it by time. 0: not known
    bool metadata = false;      ///< others may wait for it (REQ_PRIO): preempts
    bool placed = true;         ///< false: `sector` is not known
};

struct Done {
    Sector sector = 0;
    std::uint32_t sectors = 0;                ///< that were transferred
    Nanoseconds service = 0;                  ///< from the dispatch to the completion
    IoClass io_class = IoClass::kBestEffort;  ///< of the decision: the queue's may have changed
};

struct Decision {
    enum class Kind : std::uint8_t {
        kNothing,   ///< wait for an event
        kDispatch,  ///< send the next request of `queue`, of at most `longest`; then ask again
        kWake,      ///< ask again at `at`, or at the next event if that is earlier
    };
    Kind kind = Kind::kNothing;
    QueueId queue = 0;
    IoClass io_class = IoClass::kNone;  ///< of the queue
    /// Disk time that the request may take, 0 < longest. A queue that cannot be so short sends
    /// its smallest request.
    Nanoseconds longest = 0;
    Nanoseconds at = 0;
};

struct ArbiterCounters {
    std::array<std::uint64_t, kClasses> dispatched{};  ///< by class: RT, BE, IDLE
    std::array<Nanoseconds, kClasses> service{};       ///< sum of Done::service
    std::uint64_t turns = 0;                           ///< begun; each may cost a seek
    std::uint64_t waits = 0;                           ///< a queue in service was waited for
    std::uint64_t waits_in_vain = 0;                   ///< ... and did not come
    std::uint64_t cooperations = 0;                    ///< a near queue went to the front
    std::uint64_t preemptions = 0;
    std::uint64_t starved = 0;  ///< IDLE requests sent for their age alone
};

/// What a queue got since it was added.
struct QueueCounters {
    std::uint64_t dispatched = 0;
    Nanoseconds disk_time = 0;  ///< charged, the waiting for it and the seek to it included
};

class Arbiter {
  public:
    explicit Arbiter(const ArbiterSettings& settings);

    GroupId add_group(GroupId parent, Weight weight);
    void remove_group(GroupId group);  ///< only an empty one
    QueueId add_queue(const QueueOptions& options);
    /// Its requests in flight may still be told by done(); the id is reused after the last.
    void remove_queue(QueueId queue, Nanoseconds now);
    void set_priority(QueueId queue, IoClass io_class, int level, Nanoseconds now);
    void set_weight(EntityId entity, Weight weight);

    /// The queue has a request to send; it replaces one that was not sent. After each dispatch
    /// there is none until this is called again.
    void has_work(QueueId queue, const Work& work, Nanoseconds now);
    /// The request that was not sent is taken back.
    void no_work(QueueId queue, Nanoseconds now);
    /// A request that was dispatched is complete.
    void done(QueueId queue, const Done& done, Nanoseconds now);

    void foreground_arrived(const ForegroundIo& io, Nanoseconds now);
    void foreground_completed(const ForegroundIo& io, Nanoseconds now);
    void foreground_lost(std::uint32_t in_flight, Nanoseconds now);
    void disk_changed(const DiskTraits& disk, Nanoseconds now);

    /// One decision; to be asked after every event, again after a dispatch, and at the time of a
    /// wake.
    [[nodiscard]] Decision decide(Nanoseconds now);

    [[nodiscard]] const ArbiterCounters& counters() const { return counters_; }
    [[nodiscard]] const GateCounters& gate_counters() const { return gate_.counters(); }
    [[nodiscard]] const QueueCounters& counters(QueueId queue) const;
    [[nodiscard]] bool has_queue(QueueId queue) const;

  private:
    struct Queue {
        Work work;
        std::uint32_t in_flight = 0;
        std::int8_t level = 0;
        bool used = false;     ///< the slot holds a queue
        bool removed = false;  ///< waits for its last completion
        bool has_work = false;
        bool async = false;
        bool own_weight = false;  ///< the level does not give it
        Nanoseconds last_done = -1;
        Sector end = 0;  ///< of its last request
        Nanoseconds mean_service = 0;
        Nanoseconds overrun = 0;      ///< of its last slice, to be made good in the next
        Nanoseconds waits_since = 0;  ///< has work, and got nothing
        ThinkTime think;
        Seekiness seekiness;
        QueueCounters counters;
    };

    /// The service of one RT or BE queue on a disk that seeks: the disk is kept for it.
    struct Turn {
        QueueId queue = 0;
        Nanoseconds begun = 0;
        Nanoseconds end = 0;  ///< of the slice
        std::uint32_t dispatched = 0;
        std::uint32_t done = 0;
    };
    enum class Next : std::uint8_t { kServe, kInFlight, kAwait, kSlide, kOver };

    [[nodiscard]] Queue& at(QueueId queue) { return queues_[queue]; }
    [[nodiscard]] const Queue& at(QueueId queue) const { return queues_[queue]; }

    void settle_workload(QueueId queue);
    void place(QueueId queue);
    void free_if_gone(QueueId queue);
    void charge(QueueId queue, Nanoseconds disk_time);
    [[nodiscard]] ForegroundIo own_io(Sector sector, std::uint32_t sectors) const;

    void begin_turn(QueueId queue, Nanoseconds now);
    void end_turn(Nanoseconds now);
    [[nodiscard]] Next next_of_turn(Nanoseconds now) const;
    [[nodiscard]] bool may_wait(QueueId queue) const;
    [[nodiscard]] Nanoseconds waits_until() const;
    [[nodiscard]] bool others_wait(QueueId queue) const;
    [[nodiscard]] std::optional<QueueId> cooperator(QueueId queue) const;
    void contest(QueueId queue, Nanoseconds now);

    [[nodiscard]] Decision decide_by_turns(Nanoseconds now);
    [[nodiscard]] Decision decide_by_requests(Nanoseconds now);
    [[nodiscard]] Decision decide_idle(Nanoseconds now);
    [[nodiscard]] std::optional<QueueId> idle_queue();
    [[nodiscard]] Decision dispatch(QueueId queue, Nanoseconds longest, Nanoseconds now);
    [[nodiscard]] std::uint32_t depth_of(IoClass io_class) const;
    [[nodiscard]] bool full(IoClass io_class) const;
    [[nodiscard]] bool above_idle_in_flight() const;
    [[nodiscard]] Nanoseconds idle_starves_at();
    [[nodiscard]] Nanoseconds cost_of(const Work& work) const;

    ArbiterSettings settings_;
    ServiceTree tree_;
    IdleGate gate_;
    NearIndex near_;
    std::vector<Queue> queues_;  ///< by id; groups leave holes
    std::array<std::uint32_t, kClasses> in_flight_{};
    std::optional<Turn> turn_;
    std::optional<QueueId> idle_turn_;  ///< the IDLE queue that is served until its slice is used
    Nanoseconds idle_used_ = 0;         ///< of that slice
    Sector head_ = 0;                   ///< where our last request ended
    ArbiterCounters counters_;
};

}  // namespace lull::sched
