// SPDX-License-Identifier: MIT
#include "tests/disk/queue.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::disk {
namespace {

Result<void> write_setting(const std::filesystem::path& file, const std::string& value) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
        return last_error(file.string() + " = " + value);
    }
    return {};
}

}  // namespace

std::string chosen_word(const std::string& line) {
    const auto open = line.find('[');
    const auto close = line.find(']', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) {
        return {};
    }
    return line.substr(open + 1, close - open - 1);
}

std::vector<std::string> all_words(const std::string& line) {
    std::string plain = line;
    std::erase_if(plain, [](char letter) { return letter == '[' || letter == ']'; });
    std::istringstream stream(plain);
    return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

QueueSettings::~QueueSettings() {
    for (const auto& [file, value] : saved_) {
        static_cast<void>(write_setting(file, value));
    }
}

Result<std::string> QueueSettings::line(const std::string& name) const {
    std::ifstream stream(directory_ / name);
    std::string text;
    if (!std::getline(stream, text)) {
        return Error{ENOENT, (directory_ / name).string()};
    }
    return text;
}

Result<std::string> QueueSettings::get(const std::string& name) const {
    auto text = line(name);
    if (text) {
        if (auto chosen = chosen_word(*text); !chosen.empty()) {
            return chosen;
        }
    }
    return text;
}

Result<std::vector<std::string>> QueueSettings::schedulers() const {
    auto text = line("scheduler");
    if (!text) {
        return text.error();
    }
    return all_words(*text);
}

Result<void> QueueSettings::set(const std::string& name, const std::string& value) {
    const auto file = directory_ / name;
    auto before = get(name);
    if (!before) {
        return before.error();
    }
    if (*before == value) {
        return {};
    }
    if (auto written = write_setting(file, value); !written) {
        return written;
    }
    if (std::none_of(saved_.begin(), saved_.end(),
                     [&](const auto& one) { return one.file == file; })) {
        saved_.push_back({file, *before});
    }
    return {};
}

}  // namespace lull::disk
