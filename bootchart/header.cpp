// SPDX-License-Identifier: MIT
#include "bootchart/header.hpp"

#include <algorithm>

#include "bootchart/fields.hpp"

namespace lull::bootchart {
namespace {

bool is_key(std::string_view key) {
    return key == "version" || key == "title" || key.starts_with("system.") ||
           key.starts_with("profile.");
}

/// "model name : Intel(R) ... 6600  @ 2.40GHz (2)" becomes "Intel(R) ... 6600 @ 2.40GHz". The value
/// holds one such line for each CPU; the first will do.
std::string cpu_model(std::string_view value) {
    value = value.substr(0, value.find('\n'));
    const std::size_t colon = value.find(':');
    if (colon != std::string_view::npos &&
        trim(value.substr(0, colon)).find_first_of("()@") == std::string_view::npos) {
        value.remove_prefix(colon + 1);
    }
    std::string model;
    Fields fields(value);
    for (auto word = fields.next(); !word.empty(); word = fields.next()) {
        const bool number = word.size() > 2 && word.front() == '(' && word.back() == ')' &&
                            to_number<unsigned>(word.substr(1, word.size() - 2));
        if (number) {
            continue;
        }
        model += (model.empty() ? "" : " ") + std::string(word);
    }
    return model;
}

/// The number in parentheses at the end.
unsigned cpu_count(std::string_view value) {
    const std::size_t open = value.rfind('(');
    const std::size_t close = value.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return 0;
    }
    return to_number<unsigned>(value.substr(open + 1, close - open - 1)).value_or(0);
}

}  // namespace

void Header::line(std::string_view text) {
    if (text.size() > left_) {
        return;
    }
    left_ -= text.size();
    const std::size_t equals = text.find('=');
    const std::string_view key = trim(text.substr(0, equals));
    if (equals != std::string_view::npos && is_key(key)) {
        entries_.push_back({std::string(key), std::string(trim(text.substr(equals + 1)))});
    } else if (!entries_.empty() && !trim(text).empty()) {
        entries_.back().value += '\n';
        entries_.back().value += trim(text);
    }
}

std::string Header::value(std::string_view key) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [key](const Entry& entry) { return entry.key == key; });
    return found == entries_.end() ? std::string() : found->value;
}

Facts Header::facts() const {
    Facts facts;
    facts.version = value("version");
    facts.title = value("title");
    facts.kernel = value("system.uname");
    facts.release = value("system.release");
    facts.cpu = cpu_model(value("system.cpu"));
    facts.cpus =
        to_number<unsigned>(value("system.cpu.num")).value_or(cpu_count(value("system.cpu")));
    facts.kernel_cmdline = value("system.kernel.options");
    return facts;
}

void KernelLog::line(std::string_view text) {
    if (text.size() > left_) {
        return;
    }
    left_ -= text.size();
    if (text.starts_with('<')) {
        text.remove_prefix(std::min(text.find('>'), text.size() - 1) + 1);
    }
    const std::size_t close = text.find(']');
    if (!text.starts_with('[') || close == std::string_view::npos) {
        return;
    }
    const auto seconds = to_number<double>(trim(text.substr(1, close - 1)));
    const std::string_view message = trim(text.substr(close + 1));
    constexpr std::string_view kInit = "Run /";  // "Run /init as init process", since 4.16
    constexpr std::string_view kFreed = "Freeing unused kernel";
    const bool init = message.starts_with(kInit) && message.ends_with(" as init process");
    constexpr double kMaxSeconds = 1e8;
    if (!seconds || !(*seconds >= 0) || *seconds > kMaxSeconds ||
        (!init && !message.starts_with(kFreed))) {
        return;
    }
    const std::string name = init ? "kernel: init" : "kernel: memory freed";
    const bool known = std::any_of(milestones_.begin(), milestones_.end(),
                                   [&name](const Milestone& one) { return one.name == name; });
    if (!known) {
        milestones_.push_back({name, static_cast<std::int64_t>(*seconds * 1e9)});
    }
}

}  // namespace lull::bootchart
