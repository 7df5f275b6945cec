// SPDX-License-Identifier: MIT
#include "sched/near_index.hpp"

#include <algorithm>
#include <bit>

namespace lull::sched {

namespace {
constexpr std::size_t kFewestLists = 64;
/// Fibonacci hashing: neighbouring buckets spread over the whole table.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
}  // namespace

std::size_t NearIndex::slot_of(Sector bucket) const {
    return bucket * kGolden >> (64 - std::countr_zero(lists_.size()));
}

std::uint32_t NearIndex::first_of(Sector bucket) const {
    return lists_.empty() ? kNone : lists_[slot_of(bucket)].first;
}

void NearIndex::set(std::uint32_t queue, Sector sector) {
    if (queue >= nodes_.size()) {
        grow(queue + std::size_t{1});
    }
    Node& node = nodes_[queue];
    if (node.listed && node.sector / kNear == sector / kNear) {
        node.sector = sector;
        return;
    }
    clear(queue);
    node.sector = sector;
    link(queue);
}

void NearIndex::clear(std::uint32_t queue) {
    if (queue < nodes_.size() && nodes_[queue].listed) {
        unlink(queue);
    }
}

void NearIndex::link(std::uint32_t queue) {
    Node& node = nodes_[queue];
    List& list = lists_[slot_of(node.sector / kNear)];
    node.previous = list.last;
    node.next = kNone;
    node.listed = true;
    (list.last == kNone ? list.first : nodes_[list.last].next) = queue;
    list.last = queue;
}

void NearIndex::unlink(std::uint32_t queue) {
    Node& node = nodes_[queue];
    List& list = lists_[slot_of(node.sector / kNear)];
    (node.previous == kNone ? list.first : nodes_[node.previous].next) = node.next;
    (node.next == kNone ? list.last : nodes_[node.next].previous) = node.previous;
    node.listed = false;
}

void NearIndex::grow(std::size_t queues) {
    nodes_.resize(std::max(queues, nodes_.size() * 2));
    const std::size_t lists = std::max(kFewestLists, std::bit_ceil(nodes_.size()));
    if (lists <= lists_.size()) {
        return;
    }
    // The order within a list is that of arrival; relinking in the old lists' order keeps it.
    const std::vector<List> old = std::move(lists_);
    lists_.assign(lists, {});
    for (const List& list : old) {
        for (std::uint32_t queue = list.first; queue != kNone;) {
            const std::uint32_t next = nodes_[queue].next;
            link(queue);
            queue = next;
        }
    }
}

}  // namespace lull::sched
