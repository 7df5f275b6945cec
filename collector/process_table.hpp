// SPDX-License-Identifier: MIT
// The processes that open files, as /proc tells them while they live.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/mount_table.hpp"
#include "collector/raw_trace.hpp"

namespace lull::collector {

class ProcessTable {
  public:
    struct Who {
        std::uint32_t pid = 0;
        std::uint32_t exec_id = 0;
        bool own = false;  ///< runs the same program as we do
        bool old = false;  ///< was there, with this program, when all_are_old() was called
    };

    ProcessTable(std::string proc_root, MountTable& mounts);

    /// The process as it is now; a process that has gone keeps what was known of it, if anything.
    Who identify(std::uint32_t pid, std::uint64_t now_ns);
    void all_are_old();
    /// Every program of every process that was identified, but our own.
    std::vector<RawProcess> take();

  private:
    struct Program {
        std::uint64_t started = 0;  ///< clock ticks: tells apart processes with the same number
        std::uint64_t exe_device = 0;
        std::uint64_t exe_inode = 0;
        bool old = false;
        RawProcess raw;
    };

    [[nodiscard]] bool is_own(const Program& program) const;
    void describe(Program& program);

    std::string proc_root_;
    MountTable& mounts_;
    std::uint64_t own_device_ = 0;
    std::uint64_t own_inode_ = 0;
    std::map<std::uint32_t, std::vector<Program>> programs_;
};

}  // namespace lull::collector
