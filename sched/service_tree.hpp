// SPDX-License-Identifier: MIT
// Who is next: queues and nested groups in virtual disk time.
//
// Serving an entity adds disk time x scale / weight to its virtual time, and to that of each group
// above it; the one with the least goes next. Queues and groups are entities of the same code. The
// classes are three trees over the same groups: a group stands in the tree of each class in which
// it has a busy queue, so that classes are ordered globally and shares hold within a class.
//
// In a group, the queues of its own stand beside its child groups, with the sum of their weights.
// Among themselves they are divided by workload type; the types take turns (round robin), each as
// long as the weight of its busy queues asks for, so that a batch of seeky queues is served
// together and the shares of queues stay those of their weights.
//
// The mathematics, with the bound on how long an entity waits, is in sched/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/entity_heap.hpp"
#include "sched/ioprio.hpp"
#include "sched/units.hpp"
#include "sched/weights.hpp"

namespace lull::sched {

/// A queue or a group. Ids are reused after removal.
using EntityId = std::uint32_t;

enum class Workload : std::uint8_t { kSequential, kSeeky, kAsync };
inline constexpr std::size_t kWorkloads = 3;

/// RT, BE, IDLE.
inline constexpr std::size_t kClasses = 3;

/// 0..2 of a class that is scheduled; NONE is none.
[[nodiscard]] constexpr std::size_t class_index(IoClass io_class) {
    return static_cast<std::size_t>(io_class) - static_cast<std::size_t>(IoClass::kRealtime);
}

struct QueueSpec {
    IoClass io_class = IoClass::kBestEffort;  ///< not NONE
    Weight weight = kDefaultWeight;
    Nanoseconds slice = 100 * kMillisecond;  ///< kept in microseconds
    Workload workload = Workload::kSequential;
};

class ServiceTree {
  public:
    /// The group above all; it cannot be removed.
    static constexpr EntityId kRoot = 0;
    /// A waking entity may stand before the first by this much disk time of its own at most, so
    /// that a sleeper is served soon but does not hoard (the idea of Seastar's tau). A quarter of
    /// a slice: less than what a queue waits for anyhow.
    static constexpr Nanoseconds kCredit = 25 * kMillisecond;
    /// In which every type of work in a group had its turn (CFQ: target_latency).
    static constexpr Nanoseconds kRound = 300 * kMillisecond;

    ServiceTree();

    /// Weights outside kLightest..kHeaviest are taken for the nearest.
    EntityId add_group(EntityId parent, Weight weight);
    EntityId add_queue(EntityId group, const QueueSpec& spec);
    /// A group must be empty.
    void remove(EntityId id);

    void set_weight(EntityId id, Weight weight);
    /// Takes the end of the other class's tree.
    void set_class(EntityId queue, IoClass io_class);
    void set_workload(EntityId queue, Workload workload);
    void set_slice(EntityId queue, Nanoseconds slice);

    /// The queue has work. The first time it takes the end of the tree: behind all that wait, but
    /// no further behind the first than a slice of its own would take it. Later it keeps its
    /// virtual time, but for the bound on credit.
    void activate(EntityId queue);
    void deactivate(EntityId queue);
    /// Adds disk time to the queue and to all above it, whether it is active or not.
    void charge(EntityId queue, Nanoseconds disk_time);
    /// An active queue goes before its siblings, and so do its groups, until it is charged.
    void to_front(EntityId queue);

    /// The queue whose turn it is.
    [[nodiscard]] std::optional<EntityId> next(IoClass io_class) const;
    [[nodiscard]] bool busy(IoClass io_class) const { return active_queues(io_class) > 0; }
    [[nodiscard]] std::size_t active_queues(IoClass io_class) const;
    [[nodiscard]] std::size_t active_queues(IoClass io_class, Workload workload) const;

