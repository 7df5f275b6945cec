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
    [[maybe_unused]] const EntityId root = add_group(kNone, kDefaultWeight);
    assert(root == kRoot);
}

EntityId ServiceTree::new_node(Kind kind) {
    const EntityId id = take(nodes_, free_);
    nodes_[id].kind = kind;
    return id;
}

void ServiceTree::free_node(EntityId id) {
    nodes_[id] = {};
    free_.push_back(id);
}

EntityId ServiceTree::add_group(EntityId parent, Weight weight) {
    const EntityId id = new_node(Kind::kGroup);
    const std::uint32_t group = take(groups_, free_groups_);
    nodes_[id].data = group;
    nodes_[id].weight = std::clamp(weight, kLightest, kHeaviest);
    groups_[group].parent = parent;
    if (parent != kNone) {
        ++groups_[nodes_[parent].data].members;
    }
    return id;
}

EntityId ServiceTree::add_queue(EntityId group, const QueueSpec& spec) {
    assert(spec.io_class != IoClass::kNone);
    const std::uint32_t branch = branch_of(group, class_index(spec.io_class));
    const EntityId id = new_node(Kind::kQueue);
    Node& node = nodes_[id];
    node.data = branch;
    node.io_class = static_cast<std::uint8_t>(class_index(spec.io_class));
    node.workload = spec.workload;
    node.weight = std::clamp(spec.weight, kLightest, kHeaviest);
    set_slice(id, spec.slice);
    ++groups_[nodes_[group].data].members;
    return id;
}

/// The group in the tree of a class, put there at the first use.
std::uint32_t ServiceTree::branch_of(EntityId group, std::size_t io_class) {
    const std::uint32_t data = nodes_[group].data;
    if (const std::uint32_t known = groups_[data].branch[io_class]; known != kNone) {
        return known;
    }
    const std::uint32_t above = group == kRoot ? kNone : branch_of(groups_[data].parent, io_class);
    const std::uint32_t branch = take(branches_, free_branches_);
    branches_[branch].above = above;
    branches_[branch].group = group;
    branches_[branch].weight = nodes_[group].weight;
    groups_[data].branch[io_class] = branch;
    return branch;
}

void ServiceTree::remove(EntityId id) {
    assert(id != kRoot);
    --groups_[nodes_[group(id)].data].members;
    if (nodes_[id].kind == Kind::kQueue) {
        deactivate(id);
        free_node(id);
        return;
    }
    const std::uint32_t data = nodes_[id].data;
    assert(groups_[data].members == 0);
    for (const std::uint32_t branch : groups_[data].branch) {
        if (branch != kNone) {
            free_branches_.push_back(branch);
        }
    }
    free_groups_.push_back(data);
    free_node(id);
}

void ServiceTree::set_weight(EntityId id, Weight weight) {
    Node& node = nodes_[id];
    const Weight bounded = std::clamp(weight, kLightest, kHeaviest);
    if (node.kind == Kind::kGroup) {
        for (const std::uint32_t branch : groups_[node.data].branch) {
            if (branch != kNone) {
                branches_[branch].weight = bounded;
            }
        }
    } else if (node.place.active()) {
        change_weight(node, static_cast<std::int64_t>(bounded) - node.weight);
    }
    node.weight = bounded;
}

void ServiceTree::set_class(EntityId queue, IoClass io_class) {
    assert(io_class != IoClass::kNone);
    if (this->io_class(queue) == io_class) {
        return;
    }
    const bool was_active = active(queue);
    deactivate(queue);
    const std::uint32_t branch = branch_of(group(queue), class_index(io_class));
    Node& node = nodes_[queue];
    node.io_class = static_cast<std::uint8_t>(class_index(io_class));
    node.data = branch;
    node.place.slot = Place::kFresh;
    if (was_active) {
        activate(queue);
    }
}

/// The new lane has a virtual time of its own: what counts is how far the queue is from where
/// service is.
void ServiceTree::set_workload(EntityId queue, Workload workload) {
    Node& node = nodes_[queue];
    if (node.workload == workload) {
        return;
    }
    const bool was_active = node.place.active();
    deactivate(queue);
    const VirtualTime distance = node.place.key - siblings_of(node).now;
    node.workload = workload;
    node.place.key = siblings_of(node).now + distance;
    if (was_active) {
        activate(queue);
    }
}

void ServiceTree::set_slice(EntityId queue, Nanoseconds slice) {
    constexpr Nanoseconds kLongest = UINT32_MAX;
    nodes_[queue].slice_us =
        static_cast<std::uint32_t>(std::clamp<Nanoseconds>(slice / kMicrosecond, 1, kLongest));
}

EntityId ServiceTree::group(EntityId id) const {
    const Node& node = nodes_[id];
    return node.kind == Kind::kQueue ? branches_[node.data].group : groups_[node.data].parent;
}

bool ServiceTree::is_ancestor_or_same(EntityId ancestor, EntityId group) const {
    EntityId at = group;
    while (at != ancestor && at != kRoot) {
        at = groups_[nodes_[at].data].parent;
    }
    return at == ancestor;
}

}  // namespace lull::sched
