// SPDX-License-Identifier: MIT
// What goes into the tree and out of it. Groups and queues as such are in
// service_tree_entities.cpp.
#include "sched/service_tree.hpp"

#include <algorithm>

namespace lull::sched {

namespace {

/// Of a group, where a queue has one of its own.
constexpr Nanoseconds kGroupSlice = 100 * kMillisecond;

/// Of a workload type whose busy queues have `weight` of `all`.
Nanoseconds turn_of(std::uint64_t weight, std::uint64_t all) {
    return static_cast<Nanoseconds>(static_cast<std::uint64_t>(ServiceTree::kRound) * weight / all);
}

}  // namespace

VirtualTime ServiceTree::span(Nanoseconds disk_time, std::uint64_t weight) {
    return static_cast<VirtualTime>(disk_time) * kScale / weight;
}

/// The key of an entity that comes back: its own, but for the bound on credit. A key that is later
/// than any service could have made it is one that time has gone around.
VirtualTime ServiceTree::woken(VirtualTime key, VirtualTime now, std::uint64_t weight) {
    const VirtualTime earliest = now - span(kCredit, weight);
    return earlier(now + span(kLongestCharge, kLightest), key) ? earliest : later_of(key, earliest);
}

std::size_t ServiceTree::first_lane(const Branch& branch) {
    if (branch.front < kWorkloads) {
        return branch.front;
    }
    const auto busy = [&branch](std::size_t lane) { return branch.lanes[lane].weight > 0; };
    if (const std::uint64_t weight = branch.lanes[branch.lane].weight;
        weight > 0 &&
        (weight == branch.own_weight || branch.turn_used < turn_of(weight, branch.own_weight))) {
        return branch.lane;
    }
    std::size_t first = kWorkloads;
    for (std::size_t next = 1; next <= kWorkloads; ++next) {
        const std::size_t lane = (branch.lane + next) % kWorkloads;
        if (busy(lane) &&
            (first == kWorkloads || earlier(branch.lanes[lane].key, branch.lanes[first].key))) {
            first = lane;
        }
    }
    return first;
}

std::optional<EntityId> ServiceTree::next(IoClass io_class) const {
    if (!busy(io_class)) {
        return {};
    }
    const Branch* branch = &branches_[groups_[nodes_[kRoot].data].branch[class_index(io_class)]];
    for (;;) {
        const Tournament::Id first = branch->members.first();
        if (first == kOwn) {
            return branch->queues[first_lane(*branch)].first();
        }
        branch = &branches_[first];
    }
}

void ServiceTree::put_in(Siblings& siblings, Tournament::Id id, Place& place, std::uint64_t weight,
                         Nanoseconds slice) {
    const bool alone = siblings.active.empty();
    if (place.slot != Place::kFresh) {
        place.key = woken(place.key, siblings.now, weight);
    } else if (alone) {
        place.key = siblings.now;
    } else {
        const VirtualTime farthest = siblings.now + span(slice, weight);
        place.key =
            earlier(siblings.last, farthest) ? later_of(siblings.last, siblings.now) : farthest;
    }
    siblings.last = alone ? place.key : later_of(siblings.last, place.key);
    place.slot = siblings.active.add(id, place.key, order_++);
}

void ServiceTree::take_out(Siblings& siblings, Tournament::Id id, Place& place) {
    siblings.active.remove(place.slot);
    place.slot = Place::kInactive;
    if (siblings.front == id) {
        siblings.front = kNone;
    }
}

/// Where service is does not depend on who is active at the moment, or a queue that is absent
/// between two requests would lose what it has to catch up on. It is where the service began, or
/// where the first of the others stands if that was passed over, and where it ended if there was
/// no other: nobody has to be paid back for it.
void ServiceTree::serve(Siblings& siblings, Tournament::Id id, Place& place, std::uint64_t weight,
                        Nanoseconds disk_time) {
    const VirtualTime begun = place.key;
    place.key += span(disk_time, weight);
    Tournament& active = siblings.active;
    if (place.active()) {
        active.move(place.slot, place.key, order_++);
        siblings.last = later_of(siblings.last, place.key);
    }
    const bool alone = active.size() == (place.active() ? 1U : 0U);
    const VirtualTime at = alone                                ? place.key
                           : earlier(active.first_key(), begun) ? active.first_key()
                                                                : begun;
    siblings.now = later_of(siblings.now, at);
    if (siblings.front == id) {
        siblings.front = kNone;
    }
}

/// The same for the workload types of a group. `absent`: the weight of the queue that is served, if
/// it is not active and so not among the weights.
void ServiceTree::serve_lane(Branch& branch, std::size_t lane, Weight absent,
                             Nanoseconds disk_time) {
    Lane& served = branch.lanes[lane];
    const std::uint64_t weight = served.weight + absent;
    VirtualTime at = served.key;
    served.key += span(disk_time, weight);
    bool alone = true;
    for (std::size_t other = 0; other < kWorkloads; ++other) {
        if (other != lane && branch.lanes[other].weight > 0) {
            alone = false;
            at = earlier(branch.lanes[other].key, at) ? branch.lanes[other].key : at;
        }
    }
    branch.now = later_of(branch.now, alone ? served.key : at);
    if (lane != branch.lane || branch.turn_used >= turn_of(weight, branch.own_weight + absent)) {
        branch.lane = static_cast<std::uint8_t>(lane);
        branch.turn_used = 0;
    }
    branch.turn_used += disk_time;
    branch.front = branch.front == lane ? kWorkloads : branch.front;
}

void ServiceTree::change_weight(const Node& queue, std::int64_t difference) {
    Branch& branch = branches_[queue.data];
    branch.own_weight += static_cast<std::uint64_t>(difference);
    branch.lanes[static_cast<std::size_t>(queue.workload)].weight +=
        static_cast<std::uint64_t>(difference);
}

void ServiceTree::activate(EntityId queue) {
    Node& node = nodes_[queue];
    if (node.place.active()) {
        return;
    }
    const auto workload = static_cast<std::size_t>(node.workload);
    ++active_[node.io_class][workload];
    Branch* branch = &branches_[node.data];
    change_weight(node, node.weight);
    if (Lane& lane = branch->lanes[workload]; lane.weight == node.weight) {
        lane.key = woken(lane.key, branch->now, lane.weight);
    }
    put_in(branch->queues[workload], queue, node.place, node.weight, node.slice_us * kMicrosecond);
    if (branch->own.active()) {
        return;
    }
    put_in(branch->members, kOwn, branch->own, branch->own_weight, kGroupSlice);
    while (branch->above != kNone && !branch->place.active()) {
        Branch& above = branches_[branch->above];
        put_in(above.members, index_of(*branch), branch->place, branch->weight, kGroupSlice);
        branch = &above;
    }
}

void ServiceTree::deactivate(EntityId queue) {
    Node& node = nodes_[queue];
    if (!node.place.active()) {
        return;
    }
    const auto workload = static_cast<std::size_t>(node.workload);
    --active_[node.io_class][workload];
    Branch* branch = &branches_[node.data];
    change_weight(node, -static_cast<std::int64_t>(node.weight));
    take_out(branch->queues[workload], queue, node.place);
    if (branch->front == workload && branch->lanes[workload].weight == 0) {
        branch->front = kWorkloads;
    }
    if (branch->own_weight > 0) {
        return;
    }
    take_out(branch->members, kOwn, branch->own);
    while (branch->above != kNone && branch->members.active.empty()) {
        Branch& above = branches_[branch->above];
        take_out(above.members, index_of(*branch), branch->place);
        branch = &above;
    }
}

void ServiceTree::charge(EntityId queue, Nanoseconds disk_time) {
    const Nanoseconds charged = std::clamp<Nanoseconds>(disk_time, 0, kLongestCharge);
    Node& node = nodes_[queue];
    const Weight absent = node.place.active() ? 0 : node.weight;
    Branch* branch = &branches_[node.data];
    serve(siblings_of(node), queue, node.place, node.weight, charged);
    serve_lane(*branch, static_cast<std::size_t>(node.workload), absent, charged);
    serve(branch->members, kOwn, branch->own, branch->own_weight + absent, charged);
    while (branch->above != kNone) {
        Branch& above = branches_[branch->above];
        serve(above.members, index_of(*branch), branch->place, branch->weight, charged);
        branch = &above;
    }
}

void ServiceTree::to_front(EntityId queue) {
    const Node& node = nodes_[queue];
    if (!node.place.active()) {
        return;
    }
    Branch* branch = &branches_[node.data];
    siblings_of(node).front = queue;
    branch->front = static_cast<std::uint8_t>(node.workload);
    branch->members.front = kOwn;
    while (branch->above != kNone) {
        Branch& above = branches_[branch->above];
        above.members.front = index_of(*branch);
        branch = &above;
    }
}

Nanoseconds ServiceTree::lead(EntityId queue) const {
    const Node& node = nodes_[queue];
    if (!node.place.active()) {
        return 0;
    }
    const VirtualTime first = siblings_of(node).active.first_key();
    const std::uint64_t ahead = node.place.key - first;
    return static_cast<Nanoseconds>(ahead / kScale * node.weight +
                                    ahead % kScale * node.weight / kScale);
}

}  // namespace lull::sched
