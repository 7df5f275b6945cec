// SPDX-License-Identifier: MIT
#include "sched/ioprio.hpp"

#include <array>

#include <fmt/format.h>
#include <strings.h>

namespace lull::sched {

std::optional<IoClass> io_class_named(std::string_view name) {
    constexpr std::array kClasses{IoClass::kNone, IoClass::kRealtime, IoClass::kBestEffort,
                                  IoClass::kIdle};
    for (const IoClass candidate : kClasses) {
        const std::string_view known = to_string(candidate);
        if (name.size() == known.size() &&
            ::strncasecmp(name.data(), known.data(), known.size()) == 0) {
            return candidate;
        }
    }
    return std::nullopt;
}

std::string describe(const IoPriority& priority) {
    std::string text(to_string(priority.io_class));
    if (priority.io_class != IoClass::kIdle) {
        text += fmt::format(": prio {}", priority.level);
    }
    if (priority.hint != 0) {
        text += fmt::format(", hint {}", priority.hint);
    }
    return text;
}

}  // namespace lull::sched
