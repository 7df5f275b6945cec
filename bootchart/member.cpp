// SPDX-License-Identifier: MIT
#include "bootchart/member.hpp"

#include <algorithm>

#include "bootchart/fields.hpp"

namespace lull::bootchart {
namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 10;
// 100 years of uptime: larger times are no times, and would overflow when counted in ns.
constexpr std::int64_t kMaxTime = std::int64_t{100} * 366 * 86400 * 100;

}  // namespace

void LineMember::feed(std::string_view piece) {
    while (!piece.empty()) {
        const std::size_t newline = piece.find('\n');
        const std::string_view text = piece.substr(0, newline);
        if (newline == std::string_view::npos) {
            partial_.append(text.substr(0, kMaxLine - std::min(kMaxLine, partial_.size())));
            return;
        }
        if (partial_.empty()) {
            line(text.substr(0, kMaxLine));
        } else {
            partial_.append(text.substr(0, kMaxLine - std::min(kMaxLine, partial_.size())));
            line(partial_);
            partial_.clear();
        }
        piece.remove_prefix(newline + 1);
    }
}

void LineMember::finish() {
    if (!partial_.empty()) {
        line(partial_);
        partial_.clear();
    }
    end();
}

void BlockMember::line(std::string_view text) {
    // Most lines are data, and none of data consists of digits only.
    const bool may_be_time = text.size() <= 20 && !text.empty() && text.back() <= '9';
    if (may_be_time || text.size() < 2) {
        const std::string_view bare = trim(text);
        if (bare.empty()) {
            if (in_block_ && !ignoring_) {
                end_block(true);
            }
            in_block_ = false;
            return;
        }
        if (const auto time = to_number<std::int64_t>(bare)) {
            if (in_block_ && !ignoring_) {
                end_block(true);
            }
            in_block_ = true;
            ignoring_ = *time <= last_time_ || *time > kMaxTime || blocks_ == max_blocks_;
            if (ignoring_) {
                ++dropped_;
                return;
            }
            last_time_ = *time;
            ++blocks_;
            begin_block(*time);
            return;
        }
    }
    if (in_block_ && !ignoring_) {
        data(text);
    }
}

void BlockMember::end() {
    if (in_block_ && !ignoring_) {
        end_block(false);
    }
}

}  // namespace lull::bootchart
