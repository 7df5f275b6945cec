// SPDX-License-Identifier: MIT
#include "db/text.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

namespace lull::db {
namespace {

struct Span {
    char32_t first;
    char32_t last;
};

template <std::size_t N>
bool in(const std::array<Span, N>& spans, char32_t value) {
    return std::any_of(spans.begin(), spans.end(), [value](const Span& span) {
        return value >= span.first && value <= span.last;
    });
}

// Unicode 15: C0 and C1 controls, soft hyphen, direction marks, zero-width, separators, tags.
constexpr std::array<Span, 11> kHidden{{{0x00, 0x1f},
                                        {0x7f, 0x9f},
                                        {0xad, 0xad},
                                        {0x61c, 0x61c},
                                        {0x180e, 0x180e},
                                        {0x200b, 0x200f},
                                        {0x2028, 0x202e},
                                        {0x2060, 0x206f},
                                        {0xfe00, 0xfe0f},
                                        {0xfeff, 0xfeff},
                                        {0xe0000, 0xe0fff}}};

// UAX #11: the blocks of which (nearly) all characters are wide.
constexpr std::array<Span, 9> kWide{{{0x1100, 0x115f},
                                     {0x2e80, 0xa4cf},
                                     {0xac00, 0xd7a3},
                                     {0xf900, 0xfaff},
                                     {0xfe30, 0xfe6f},
                                     {0xff00, 0xff60},
                                     {0xffe0, 0xffe6},
                                     {0x1f300, 0x1faff},
                                     {0x20000, 0x3fffd}}};

// The blocks of combining marks that are common in names (decomposed accents).
constexpr std::array<Span, 4> kCombining{
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}}};

std::size_t width_of(char32_t value) {
    if (in(kCombining, value)) {
        return 0;
    }
    return in(kWide, value) ? 2 : 1;
}

constexpr std::string_view kEllipsis = "…";

}  // namespace

CodePoint decode(std::string_view bytes) {
    if (bytes.empty()) {
        return {};
    }
    const auto lead = static_cast<unsigned char>(bytes[0]);
    if (lead < 0x80) {
        return {lead, 1, true};
    }
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    const CodePoint invalid{lead, 1, false};
    if (lead < 0xc2 || lead > 0xf4 || bytes.size() < size) {
        return invalid;
    }
    char32_t value = lead & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        const auto next = static_cast<unsigned char>(bytes[i]);
        if ((next & 0xc0) != 0x80) {
            return invalid;
        }
        value = value << 6 | (next & 0x3f);
    }
    constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (value < kSmallest[size] || value > 0x10ffff || surrogate) {
        return invalid;
    }
    return {value, size, true};
}

bool is_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const CodePoint point = decode(bytes);
        if (!point.valid) {
            return false;
        }
        bytes.remove_prefix(point.size);
    }
    return true;
}

std::string printable(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const CodePoint point = decode(bytes);
        if (point.valid && point.value == '\\') {
            text += "\\\\";
        } else if (!point.valid || point.value < 0x20 || point.value == 0x7f) {
            fmt::format_to(std::back_inserter(text), "\\x{:02x}",
                           static_cast<unsigned>(point.value));
        } else if (in(kHidden, point.value)) {
            fmt::format_to(std::back_inserter(text), "\\u{{{:x}}}",
                           static_cast<unsigned>(point.value));
        } else {
            text += bytes.substr(0, point.size);
        }
        bytes.remove_prefix(point.size);
    }
    return text;
}

std::size_t columns(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const CodePoint point = decode(text);
        width += width_of(point.value);
        text.remove_prefix(point.size);
    }
    return width;
}

std::string shorten(std::string_view text, std::size_t width) {
    const std::size_t total = columns(text);
    if (total <= width) {
        return std::string(text);
    }
    if (width == 0) {
        return {};
    }
    // The end of a path tells more than its start.
    const std::size_t head_room = (width - 1) / 3;
    const std::size_t tail_room = width - 1 - head_room;
    std::string head;
    std::size_t used = 0;
    std::string_view rest = text;
    for (CodePoint point = decode(rest); used + width_of(point.value) <= head_room;
         point = decode(rest)) {
        head += rest.substr(0, point.size);
        used += width_of(point.value);
        rest.remove_prefix(point.size);
    }
    std::size_t left = total - used;
    while (left > tail_room) {
        const CodePoint point = decode(rest);
        left -= width_of(point.value);
        rest.remove_prefix(point.size);
    }
    return head + std::string(kEllipsis) + std::string(rest);
}

std::string fit(std::string_view text, std::size_t width) {
    std::string fitted = shorten(text, width);
    const std::size_t used = columns(fitted);
    return fitted.append(width > used ? width - used : 0, ' ');
}

std::string human_size(std::uint64_t bytes) {
    if (bytes < 1024) {
        return fmt::format("{} B", bytes);
    }
    constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.5 would be printed as 1024.
    while (value >= 1023.5 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string utc_time(std::int64_t ns) {
    // Rounded down, also before the epoch.
    const std::time_t seconds = ns / 1'000'000'000 - (ns % 1'000'000'000 < 0 ? 1 : 0);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
    std::string wrapped;
    std::size_t used = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string word = shorten(text.substr(0, end), width - std::min(indent, width / 2));
        const std::size_t size = columns(word);
        if (used != 0 && used + 1 + size > width) {
            wrapped += '\n' + std::string(indent, ' ');
            used = indent;
        } else if (used != 0) {
            wrapped += ' ';
            ++used;
        }
        wrapped += word;
        used += size;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return wrapped;
}

std::string hex(std::string_view bytes) {
    std::string digits;
    digits.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(byte));
    }
    return digits;
}

}  // namespace lull::db
