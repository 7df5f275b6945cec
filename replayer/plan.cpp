// SPDX-License-Identifier: MIT
#include "replayer/plan.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace lull::replayer {
namespace {

constexpr std::uint64_t kNoPage = std::numeric_limits<std::uint64_t>::max();

/// A piece on its way into the order.
struct Entry {
    Piece piece;
    std::uint64_t window = 0;
    int rank = 0;                 ///< what comes first inside a window
    std::uint64_t fallback = 0;   ///< order among pieces without position
    std::uint64_t next_page = 0;  ///< where the next demanded page of the same file begins
    std::uint64_t bridge = 0;     ///< pages to read through after it, up to the next entry
};

int rank_of(db::FileKind kind) {
    switch (kind) {
        case db::FileKind::kDevice:
            return 0;
        case db::FileKind::kDirectory:
            return 1;
        case db::FileKind::kInode:
            return 2;
        case db::FileKind::kRegular:
            break;
    }
    return 3;
}

/// Pages of the disk lie where their number says, whatever the trace recorded.
std::optional<std::uint64_t> position_of(const db::File& file, const Piece& piece) {
    if (file.kind == db::FileKind::kDevice) {
        return piece.first_page * db::kPageSize;
    }
    return piece.position;
}

auto order_key(const Entry& entry) {
    return std::make_tuple(entry.window, entry.rank, !entry.piece.position,
                           entry.piece.position.value_or(0), entry.fallback, entry.piece.file,
                           entry.piece.first_page);
}

/// Keeps what is needed first, up to the budget; the piece at the edge is cut.
std::vector<Piece> within_budget(std::vector<Piece> pieces, std::uint64_t max_bytes, Plan& plan) {
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return a.first_use_ns < b.first_use_ns;
    });
    std::uint64_t left = max_bytes / db::kPageSize;
    std::vector<Piece> kept;
    for (Piece& piece : pieces) {
        const std::uint64_t take = std::min(left, piece.pages);
        if (take < piece.pages) {
            Piece rest = piece;
            rest.first_page += take;
            rest.pages -= take;
            plan.over_budget.push_back(rest);
            piece.pages = take;
            if (take == 0) {
                continue;
            }
        }
        left -= take;
        kept.push_back(piece);
    }
    return kept;
}

std::vector<Entry> in_order(const Demand& demand, std::vector<Piece> pieces,
                            std::uint64_t window_ns) {
    std::unordered_map<std::uint32_t, std::uint64_t> file_first_use;
    for (const Piece& piece : pieces) {
        const auto [place, is_new] = file_first_use.emplace(piece.file, piece.first_use_ns);
        if (!is_new) {
            place->second = std::min(place->second, piece.first_use_ns);
        }
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
        return std::tie(a.file, a.first_page) < std::tie(b.file, b.first_page);
    });
    std::vector<Entry> entries;
    entries.reserve(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        const bool last = i + 1 == pieces.size() || pieces[i + 1].file != piece.file;
        const db::File& file = demand.files[piece.file];
        Entry entry;
        entry.piece = piece;
        entry.window = window_ns == 0 ? 0 : piece.first_use_ns / window_ns;
        entry.rank = rank_of(file.kind);
        entry.fallback = file_first_use[piece.file];
        entry.next_page = last ? kNoPage : pieces[i + 1].first_page;
        entry.piece.position = position_of(file, piece);
        if (file.kind == db::FileKind::kDirectory || file.kind == db::FileKind::kInode) {
            // Inode numbers follow the disk on the file systems that have such entries.
            entry.fallback = file.inode;
        }
        entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return order_key(a) < order_key(b); });
    return entries;
}

/// Pages between two neighbours of the order that one read could cover: 0 if they touch, nothing if
/// they lie in different files or windows, if pages between them are demanded in another window, or
/// if the disk does not lay them out as the file does.
std::optional<std::uint64_t> gap_between(const Entry& a, const Entry& b) {
    const bool same_stretch = a.piece.file == b.piece.file && a.window == b.window &&
                              a.piece.pages > 0 && b.piece.first_page == a.next_page &&
                              a.piece.position.has_value() == b.piece.position.has_value();
    if (!same_stretch) {
        return std::nullopt;
    }
    const std::uint64_t gap = b.piece.first_page - a.piece.end_page();
    if (!a.piece.position) {
        return gap == 0 ? std::optional(gap) : std::nullopt;
    }
    const std::uint64_t on_disk = *b.piece.position - *a.piece.position;
    return on_disk == (a.piece.pages + gap) * db::kPageSize ? std::optional(gap) : std::nullopt;
}

