// SPDX-License-Identifier: MIT
// What goes into the tree and out of it. Groups and queues as such are in
// service_tree_entities.cpp.
#include "sched/service_tree.hpp"

#include <algorithm>

namespace lull::sched {

namespace {

/// Of a group, where a queue has one of its own.
constexpr Nanoseconds kGroupSlice = 100 * kMillisecond;

VirtualTime later(VirtualTime a, VirtualTime b) {
    return earlier(a, b) ? b : a;
}

}  // namespace

ServiceTree::Shelf& ServiceTree::shelf_of(const Node& node) {
    const Node& above = nodes_[node.above];
    return above.kind == Kind::kOwn
               ? owns_[above.data].lanes[static_cast<std::size_t>(node.workload)].shelf
               : shelves_[above.data];
}

const ServiceTree::Shelf& ServiceTree::shelf_of(const Node& node) const {
    return const_cast<ServiceTree*>(this)->shelf_of(node);  // NOLINT: it changes nothing
}

std::uint64_t ServiceTree::weight_of(const Node& node) const {
    switch (node.kind) {
        case Kind::kOwn:
            return owns_[node.data].weight;
        case Kind::kBranch:
            return nodes_[node.group].weight;
        default:
            return node.weight;
    }
}

VirtualTime ServiceTree::span(Nanoseconds disk_time, const Node& node) const {
    return static_cast<VirtualTime>(disk_time) * kScale / weight_of(node);
}

Nanoseconds ServiceTree::lead(EntityId queue) const {
    const Node& node = nodes_[queue];
    if (!active(queue)) {
        return 0;
    }
    const auto ahead = static_cast<std::int64_t>(node.key - shelf_of(node).heap.first_key());
    return std::max<std::int64_t>(ahead, 0) / static_cast<std::int64_t>(kScale) *
               static_cast<std::int64_t>(node.weight) +
           std::max<std::int64_t>(ahead, 0) % static_cast<std::int64_t>(kScale) *
               static_cast<std::int64_t>(node.weight) / static_cast<std::int64_t>(kScale);
}

Nanoseconds ServiceTree::slice_of(const Node& node) const {
    return node.kind == Kind::kQueue ? node.slice_us * kMicrosecond : kGroupSlice;
}

bool ServiceTree::is_empty(const Node& node) const {
    if (node.kind == Kind::kBranch) {
        return shelves_[node.data].heap.empty();
    }
    return std::all_of(owns_[node.data].lanes.begin(), owns_[node.data].lanes.end(),
                       [](const Lane& lane) { return lane.shelf.heap.empty(); });
}

void ServiceTree::insert(EntityId id) {
    Node& node = nodes_[id];
    Shelf& shelf = shelf_of(node);
    const bool alone = shelf.heap.empty();
    if (!alone) {
        shelf.floor = later(shelf.floor, shelf.heap.first_key());
    }
    if (!node.fresh) {
        node.key = later(node.key, shelf.floor - span(kCredit, node));
    } else {
        const VirtualTime end = shelf.floor + span(slice_of(node), node);
        node.key = alone ? shelf.floor : earlier(shelf.last, end) ? shelf.last : end;
        node.fresh = false;
    }
    shelf.last = alone ? node.key : later(shelf.last, node.key);
    shelf.heap.push(id, node.key, order_++, position_);
}

void ServiceTree::take_out(EntityId id) {
    Shelf& shelf = shelf_of(nodes_[id]);
    shelf.floor = later(shelf.floor, shelf.heap.first_key());
    shelf.heap.remove(position_[id], position_);
}

void ServiceTree::activate(EntityId queue) {
    if (active(queue)) {
        return;
    }
    insert(queue);
    Node& node = nodes_[queue];
    count(node, 1);
    change_weight(own_above(node), own_above(node).lanes[static_cast<std::size_t>(node.workload)],
                  node.weight);
    for (EntityId above = node.above;
         above != kNone && !active(above) && nodes_[above].above != kNone;
         above = nodes_[above].above) {
        insert(above);
    }
}

void ServiceTree::deactivate(EntityId queue) {
    if (!active(queue)) {
        return;
    }
    take_out(queue);
    Node& node = nodes_[queue];
    count(node, -1);
    change_weight(own_above(node), own_above(node).lanes[static_cast<std::size_t>(node.workload)],
                  -static_cast<std::int64_t>(node.weight));
    for (EntityId above = node.above;
         nodes_[above].above != kNone && active(above) && is_empty(nodes_[above]);
         above = nodes_[above].above) {
        take_out(above);
    }
}

void ServiceTree::charge(EntityId queue, Nanoseconds disk_time) {
    Node& node = nodes_[queue];
    Own& own = own_above(node);
    own.lanes[static_cast<std::size_t>(node.workload)].credit -= disk_time;
    for (EntityId id = queue; nodes_[id].above != kNone; id = nodes_[id].above) {
        Node& served = nodes_[id];
        served.key += span(disk_time, served);
        if (active(id)) {
            Shelf& shelf = shelf_of(served);
            shelf.floor = later(shelf.floor, shelf.heap.first_key());
            shelf.last = later(shelf.last, served.key);
            shelf.heap.move(position_[id], served.key, order_++, position_);
        }
    }
    settle_turn(own);
}

void ServiceTree::to_front(EntityId queue) {
    for (EntityId id = queue; nodes_[id].above != kNone && active(id); id = nodes_[id].above) {
        Shelf& shelf = shelf_of(nodes_[id]);
        if (shelf.heap.first() != id) {
            shelf.heap.move(position_[id], shelf.heap.first_key() - 1, order_++, position_);
        }
    }
    Own& own = own_above(nodes_[queue]);
    const auto lane = static_cast<std::size_t>(nodes_[queue].workload);
    if (active(queue) && own.current != lane) {
        own.current = lane;
        own.lanes[lane].credit = std::max<Nanoseconds>(own.lanes[lane].credit, 1);
    }
}

std::optional<EntityId> ServiceTree::next(IoClass io_class) const {
    if (!busy(io_class)) {
        return {};
    }
    EntityId id = groups_[nodes_[kRoot].data].branch[class_index(io_class)];
    while (nodes_[id].kind == Kind::kBranch) {
        id = shelves_[nodes_[id].data].heap.first();
    }
    const Own& own = owns_[nodes_[id].data];
    return own.lanes[own.current].shelf.heap.first();
}

void ServiceTree::count(const Node& queue, int difference) {
    std::size_t& counter =
        active_[class_index(queue.io_class)][static_cast<std::size_t>(queue.workload)];
    counter += static_cast<std::size_t>(difference);
}

void ServiceTree::change_weight(Own& own, Lane& lane, std::int64_t difference) {
    lane.weight += static_cast<std::uint64_t>(difference);
    std::uint64_t sum = 0;
    for (const Lane& each : own.lanes) {
        sum += each.weight;
    }
    if (sum > 0) {
        own.weight = sum;
    }
    settle_turn(own);
}

/// Passes the turn on when the current type has used it or has no work. Credit that is left is
/// dropped, overrun is made good in the next turns: deficit round robin.
void ServiceTree::settle_turn(Own& own) {
    std::size_t busy = 0;
    for (Lane& lane : own.lanes) {
        if (lane.shelf.heap.empty()) {
            lane.credit = std::min<Nanoseconds>(lane.credit, 0);
        } else {
            ++busy;
        }
    }
    if (busy == 0) {
        return;
    }
    if (busy == 1) {
        // Nobody to take turns with, and nothing owed to anybody.
        for (std::size_t lane = 0; lane < kWorkloads; ++lane) {
            own.lanes[lane].credit = 0;
            if (!own.lanes[lane].shelf.heap.empty()) {
                own.current = lane;
            }
        }
        own.lanes[own.current].credit = 1;
        return;
    }
    const auto turn = [&own](const Lane& lane) {
        return std::max<Nanoseconds>(
            static_cast<Nanoseconds>(static_cast<std::uint64_t>(kRound) * lane.weight / own.weight),
            1);
    };
    const auto ready = [](const Lane& lane) { return !lane.shelf.heap.empty() && lane.credit > 0; };
    if (ready(own.lanes[own.current])) {
        return;
    }
    // Rounds in which nobody would be ready are given at once.
    Nanoseconds idle_rounds = kNever;
    for (const Lane& lane : own.lanes) {
        if (!lane.shelf.heap.empty()) {
            idle_rounds =
                std::min(idle_rounds, std::max<Nanoseconds>(-lane.credit, 0) / turn(lane));
        }
    }
    for (Lane& lane : own.lanes) {
        if (!lane.shelf.heap.empty()) {
            lane.credit += idle_rounds * turn(lane);
        }
    }
    for (;;) {
        own.current = (own.current + 1) % kWorkloads;
        Lane& lane = own.lanes[own.current];
        if (lane.shelf.heap.empty()) {
            continue;
        }
        lane.credit += turn(lane);
        if (lane.credit > 0) {
            return;
        }
    }
}

}  // namespace lull::sched
