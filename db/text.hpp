// SPDX-License-Identifier: MIT
// Bytes from a kernel or a database made fit for a terminal and for JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lull::db {

/// The code point at the start of a text, and how many bytes it takes. A byte that begins no valid
/// UTF-8 has `valid` false and `size` 1. An empty text has size 0.
struct CodePoint {
    char32_t value = 0;
    std::size_t size = 0;
    bool valid = false;
};
[[nodiscard]] CodePoint decode(std::string_view bytes);

[[nodiscard]] bool is_utf8(std::string_view bytes);

/// Safe to print on one line of a terminal: a backslash is doubled, control bytes and bytes that
/// are not UTF-8 become \xNN, characters that steer the terminal or hide (direction marks,
/// zero-width ones, separators) become \u{N}. The result is valid UTF-8.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Columns that a printable text takes: 2 for wide East Asian characters and emoji, 0 for combining
/// marks, else 1.
[[nodiscard]] std::size_t columns(std::string_view text);

/// `text`, which is printable, with its middle replaced by "…" if it takes more than `width`
/// columns; more of the end is kept than of the start.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

/// `text` shortened and filled up with spaces to exactly `width` columns.
[[nodiscard]] std::string fit(std::string_view text, std::size_t width);

/// "0 B", "512 B", "4.0 KiB", "17.3 MiB", "513 GiB": at most 8 columns.
[[nodiscard]] std::string human_size(std::uint64_t bytes);

/// ns since the epoch as "2026-09-22 14:13:20", in UTC.
[[nodiscard]] std::string utc_time(std::int64_t ns);

/// `text`, which is printable, broken at spaces into lines of at most `width` columns, the second
/// and later ones indented by `indent`. Words that do not fit a line are shortened.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

/// Bytes as lower-case hexadecimal digits.
[[nodiscard]] std::string hex(std::string_view bytes);

}  // namespace lull::db