/// Chooses the gaps to read through: the smallest first, until the budget is used up.
void choose_gaps(std::vector<Entry>& entries, std::uint64_t demanded_pages,
                 const PlanOptions& options) {
    const std::uint64_t longest =
        options.seek_ns / std::max<std::uint64_t>(options.ns_per_byte, 1) / db::kPageSize;
    std::vector<std::pair<std::uint64_t, std::size_t>> gaps;
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
        const auto gap = gap_between(entries[i], entries[i + 1]);
        if (gap && *gap > 0 && *gap < longest) {
            gaps.emplace_back(*gap, i);
        }
    }
    std::sort(gaps.begin(), gaps.end());
    auto budget = static_cast<std::uint64_t>(std::max(options.read_through, 0.0) *
                                             static_cast<double>(demanded_pages));
    for (const auto& [gap, index] : gaps) {
        if (gap > budget) {
            break;
        }
        budget -= gap;
        entries[index].bridge = gap;
    }
}

/// Strings pieces together into chunks of at most `limit` pages.
class ChunkBuilder {
  public:
    ChunkBuilder(Plan& plan, std::uint64_t limit) : plan_(plan), limit_(limit) {}

    /// `gap`: pages between this piece and the one before, if one read may cover both.
    void add(const Entry& entry, std::optional<std::uint64_t> gap);

  private:
    void append(const Piece& piece, std::uint64_t gap, std::uint64_t take);

    Plan& plan_;
    std::uint64_t limit_;
};

void ChunkBuilder::append(const Piece& piece, std::uint64_t gap, std::uint64_t take) {
    Chunk& chunk = plan_.chunks.back();
    chunk.pages += static_cast<std::uint32_t>(gap + take);
    chunk.gap_pages += static_cast<std::uint32_t>(gap);
    chunk.first_use_ns = std::min(chunk.first_use_ns, piece.first_use_ns);
    plan_.gap_pages += gap;
    plan_.demanded_pages += take;
}

void ChunkBuilder::add(const Entry& entry, std::optional<std::uint64_t> gap) {
    Piece rest = entry.piece;
    const auto cut = [&rest](std::uint64_t pages) {
        rest.first_page += pages;
        rest.pages -= pages;
        if (rest.position) {
            *rest.position += pages * db::kPageSize;
        }
    };
    if (gap && plan_.chunks.back().pages + *gap < limit_) {
        const std::uint64_t take = std::min(rest.pages, limit_ - *gap - plan_.chunks.back().pages);
        append(rest, *gap, take);
        cut(take);
        if (rest.pages == 0) {
            return;
        }
    }
    do {
        const std::uint64_t take = std::min(rest.pages, limit_);
        plan_.chunks.push_back(
            {rest.file, rest.first_page, 0, 0, rest.first_use_ns, entry.window, rest.position});
        append(rest, 0, take);
        cut(take);
    } while (rest.pages > 0);
}

}  // namespace

Plan make_plan(const Demand& demand, std::uint32_t device, const PlanOptions& options) {
    Plan plan;
    std::vector<Piece> pieces;
    std::copy_if(demand.pieces.begin(), demand.pieces.end(), std::back_inserter(pieces),
                 [&](const Piece& piece) { return demand.files[piece.file].device == device; });
    pieces = within_budget(std::move(pieces), options.max_bytes, plan);
    std::uint64_t demanded_pages = 0;
    for (const Piece& piece : pieces) {
        demanded_pages += piece.pages;
    }
    std::vector<Entry> entries = in_order(demand, std::move(pieces), options.window_ns);
    choose_gaps(entries, demanded_pages, options);

    const std::uint64_t limit =
        std::clamp<std::uint64_t>(options.chunk_bytes / db::kPageSize, 1, UINT32_MAX);
    ChunkBuilder builder{plan, limit};
    for (std::size_t i = 0; i < entries.size(); ++i) {
        std::optional<std::uint64_t> gap;
        if (i > 0) {
            gap = gap_between(entries[i - 1], entries[i]);
            if (gap != entries[i - 1].bridge) {
                gap.reset();
            }
        }
        builder.add(entries[i], gap);
    }
    return plan;
}

Demand only(const Demand& demand, bool metadata) {
    Demand part{demand.devices, demand.files, {}, {}};
    std::copy_if(demand.pieces.begin(), demand.pieces.end(), std::back_inserter(part.pieces),
                 [&](const Piece& piece) {
                     return (demand.files[piece.file].kind != db::FileKind::kRegular) == metadata;
                 });
    return part;
}

}  // namespace lull::replayer
