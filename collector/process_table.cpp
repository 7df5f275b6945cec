// SPDX-License-Identifier: MIT
#include "collector/process_table.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "collector/cgroup.hpp"

namespace lull::collector {
namespace {

struct Status {
    std::string comm;
    std::uint32_t parent = 0;
    std::uint64_t started = 0;
};

/// /proc/PID/stat, proc(5). The name may hold anything, so its end is the last parenthesis.
Status read_status(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto open = text.find('(');
    const auto close = text.rfind(')');
    Status status;
    if (open == std::string::npos || close == std::string::npos || close < open) {
        return status;
    }
    status.comm = text.substr(open + 1, close - open - 1);
    std::istringstream rest(text.substr(close + 1));
    std::string skipped;
    rest >> skipped >> status.parent;
    constexpr int kBetween = 17;  // from field 5 to field 21; 22 is the start time
    for (int i = 0; i < kBetween; ++i) {
        rest >> skipped;
    }
    rest >> status.started;
    return status;
}

}  // namespace

ProcessTable::ProcessTable(std::string proc_root, MountTable& mounts)
    : proc_root_(std::move(proc_root)), mounts_(mounts) {
    struct stat self {};
    if (::stat("/proc/self/exe", &self) == 0) {
        own_device_ = self.st_dev;
        own_inode_ = self.st_ino;
    }
}

bool ProcessTable::is_own(const Program& program) const {
    return program.exe_inode != 0 && program.exe_inode == own_inode_ &&
           program.exe_device == own_device_;
}

ProcessTable::Who ProcessTable::identify(std::uint32_t pid, std::uint64_t now_ns) {
    const auto directory = fmt::format("{}/{}", proc_root_, pid);
    struct stat exe {};
    const bool alive = ::stat((directory + "/exe").c_str(), &exe) == 0;
    const Status status = read_status(directory + "/stat");
    auto& programs = programs_[pid];
    const bool same = !programs.empty() && (!alive || (programs.back().started == status.started &&
                                                       programs.back().exe_device == exe.st_dev &&
                                                       programs.back().exe_inode == exe.st_ino));
    if (!same) {
        Program program;
        program.started = status.started;
        program.exe_device = alive ? exe.st_dev : 0;
        program.exe_inode = alive ? exe.st_ino : 0;
        program.raw.pid = pid;
        program.raw.exec_id = static_cast<std::uint32_t>(programs.size());
        program.raw.parent_pid = status.parent;
        program.raw.comm = status.comm;
        program.raw.first_use_ns = now_ns;
        describe(program);
        programs.push_back(std::move(program));
    }
    const Program& now = programs.back();
    return {pid, now.raw.exec_id, is_own(now), now.old};
}

void ProcessTable::describe(Program& program) {
    if (auto cgroup = cgroup_of_process(program.raw.pid, proc_root_)) {
        program.raw.cgroup = *std::move(cgroup);
    }
    const Fd exe(
        ::open(fmt::format("{}/{}/exe", proc_root_, program.raw.pid).c_str(), O_PATH | O_CLOEXEC));
    struct statx facts {};
    if (!exe ||
        ::statx(exe.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &facts) != 0) {
        return;
    }
    program.raw.exe_device =
        mounts_.device_of(facts).value_or(kernel_device(facts.stx_dev_major, facts.stx_dev_minor));
    program.raw.exe_inode = facts.stx_ino;
    program.raw.executable = mounts_.path_of(exe.get(), facts);
}

void ProcessTable::all_are_old() {
    for (auto& [pid, programs] : programs_) {
        for (Program& program : programs) {
            program.old = true;
        }
    }
}

std::vector<RawProcess> ProcessTable::take() {
    std::vector<RawProcess> processes;
    for (auto& [pid, programs] : programs_) {
        for (Program& program : programs) {
            if (pid != 0 && !is_own(program)) {
                processes.push_back(std::move(program.raw));
            }
        }
    }
    programs_.clear();
    return processes;
}

}  // namespace lull::collector
