// SPDX-License-Identifier: MIT
// Which of many entities has the least virtual time: a tournament tree, four to a match.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace lull::sched {

/// Virtual time wraps around; two keys in use are never half the circle apart.
using VirtualTime = std::uint64_t;

[[nodiscard]] constexpr bool earlier(VirtualTime a, VirtualTime b) {
    return static_cast<std::int64_t>(a - b) < 0;
}
[[nodiscard]] constexpr VirtualTime later_of(VirtualTime a, VirtualTime b) {
    return earlier(a, b) ? b : a;
}

/// An entity keeps its slot while it takes part, so a change plays again the matches between it and
/// the root and nothing else: O(log n), one cache line a match, all of them known in advance. A
/// heap would move others, whose places have to be noted elsewhere. Room grows by doubling and is
/// never given back; one entity alone needs none.
class Tournament {
  public:
    using Id = std::uint32_t;  ///< anything but kNowhere
    static constexpr std::uint32_t kNowhere = UINT32_MAX;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    /// Only if not empty.
    [[nodiscard]] Id first() const { return winner_.id; }
    [[nodiscard]] VirtualTime first_key() const { return winner_.key; }

    /// Gives the slot. Of two with the same key the one with the earlier `order` goes first;
    /// `order` wraps around too.
    std::uint32_t add(Id id, VirtualTime key, std::uint32_t order);
    void move(std::uint32_t slot, VirtualTime key, std::uint32_t order);
    void remove(std::uint32_t slot);

  private:
    static constexpr std::uint32_t kWays = 4;
    static constexpr std::size_t kCacheLine = 64;

    /// A free slot has no id, and the next free one as its key.
    struct Item {
        VirtualTime key = 0;
        std::uint32_t order = 0;
        Id id = kNowhere;
        bool operator==(const Item&) const = default;
    };
    struct alignas(kCacheLine) Match {
        std::array<Item, kWays> items;
    };
    static_assert(sizeof(Match) == kCacheLine);

    [[nodiscard]] static const Item& winner_of(const Match& match, VirtualTime base);
    [[nodiscard]] static std::uint32_t next_round(std::uint32_t matches) {
        return (matches + kWays - 1) / kWays;
    }

    [[nodiscard]] Item& at(std::uint32_t slot) {
        return matches_[slot / kWays].items[slot % kWays];
    }
    void play(std::uint32_t slot);
    void grow();

    /// Those of the slots, then those of their winners, and so on; the last is the final.
    std::unique_ptr<Match[]> matches_;
    std::uint32_t first_round_ = 0;  ///< matches of the slots
    std::uint32_t used_ = 0;         ///< slots that were ever given out
    std::uint32_t free_ = kNowhere;  ///< the slot that was freed last
    std::uint32_t size_ = 0;
    Item winner_;
};

/// Without a branch, since who wins is not to be predicted. `base` is any key in use.
inline const Tournament::Item& Tournament::winner_of(const Match& match, VirtualTime base) {
    const auto rank = [&match, base](std::uint64_t i) {
        const auto free = -static_cast<std::uint64_t>(match.items[i].id == kNowhere);
        return static_cast<std::int64_t>(((match.items[i].key - base) & ~free) | (free >> 1U));
    };
    const auto better = [&match, &rank](std::uint64_t a, std::uint64_t b) {
        const std::int64_t a_rank = rank(a);
        const std::int64_t b_rank = rank(b);
        const std::uint32_t a_first = (match.items[a].order - match.items[b].order) >> 31U;
        const auto a_wins = static_cast<std::uint64_t>(a_rank < b_rank) |
                            (static_cast<std::uint64_t>(a_rank == b_rank) & a_first);
        return b ^ ((a ^ b) & -a_wins);
    };
    return match.items[better(better(0, 1), better(2, 3))];
}

inline std::uint32_t Tournament::add(Id id, VirtualTime key, std::uint32_t order) {
    if (size_ == 0 && first_round_ == 0) {
        size_ = used_ = 1;
        winner_ = {key, order, id};
        return 0;
    }
    std::uint32_t slot = free_;
    if (slot != kNowhere) {
        free_ = static_cast<std::uint32_t>(at(slot).key);
    } else {
        if (used_ == kWays * first_round_ || first_round_ == 0) {
            grow();
        }
        slot = used_++;
    }
    if (size_++ == 0) {
        winner_.key = key;
    }
    at(slot) = {key, order, id};
    play(slot);
    return slot;
}

inline void Tournament::move(std::uint32_t slot, VirtualTime key, std::uint32_t order) {
    if (first_round_ == 0) {
        winner_.key = key;
        winner_.order = order;
        return;
    }
    Item& item = at(slot);
    item.key = key;
    item.order = order;
    play(slot);
}

inline void Tournament::remove(std::uint32_t slot) {
    --size_;
    if (first_round_ == 0) {
        used_ = 0;
        winner_ = {};
        return;
    }
    at(slot) = {free_, 0, kNowhere};
    free_ = slot;
    play(slot);
}

/// Plays the matches from a slot whose item has changed up to the one whose winner has not.
inline void Tournament::play(std::uint32_t slot) {
    // With many entities the first rounds are not in the cache: ask for all of them at once.
    constexpr std::uint32_t kCached = 256;
    const Match* asked = matches_.get();
    std::uint32_t ahead = slot / kWays;
    for (std::uint32_t some = first_round_; some > kCached; some = next_round(some)) {
        __builtin_prefetch(&asked[ahead], 1);
        asked += some;
        ahead /= kWays;
    }
    std::uint32_t match = slot / kWays;
    std::uint32_t round = first_round_;
    Match* matches = matches_.get();
    const VirtualTime base = winner_.key;
    for (;;) {
        const Item winner = winner_of(matches[match], base);
        if (round == 1) {
            winner_ = winner;
            return;
        }
        matches += round;
        Item& place = matches[match / kWays].items[match % kWays];
        if (place == winner) {
            return;
        }
        place = winner;
        match /= kWays;
        round = next_round(round);
    }
}

inline void Tournament::grow() {
    const std::uint32_t first_round = first_round_ == 0 ? 1 : 2 * first_round_;
    std::size_t matches = first_round;
    for (std::uint32_t round = first_round; round > 1;) {
        round = next_round(round);
        matches += round;
    }
    auto grown = std::make_unique<Match[]>(matches);
    if (first_round_ == 0) {
        grown[0].items[0] = winner_;
    }
    for (std::uint32_t match = 0; match < first_round_; ++match) {
        grown[match] = matches_[match];
    }
    Match* from = grown.get();
    for (std::uint32_t round = first_round; round > 1; round = next_round(round)) {
        for (std::uint32_t match = 0; match < round; ++match) {
            from[round + match / kWays].items[match % kWays] = winner_of(from[match], winner_.key);
        }
        from += round;
    }
    matches_ = std::move(grown);
    first_round_ = first_round;
}

}  // namespace lull::sched
