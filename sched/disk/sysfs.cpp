// SPDX-License-Identifier: MIT
#include "sched/disk/sysfs.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::sched {
namespace {

constexpr std::string_view kBlanks = " \t";

Result<void> write_value(const std::filesystem::path& file, const std::string& value) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
        return last_error(file.string() + " = " + value);
    }
    return {};
}

Result<std::string> value_in_effect(const std::filesystem::path& file) {
    auto line = read_value(file);
    if (line) {
        if (auto choice = parse_choice(*line); !choice.chosen.empty()) {
            return choice.chosen;
        }
    }
    return line;
}

}  // namespace

Result<std::string> read_value(const std::filesystem::path& file) {
    constexpr std::size_t kPage = 4096;  // sysfs gives no more
    const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        return last_error(file.string());
    }
    std::array<char, kPage> page{};
    const auto length = ::read(fd.get(), page.data(), page.size());
    if (length < 0) {
        return last_error(file.string());
    }
    std::string_view line(page.data(), static_cast<std::size_t>(length));
    line = line.substr(0, line.find('\n'));
    const auto begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return std::string();
    }
    return std::string(line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1));
}

Result<std::uint64_t> read_number(const std::filesystem::path& file) {
    auto text = read_value(file);
    if (!text) {
        return text.error();
    }
    std::uint64_t number = 0;
    const char* end = text->data() + text->size();
    const auto [stop, code] = std::from_chars(text->data(), end, number);
    if (code != std::errc{} || stop != end) {
        return Error{EBADMSG, file.string() + ": \"" + *text + "\" is no number"};
    }
    return number;
}

Choice parse_choice(std::string_view line) {
    Choice choice;
    std::istringstream words{std::string(line)};
    for (std::string word; words >> word;) {
        if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
            word = word.substr(1, word.size() - 2);
            choice.chosen = word;
        }
        choice.offered.push_back(std::move(word));
    }
    return choice;
}

TemporaryValue::TemporaryValue(std::filesystem::path file, std::string before)
    : file_(std::move(file)), before_(std::move(before)) {}

Result<TemporaryValue> TemporaryValue::set(std::filesystem::path file, const std::string& value) {
    auto before = value_in_effect(file);
    if (!before) {
        return before.error();
    }
    if (auto written = write_value(file, value); !written) {
        return written.error();
    }
    return TemporaryValue(std::move(file), *std::move(before));
}

TemporaryValue::~TemporaryValue() {
    // A device that is gone has nothing to be put back.
    static_cast<void>(restore());
}

TemporaryValue::TemporaryValue(TemporaryValue&& other) noexcept
    : file_(std::move(other.file_)),
      before_(std::move(other.before_)),
      changed_(std::exchange(other.changed_, false)) {}

TemporaryValue& TemporaryValue::operator=(TemporaryValue&& other) noexcept {
    if (this != &other) {
        static_cast<void>(restore());
        file_ = std::move(other.file_);
        before_ = std::move(other.before_);
        changed_ = std::exchange(other.changed_, false);
    }
    return *this;
}

Result<std::string> TemporaryValue::now() const {
    return value_in_effect(file_);
}

Result<void> TemporaryValue::restore() {
    return std::exchange(changed_, false) ? write_value(file_, before_) : Result<void>();
}

}  // namespace lull::sched
