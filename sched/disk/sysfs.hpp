// SPDX-License-Identifier: MIT
// Values in sysfs: read as text or numbers, set for a while and put back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace lull::sched {

/// The first line of a file, without its end of line and blanks at both ends. Empty if the file is.
Result<std::string> read_value(const std::filesystem::path& file);
/// A value that is one unsigned decimal number; EBADMSG when it is not.
Result<std::uint64_t> read_number(const std::filesystem::path& file);

/// A line that offers a choice, the one in effect in brackets: "none [mq-deadline] kyber bfq".
/// Where there is no choice the line has no brackets ("none" of a disk without a request queue).
struct Choice {
    std::string chosen;  ///< empty if there is none
    std::vector<std::string> offered;
};
[[nodiscard]] Choice parse_choice(std::string_view line);

/// Another value of one sysfs file, which has the old one back when this object goes.
class TemporaryValue {
  public:
    /// Sets `value`. EINVAL (or what else the kernel says) if it does not take it; a value that the
    /// kernel changes on the way (rounds, clamps) is no error: see now().
    static Result<TemporaryValue> set(std::filesystem::path file, const std::string& value);
    ~TemporaryValue();
    TemporaryValue(const TemporaryValue&) = delete;
    TemporaryValue& operator=(const TemporaryValue&) = delete;
    TemporaryValue(TemporaryValue&& other) noexcept;
    TemporaryValue& operator=(TemporaryValue&& other) noexcept;

    /// The value from before; of a choice the chosen word.
    [[nodiscard]] const std::string& before() const { return before_; }
    /// The value in effect, read again; of a choice the chosen word.
    [[nodiscard]] Result<std::string> now() const;
    /// Puts the old value back at once. ENOENT when the device is gone.
    Result<void> restore();

  private:
    TemporaryValue(std::filesystem::path file, std::string before);

    std::filesystem::path file_;
    std::string before_;
    bool changed_ = true;
};

}  // namespace lull::sched
