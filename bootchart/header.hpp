// SPDX-License-Identifier: MIT
// The member `header` of a classic archive: "key = value" lines.
#pragma once

#include <string>
#include <vector>

#include "bootchart/boot.hpp"
#include "bootchart/member.hpp"

namespace lull::bootchart {

/// Known keys are version, title, system.* and profile.*; every other line goes on with the value
/// before it, whatever it holds (the model of a CPU fills two lines, with a '=' at times).
class Header final : public LineMember {
  public:
    explicit Header(const Limits& limits) : left_(limits.text) {}

    [[nodiscard]] Facts facts() const;

  private:
    void line(std::string_view text) override;
    void end() override {}
    [[nodiscard]] std::string value(std::string_view key) const;

    struct Entry {
        std::string key;
        std::string value;
    };
    std::vector<Entry> entries_;
    std::size_t left_;
};

/// Milestones out of the member `dmesg` (printk.time=1): when the kernel handed over to init.
class KernelLog final : public LineMember {
  public:
    explicit KernelLog(const Limits& limits) : left_(limits.text * 16) {}

    [[nodiscard]] const std::vector<Milestone>& milestones() const { return milestones_; }

  private:
    void line(std::string_view text) override;
    void end() override {}

    std::vector<Milestone> milestones_;
    std::size_t left_;
};

}  // namespace lull::bootchart
