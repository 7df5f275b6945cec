// SPDX-License-Identifier: MIT
// Making, changing and removing queues and groups. The tree itself is in service_tree.cpp.
#include <algorithm>
#include <cassert>

#include "sched/service_tree.hpp"

namespace lull::sched {

namespace {

/// A place in `pool`, an old one if one is free.
template <typename T>
std::uint32_t take(std::vector<T>& pool, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
        pool.emplace_back();
        // So that giving back never allocates.
        free.reserve(pool.capacity());
        return static_cast<std::uint32_t>(pool.size() - 1);
    }
    const std::uint32_t place = free.back();
    free.pop_back();
    pool[place] = {};
    return place;
}

}  // namespace

ServiceTree::ServiceTree() {
    const EntityId root = new_node(Kind::kGroup);
    assert(root == kRoot);
    nodes_[root].weight = kDefaultWeight;
}

EntityId ServiceTree::new_node(Kind kind) {
    const EntityId id = take(nodes_, free_);
    if (id >= position_.size()) {
        position_.resize(nodes_.capacity(), kNowhere);
    }
    position_[id] = kNowhere;
    nodes_[id].kind = kind;
    if (kind == Kind::kGroup) {
        nodes_[id].data = take(groups_, free_groups_);
    }
    return id;
}

void ServiceTree::free_node(EntityId id) {
    nodes_[id] = {};
    free_.push_back(id);
}

EntityId ServiceTree::add_group(EntityId parent, Weight weight) {
    const EntityId id = new_node(Kind::kGroup);
    nodes_[id].group = parent;
    nodes_[id].weight = std::clamp(weight, kLightest, kHeaviest);
    ++groups_[nodes_[parent].data].members;
    return id;
}

EntityId ServiceTree::add_queue(EntityId group, const QueueSpec& spec) {
    assert(spec.io_class != IoClass::kNone);
    const std::uint32_t own = own_of(group, class_index(spec.io_class));
    const EntityId id = new_node(Kind::kQueue);
    Node& node = nodes_[id];
    node.above = own;
    node.group = group;
    node.io_class = spec.io_class;
    node.workload = spec.workload;
    node.weight = std::clamp(spec.weight, kLightest, kHeaviest);
    set_slice(id, spec.slice);
    ++groups_[nodes_[group].data].members;
    return id;
}

/// The group's node in the tree of a class, made at the first use.
std::uint32_t ServiceTree::branch_of(EntityId group, std::size_t io_class) {
    const std::uint32_t known = groups_[nodes_[group].data].branch[io_class];
    if (known != kNone) {
        return known;
    }
    const std::uint32_t above = group == kRoot ? kNone : branch_of(nodes_[group].group, io_class);
    const EntityId id = new_node(Kind::kBranch);
    nodes_[id].above = above;
    nodes_[id].group = group;
    nodes_[id].data = take(shelves_, free_shelves_);
    groups_[nodes_[group].data].branch[io_class] = id;
    return id;
}

std::uint32_t ServiceTree::own_of(EntityId group, std::size_t io_class) {
    const std::uint32_t known = groups_[nodes_[group].data].own[io_class];
    if (known != kNone) {
        return known;
    }
    const std::uint32_t above = branch_of(group, io_class);
    const EntityId id = new_node(Kind::kOwn);
    nodes_[id].above = above;
    nodes_[id].group = group;
    nodes_[id].data = take(owns_, free_owns_);
    groups_[nodes_[group].data].own[io_class] = id;
    return id;
}

void ServiceTree::remove(EntityId id) {
    assert(id != kRoot);
    Node& node = nodes_[id];
    --groups_[nodes_[node.group].data].members;
    if (node.kind == Kind::kQueue) {
        deactivate(id);
        free_node(id);
        return;
    }
    const std::uint32_t data = node.data;
    assert(groups_[data].members == 0);
    for (std::size_t io_class = 0; io_class < kClasses; ++io_class) {
        if (const std::uint32_t own = groups_[data].own[io_class]; own != kNone) {
            free_owns_.push_back(nodes_[own].data);
            free_node(own);
        }
        if (const std::uint32_t branch = groups_[data].branch[io_class]; branch != kNone) {
            free_shelves_.push_back(nodes_[branch].data);
            free_node(branch);
        }
    }
    free_groups_.push_back(data);
    free_node(id);
}

void ServiceTree::set_weight(EntityId id, Weight weight) {
    Node& node = nodes_[id];
    const Weight bounded = std::clamp(weight, kLightest, kHeaviest);
    if (node.kind == Kind::kQueue && active(id)) {
        change_weight(own_above(node),
                      own_above(node).lanes[static_cast<std::size_t>(node.workload)],
                      static_cast<std::int64_t>(bounded) - static_cast<std::int64_t>(node.weight));
    }
    node.weight = bounded;
}

void ServiceTree::set_class(EntityId queue, IoClass io_class) {
    assert(io_class != IoClass::kNone);
    if (nodes_[queue].io_class == io_class) {
        return;
    }
    const bool was_active = active(queue);
    deactivate(queue);
    const std::uint32_t own = own_of(nodes_[queue].group, class_index(io_class));
    nodes_[queue].io_class = io_class;
    nodes_[queue].above = own;
    nodes_[queue].fresh = true;
    if (was_active) {
        activate(queue);
    }
}

/// The new lane has a virtual time of its own: what counts is how far the queue was from the first.
void ServiceTree::set_workload(EntityId queue, Workload workload) {
    Node& node = nodes_[queue];
    if (node.workload == workload) {
        return;
    }
    const bool was_active = active(queue);
    deactivate(queue);
    const VirtualTime distance = node.key - shelf_of(node).floor;
    node.workload = workload;
    node.key = shelf_of(node).floor + distance;
    if (was_active) {
        activate(queue);
    }
}

void ServiceTree::set_slice(EntityId queue, Nanoseconds slice) {
    constexpr Nanoseconds kLongest = UINT32_MAX;
    nodes_[queue].slice_us =
        static_cast<std::uint32_t>(std::clamp<Nanoseconds>(slice / kMicrosecond, 1, kLongest));
}

Nanoseconds ServiceTree::slice(EntityId queue) const {
    return slice_of(nodes_[queue]);
}

Weight ServiceTree::weight(EntityId id) const {
    return nodes_[id].weight;
}

bool ServiceTree::is_ancestor_or_same(EntityId ancestor, EntityId group) const {
    for (EntityId at = group;; at = nodes_[at].group) {
        if (at == ancestor) {
            return true;
        }
        if (at == kRoot) {
            return false;
        }
    }
}

std::size_t ServiceTree::active_queues(IoClass io_class) const {
    const auto& by_workload = active_[class_index(io_class)];
    return by_workload[0] + by_workload[1] + by_workload[2];
}

std::size_t ServiceTree::active_queues(IoClass io_class, Workload workload) const {
    return active_[class_index(io_class)][static_cast<std::size_t>(workload)];
}

}  // namespace lull::sched
