// SPDX-License-Identifier: MIT
#include "replayer/locate.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "fs/extents.hpp"

namespace lull::replayer {
namespace {

bool lacks_position(const Demand& demand, const Piece& piece, std::uint32_t device) {
    const db::File& file = demand.files[piece.file];
    return file.device == device && file.kind == db::FileKind::kRegular && !piece.position;
}

/// Pages from `page` on that lie in one extent, or in no extent; at least one.
std::uint64_t pages_in_one_stretch(const std::vector<fs::Extent>& extents, std::uint64_t page,
                                   std::uint64_t pages) {
    const std::uint64_t offset = page * db::kPageSize;
    std::uint64_t end = (page + pages) * db::kPageSize;
    for (const fs::Extent& extent : extents) {
        if (extent.logical > offset) {
            end = std::min(end, extent.logical);
            break;
        }
        if (offset < extent.logical + extent.length) {
            end = std::min(end, extent.logical + extent.length);
            break;
        }
    }
    return std::max<std::uint64_t>((end - offset) / db::kPageSize, 1);
}

void cut_and_place(const std::vector<fs::Extent>& extents, Piece piece, std::vector<Piece>& out) {
    while (piece.pages > 0) {
        Piece part = piece;
        part.pages =
            std::min(piece.pages, pages_in_one_stretch(extents, piece.first_page, piece.pages));
        part.position = fs::position_of(extents, part.first_page * db::kPageSize);
        out.push_back(part);
        piece.first_page += part.pages;
        piece.pages -= part.pages;
    }
}

std::vector<fs::Extent> extents_of(const Target& target, const db::File& file) {
    const Opened opened = target.open(file);
    const Fd* fd = std::get_if<Fd>(&opened);
    if (fd == nullptr) {
        return {};
    }
    auto extents = fs::file_extents(fd->get());
    return extents ? *std::move(extents) : std::vector<fs::Extent>{};
}

}  // namespace

bool lacks_positions(const Demand& demand, std::uint32_t device) {
    return std::any_of(demand.pieces.begin(), demand.pieces.end(),
                       [&](const Piece& piece) { return lacks_position(demand, piece, device); });
}

void locate(const Target& target, Demand& demand, std::uint32_t device) {
    std::vector<Piece> pieces;
    std::vector<fs::Extent> extents;
    const db::File* known = nullptr;
    for (const Piece& piece : demand.pieces) {
        if (!lacks_position(demand, piece, device)) {
            pieces.push_back(piece);
            continue;
        }
        const db::File& file = demand.files[piece.file];
        if (known != &file) {
            extents = extents_of(target, file);
            known = &file;
        }
        cut_and_place(extents, piece, pieces);
    }
    demand.pieces = std::move(pieces);
}

}  // namespace lull::replayer