    [[nodiscard]] bool active(EntityId queue) const { return position_[queue] != kNowhere; }
    [[nodiscard]] IoClass io_class(EntityId queue) const { return nodes_[queue].io_class; }
    [[nodiscard]] Workload workload(EntityId queue) const { return nodes_[queue].workload; }
    [[nodiscard]] Nanoseconds slice(EntityId queue) const;
    [[nodiscard]] Weight weight(EntityId id) const;
    /// Of a queue: its group; of a group: the one above it.
    [[nodiscard]] EntityId group(EntityId id) const { return nodes_[id].group; }
    [[nodiscard]] bool is_ancestor_or_same(EntityId ancestor, EntityId group) const;
    /// The disk time by which an active queue is ahead of the first of its siblings; 0 if it is
    /// not.
    [[nodiscard]] Nanoseconds lead(EntityId queue) const;
    [[nodiscard]] VirtualTime virtual_time(EntityId queue) const { return nodes_[queue].key; }

  private:
    /// Virtual time of one nanosecond at the default weight is 16: the heaviest still advances by a
    /// unit every 7 ns, and the lightest wraps around after 66 days of service.
    static constexpr std::uint64_t kScale = std::uint64_t{kDefaultWeight} * 16;
    static constexpr std::uint32_t kNowhere = EntityHeap::kNowhere;
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// kBranch: a group in the tree of one class. kOwn: the queues that are the group's own, in
    /// that tree, below the branch.
    enum class Kind : std::uint8_t { kFree, kGroup, kQueue, kBranch, kOwn };

    /// Half a cache line. What stands in a heap is a queue, a branch or an own.
    struct Node {
        VirtualTime key = 0;
        Weight weight = 0;            ///< kOwn: see Own::weight
        std::uint32_t above = kNone;  ///< the node in whose heap it stands
        std::uint32_t group = kNone;
        /// kGroup: of groups_; kBranch: of shelves_; kOwn: of owns_.
        std::uint32_t data = kNone;
        std::uint32_t slice_us = 0;
        Kind kind = Kind::kFree;
        IoClass io_class = IoClass::kNone;
        Workload workload = Workload::kSequential;
        bool fresh = true;  ///< was never active
    };
    static_assert(sizeof(Node) <= 40);

    /// A heap and what it remembers of its virtual time.
    struct Shelf {
        EntityHeap heap;
        VirtualTime floor = 0;  ///< no key that was first was later
        VirtualTime last = 0;   ///< the latest that was put in since the heap was empty
    };
    struct Lane {
        Shelf shelf;
        std::uint64_t weight = 0;  ///< of the active queues
        Nanoseconds credit = 0;    ///< left of its turn; negative: overrun, to be made good
    };
    struct Own {
        std::array<Lane, kWorkloads> lanes;
        std::size_t current = 0;
        std::uint64_t weight = kDefaultWeight;  ///< of the active queues; kept when there are none
    };
    struct Group {
        std::array<std::uint32_t, kClasses> branch{kNone, kNone, kNone};
        std::array<std::uint32_t, kClasses> own{kNone, kNone, kNone};
        std::uint32_t members = 0;  ///< queues and groups
    };

    EntityId new_node(Kind kind);
    void free_node(EntityId id);
    std::uint32_t branch_of(EntityId group, std::size_t io_class);
    std::uint32_t own_of(EntityId group, std::size_t io_class);

    [[nodiscard]] Shelf& shelf_of(const Node& node);
    [[nodiscard]] const Shelf& shelf_of(const Node& node) const;
    [[nodiscard]] Own& own_above(const Node& queue) { return owns_[nodes_[queue.above].data]; }
    [[nodiscard]] std::uint64_t weight_of(const Node& node) const;
    [[nodiscard]] VirtualTime span(Nanoseconds disk_time, const Node& node) const;
    [[nodiscard]] Nanoseconds slice_of(const Node& node) const;
    [[nodiscard]] bool is_empty(const Node& node) const;

    void insert(EntityId id);
    void take_out(EntityId id);
    void count(const Node& queue, int difference);
    void change_weight(Own& own, Lane& lane, std::int64_t difference);
    static void settle_turn(Own& own);

    std::vector<Node> nodes_;
    EntityHeap::Positions position_;  ///< of each node in its heap
    std::vector<EntityId> free_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<Shelf> shelves_;
    std::vector<std::uint32_t> free_shelves_;
    std::vector<Own> owns_;
    std::vector<std::uint32_t> free_owns_;
    std::array<std::array<std::size_t, kWorkloads>, kClasses> active_{};
    std::uint32_t order_ = 0;
};

}  // namespace lull::sched
