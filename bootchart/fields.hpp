// SPDX-License-Identifier: MIT
// Takes the fields of a line of text one after the other.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace lull::bootchart {

/// Blanks and control characters. One comparison, since most of the time of reading goes here.
inline bool is_blank(char c) {
    return static_cast<unsigned char>(c) <= ' ';
}

/// `text` without blanks at both ends.
inline std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// The whole of `text` as a number, or nothing.
template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc{} || stop != end || text.empty()) {
        return std::nullopt;
    }
    return value;
}

/// Fields are separated by blanks.
class Fields {
  public:
    explicit Fields(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}

    /// The next field; empty at the end of the line.
    std::string_view next() {
        skip_blanks();
        const char* begin = at_;
        while (at_ != end_ && !is_blank(*at_)) {
            ++at_;
        }
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }

    void skip(int count) {
        for (; count > 0; --count) {
            next();
        }
    }

    /// The next field as a count. What is not one ends the reading, as the end of the line does:
    /// ok() tells.
    std::uint64_t count() {
        skip_blanks();
        std::uint64_t value = 0;
        const auto [stop, code] = std::from_chars(at_, end_, value);
        if (code != std::errc{} || (stop != end_ && !is_blank(*stop))) {
            ok_ = false;
            at_ = end_;
            return 0;
        }
        at_ = stop;
        return value;
    }

    /// The same for counters that a kernel printed signed: below zero is zero.
    std::uint64_t clamped_count() {
        skip_blanks();
        if (at_ != end_ && *at_ == '-') {
            next();
            return 0;
        }
        return count();
    }

    [[nodiscard]] bool at_end() {
        skip_blanks();
        return at_ == end_;
    }
    [[nodiscard]] bool ok() const { return ok_; }

  private:
    void skip_blanks() {
        while (at_ != end_ && is_blank(*at_)) {
            ++at_;
        }
    }

    const char* at_;
    const char* end_;
    bool ok_ = true;
};

}  // namespace lull::bootchart
