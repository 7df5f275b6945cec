// SPDX-License-Identifier: MIT
// Which queue's next request lies close to the head: those queues cooperate with the one that was
// just served, and serving them next costs no seek.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/units.hpp"

namespace lull::sched {

/// Next requests by position. Every operation is O(1) but for the growth of the tables with the
/// number of queues, and find() looks at a bounded number of queues.
class NearIndex {
  public:
    /// As far as CFQ's CLOSE_THR (4.20): 8192 sectors, 4 MiB.
    static constexpr Sector kNear = 8192;

    /// `queue` waits for `sector`; replaces what was known of it.
    void set(std::uint32_t queue, Sector sector);
    void clear(std::uint32_t queue);

    /// The closest queue within kNear of `head` for which `fits(queue)` holds; of those equally
    /// close the one that came first. Looks at kLooks queues of each of three buckets at most, so
    /// a crowd in one place may hide a queue from it.
    template <typename Fits>
    [[nodiscard]] std::optional<std::uint32_t> find(Sector head, Fits fits) const {
        std::optional<std::uint32_t> best;
        Sector best_distance = kNear + 1;
        const Sector middle = head / kNear;
        for (Sector bucket = middle - (middle > 0 ? 1 : 0); bucket <= middle + 1; ++bucket) {
            std::uint32_t queue = first_of(bucket);
            for (int looks = 0; queue != kNone && looks < kLooks; ++looks) {
                const Sector at = nodes_[queue].sector;
                const Sector distance = at > head ? at - head : head - at;
                if (distance < best_distance && fits(queue)) {
                    best = queue;
                    best_distance = distance;
                }
                queue = nodes_[queue].next;
            }
        }
        return best;
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr int kLooks = 16;

    struct Node {
        Sector sector = 0;
        std::uint32_t previous = kNone;
        std::uint32_t next = kNone;
        bool listed = false;
    };

    [[nodiscard]] std::size_t slot_of(Sector bucket) const;
    [[nodiscard]] std::uint32_t first_of(Sector bucket) const;
    void link(std::uint32_t queue);
    void unlink(std::uint32_t queue);
    void grow(std::size_t queues);

    struct List {
        std::uint32_t first = kNone;
        std::uint32_t last = kNone;
    };
    std::vector<Node> nodes_;  ///< by queue
    std::vector<List> lists_;  ///< by hash of the bucket; a power of two
};

}  // namespace lull::sched
