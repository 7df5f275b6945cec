// SPDX-License-Identifier: MIT
// A classic chart: the members that bootchart, bootchart2, busybox's bootchartd and Android's init
// write, in whatever order they come.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "bootchart/boot.hpp"
#include "bootchart/header.hpp"
#include "bootchart/member.hpp"
#include "bootchart/process_logs.hpp"
#include "bootchart/system_logs.hpp"

namespace lull::bootchart {

class ClassicChart {
  public:
    explicit ClassicChart(const Limits& limits);

    /// Whether a member of that name is of use.
    [[nodiscard]] bool knows(std::string_view name) const;

    /// Who takes the member of that name (without directories); nullptr for one that is of no use
    /// or was there already. Use it before asking for the next.
    [[nodiscard]] Member* member(std::string_view name);

    void warn(std::string text) { warnings_.push_back(std::move(text)); }

    /// After all members. ENODATA if not one of the logs was there.
    [[nodiscard]] Result<Boot> finish();

  private:
    struct Slot {
        std::string_view name;
        Member* member = nullptr;
        bool seen = false;
    };

    [[nodiscard]] bool seen(std::string_view name) const;
    [[nodiscard]] std::string format() const;
    void add_processes(Boot& boot, int ticks);
    void set_span(Boot& boot);
    void warn_of_gaps(Boot& boot);

    Header header_;
    StatLog stat_;
    DiskLog disks_;
    MemoryLog memory_;
    ProcessLog processes_;
    TaskLog tasks_;
    CommandLog commands_;
    Parents parents_;
    PaternityLog paternity_;
    AccountingLog accounting_;
    KernelLog kernel_log_;
    std::vector<Slot> slots_;
    std::vector<std::string> warnings_;
};

}  // namespace lull::bootchart
