// SPDX-License-Identifier: MIT
// The entities of one tree by virtual time: a heap that knows where each entity stands, so that any
// of them can be moved or taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lull::sched {

/// Virtual time wraps around; two keys in use are never half the circle apart.
using VirtualTime = std::uint64_t;

[[nodiscard]] constexpr bool earlier(VirtualTime a, VirtualTime b) {
    return static_cast<std::int64_t>(a - b) < 0;
}

/// Four children a node: half the depth of a binary heap, and the four lie in one cache line or
/// two. Push, move and remove are O(log n).
class EntityHeap {
  public:
    using Id = std::uint32_t;
    static constexpr std::uint32_t kNowhere = UINT32_MAX;
    /// Where each entity stands in its heap, by id; shared by all heaps, since an entity stands in
    /// one at most.
    using Positions = std::vector<std::uint32_t>;

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] std::size_t size() const { return items_.size(); }
    /// Only if not empty.
    [[nodiscard]] Id first() const { return items_.front().id; }
    [[nodiscard]] VirtualTime first_key() const { return items_.front().key; }
    [[nodiscard]] VirtualTime key_at(std::uint32_t position) const { return items_[position].key; }

    /// Of two with the same key the one with the earlier `order` goes first; `order` wraps too.
    void push(Id id, VirtualTime key, std::uint32_t order, Positions& positions) {
        items_.push_back({key, order, id});
        up(items_.size() - 1, positions);
    }
    void move(std::uint32_t position, VirtualTime key, std::uint32_t order, Positions& positions) {
        items_[position].key = key;
        items_[position].order = order;
        settle(position, positions);
    }
    void remove(std::uint32_t position, Positions& positions) {
        positions[items_[position].id] = kNowhere;
        const Item last = items_.back();
        items_.pop_back();
        if (position < items_.size()) {
            items_[position] = last;
            settle(position, positions);
        }
    }

  private:
    static constexpr std::size_t kChildren = 4;

    struct Item {
        VirtualTime key;
        std::uint32_t order;
        Id id;
    };

    [[nodiscard]] static bool before(const Item& a, const Item& b) {
        return a.key == b.key ? static_cast<std::int32_t>(a.order - b.order) < 0
                              : earlier(a.key, b.key);
    }

    void settle(std::size_t at, Positions& positions) {
        if (at > 0 && before(items_[at], items_[(at - 1) / kChildren])) {
            up(at, positions);
        } else {
            down(at, positions);
        }
    }
    void up(std::size_t at, Positions& positions) {
        const Item item = items_[at];
        while (at > 0) {
            const std::size_t parent = (at - 1) / kChildren;
            if (!before(item, items_[parent])) {
                break;
            }
            place(at, items_[parent], positions);
            at = parent;
        }
        place(at, item, positions);
    }
    void down(std::size_t at, Positions& positions) {
        const Item item = items_[at];
        for (;;) {
            std::size_t child = at * kChildren + 1;
            if (child >= items_.size()) {
                break;
            }
            const std::size_t end =
                child + kChildren < items_.size() ? child + kChildren : items_.size();
            for (std::size_t other = child + 1; other < end; ++other) {
                if (before(items_[other], items_[child])) {
                    child = other;
                }
            }
            if (!before(items_[child], item)) {
                break;
            }
            place(at, items_[child], positions);
            at = child;
        }
        place(at, item, positions);
    }
    void place(std::size_t at, const Item& item, Positions& positions) {
        items_[at] = item;
        positions[item.id] = static_cast<std::uint32_t>(at);
    }

    std::vector<Item> items_;
};

}  // namespace lull::sched
