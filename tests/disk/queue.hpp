// SPDX-License-Identifier: MIT
// The settings of a block device's request queue (/sys/block/NAME/queue), put back when done.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace lull::disk {

/// "none" of "[none] mq-deadline kyber bfq"; empty when nothing is in brackets.
[[nodiscard]] std::string chosen_word(const std::string& line);
/// Every word of such a line, without the brackets.
[[nodiscard]] std::vector<std::string> all_words(const std::string& line);

class QueueSettings {
  public:
    struct Saved {
        std::filesystem::path file;
        std::string value;
    };

    /// `directory`: the queue directory of one device.
    explicit QueueSettings(std::filesystem::path directory) : directory_(std::move(directory)) {}
    ~QueueSettings();
    QueueSettings(const QueueSettings&) = delete;
    QueueSettings& operator=(const QueueSettings&) = delete;
    QueueSettings(QueueSettings&& other) noexcept
        : directory_(std::move(other.directory_)), saved_(std::exchange(other.saved_, {})) {}
    QueueSettings& operator=(QueueSettings&&) = delete;

    /// The value without its end of line; of a choice (scheduler) the chosen word.
    [[nodiscard]] Result<std::string> get(const std::string& name) const;
    Result<void> set(const std::string& name, const std::string& value);
    [[nodiscard]] Result<std::vector<std::string>> schedulers() const;
    /// What was changed, with the value from before the first change.
    [[nodiscard]] const std::vector<Saved>& saved() const { return saved_; }

  private:
    [[nodiscard]] Result<std::string> line(const std::string& name) const;

    std::filesystem::path directory_;
    std::vector<Saved> saved_;
};

}  // namespace lull::disk
