// SPDX-License-Identifier: MIT
// Who is next: queues and nested groups in virtual disk time.
//
// Serving an entity adds disk time x scale / weight to its virtual time, and to that of each group
// above it; the one with the least goes next. Queues and groups are entities of the same code. The
// classes are three trees over the same groups: a group stands in the tree of each class in which
// it has a busy queue, so that classes are ordered globally and shares hold within a class.
//
// In a group, the queues of its own stand beside its child groups, with the sum of their weights.
// Among themselves they are divided by workload type; the types take turns, each as long as the
// weight of its busy queues asks for, so that a batch of seeky queues is served together and the
// shares of queues stay those of their weights.
//
// The mathematics, with the bound on how long an entity waits, is in sched/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/ioprio.hpp"
#include "sched/tournament.hpp"
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

[[nodiscard]] constexpr IoClass class_at(std::size_t index) {
    return static_cast<IoClass>(index + static_cast<std::size_t>(IoClass::kRealtime));
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
    /// A waking entity may stand before the place where service is by this much disk time of its
    /// own at most, so that a sleeper is served soon but does not hoard (the idea of Seastar's
    /// tau). A quarter of a slice: less than what a queue waits for anyhow.
    static constexpr Nanoseconds kCredit = 25 * kMillisecond;
    /// In which every type of work in a group had its turn (CFQ: target_latency).
    static constexpr Nanoseconds kRound = 300 * kMillisecond;
    /// A charge counts for no more. No disk that works takes so long.
    static constexpr Nanoseconds kLongestCharge = 100 * kSecond;

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
    /// no further than a slice of its own would take it from where service is. Later it keeps its
    /// virtual time, but for the bound on credit.
    void activate(EntityId queue);
    void deactivate(EntityId queue);
    /// Adds disk time (0..kLongestCharge) to the queue and to all above it, whether it is active or
    /// not: a queue may leave while it is served.
    void charge(EntityId queue, Nanoseconds disk_time);
    /// An active queue goes before its siblings, and so do its groups, until each is charged. What
    /// it gets is charged as ever, so this changes the order but not the shares.
    void to_front(EntityId queue);

    /// The queue whose turn it is.
    [[nodiscard]] std::optional<EntityId> next(IoClass io_class) const;
    [[nodiscard]] bool busy(IoClass io_class) const { return active_queues(io_class) > 0; }
    [[nodiscard]] std::size_t active_queues(IoClass io_class) const {
        const auto& active = active_[class_index(io_class)];
        return active[0] + active[1] + active[2];
    }
    [[nodiscard]] std::size_t active_queues(IoClass io_class, Workload workload) const {
        return active_[class_index(io_class)][static_cast<std::size_t>(workload)];
    }

    [[nodiscard]] bool active(EntityId queue) const { return nodes_[queue].place.active(); }
    [[nodiscard]] IoClass io_class(EntityId queue) const {
        return class_at(nodes_[queue].io_class);
    }
    [[nodiscard]] Workload workload(EntityId queue) const { return nodes_[queue].workload; }
    [[nodiscard]] Nanoseconds slice(EntityId queue) const {
        return nodes_[queue].slice_us * kMicrosecond;
    }
    [[nodiscard]] Weight weight(EntityId id) const { return nodes_[id].weight; }
    /// Of a queue: its group; of a group but the root: the one above it.
    [[nodiscard]] EntityId group(EntityId id) const;
    [[nodiscard]] bool is_ancestor_or_same(EntityId ancestor, EntityId group) const;
    /// The disk time by which an active queue is ahead of the first of its siblings of the same
    /// workload type; 0 if it is not.
    [[nodiscard]] Nanoseconds lead(EntityId queue) const;
    [[nodiscard]] VirtualTime virtual_time(EntityId queue) const { return nodes_[queue].place.key; }

  private:
    /// Virtual time of one nanosecond at the default weight is 16: the heaviest still advances by a
    /// unit every 7 ns, and the lightest goes half the circle in 66 days of service.
    static constexpr std::uint64_t kScale = std::uint64_t{kDefaultWeight} * 16;
    static constexpr std::uint32_t kNone = UINT32_MAX;
    /// Among the members of a branch: the queues that are the group's own.
    static constexpr Tournament::Id kOwn = UINT32_MAX - 1;

    /// Where an entity stands among its siblings.
    struct Place {
        static constexpr std::uint32_t kInactive = Tournament::kNowhere;
        static constexpr std::uint32_t kFresh = kInactive - 1;  ///< was never active

        VirtualTime key = 0;
        std::uint32_t slot = kFresh;
        [[nodiscard]] bool active() const { return slot < kFresh; }
    };
    enum class Kind : std::uint8_t { kFree, kGroup, kQueue };

    /// A queue or a group; half a cache line.
    struct Node {
        Place place;  ///< of a queue
        Weight weight = 0;
        std::uint32_t data = kNone;  ///< queue: of branches_; group: of groups_
        std::uint32_t slice_us = 0;
        Kind kind = Kind::kFree;
        std::uint8_t io_class = 0;  ///< class_index()
        Workload workload = Workload::kSequential;
    };
    static_assert(sizeof(Node) == 32);

    /// Siblings, and what they remember of virtual time.
    struct Siblings {
        Tournament active;
        VirtualTime now = 0;           ///< where service is: it began no later than at this key
        VirtualTime last = 0;          ///< the latest that was put in since there was none
        Tournament::Id front = kNone;  ///< goes first whatever its key

        [[nodiscard]] Tournament::Id first() const {
            return front == kNone ? active.first() : front;
        }
    };
    static_assert(sizeof(Siblings) == 64);

    /// The queues of one workload type are an entity beside the other two.
    struct Lane {
        VirtualTime key = 0;
        std::uint64_t weight = 0;  ///< of the active queues
    };
    /// A group in the tree of one class.
    struct alignas(64) Branch {
        Siblings members;  ///< child branches, and the queues that are the group's own

        Place place;
        Place own;  ///< of the own queues
        std::uint64_t own_weight = 0;
        Weight weight = 0;  ///< the group's
        std::uint32_t above = kNone;
        std::uint32_t group = kNone;
        std::uint8_t lane = 0;            ///< whose turn it is, or was
        std::uint8_t front = kWorkloads;  ///< the lane that goes first; kWorkloads: none

        Nanoseconds turn_used = 0;  ///< by that lane
        VirtualTime now = 0;        ///< as Siblings::now, of the lanes
        std::array<Lane, kWorkloads> lanes;
        std::array<Siblings, kWorkloads> queues;  ///< of each lane
    };
    static_assert(sizeof(Branch) == 6 * 64);

    struct Group {
        std::array<std::uint32_t, kClasses> branch{kNone, kNone, kNone};
        EntityId parent = kNone;
        std::uint32_t members = 0;  ///< queues and groups
    };

    EntityId new_node(Kind kind);
    void free_node(EntityId id);
    std::uint32_t branch_of(EntityId group, std::size_t io_class);

    [[nodiscard]] Siblings& siblings_of(const Node& queue) {
        return branches_[queue.data].queues[static_cast<std::size_t>(queue.workload)];
    }
    [[nodiscard]] const Siblings& siblings_of(const Node& queue) const {
        return branches_[queue.data].queues[static_cast<std::size_t>(queue.workload)];
    }
    [[nodiscard]] std::uint32_t index_of(const Branch& branch) const {
        return static_cast<std::uint32_t>(&branch - branches_.data());
    }
    [[nodiscard]] static VirtualTime span(Nanoseconds disk_time, std::uint64_t weight);
    [[nodiscard]] static VirtualTime woken(VirtualTime key, VirtualTime now, std::uint64_t weight);
    [[nodiscard]] static std::size_t first_lane(const Branch& branch);

    void put_in(Siblings& siblings, Tournament::Id id, Place& place, std::uint64_t weight,
                Nanoseconds slice);
    static void take_out(Siblings& siblings, Tournament::Id id, Place& place);
    void serve(Siblings& siblings, Tournament::Id id, Place& place, std::uint64_t weight,
               Nanoseconds disk_time);
    static void serve_lane(Branch& branch, std::size_t lane, Weight absent, Nanoseconds disk_time);
    void change_weight(const Node& queue, std::int64_t difference);

    std::vector<Node> nodes_;
    std::vector<EntityId> free_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<Branch> branches_;
    std::vector<std::uint32_t> free_branches_;
    std::array<std::array<std::size_t, kWorkloads>, kClasses> active_{};
    std::uint32_t order_ = 0;  ///< first come, first served
};

}  // namespace lull::sched
