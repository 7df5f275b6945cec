// SPDX-License-Identifier: MIT
// Who a process works for: its cgroup, and the systemd unit that the cgroup belongs to.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace lull::collector {

/// The unit of the system's service manager that a cgroup path ("/system.slice/ssh.service")
/// belongs to; empty if there is none. It is the first component that names a unit other than a
/// slice: what comes below is made by the service itself. So a service of a user's own manager
/// ("/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service") counts for
/// "user@1000.service", the unit which the boot waits for and the only one of the two whose name is
/// the same for everybody. The escape of cgroup names (a leading "_") is undone, that of unit names
/// ("\x2d") belongs to the name and stays.
std::string unit_of_cgroup(const std::string& path);

/// The cgroup of a process, from '/': of the unified hierarchy, or of systemd's own (version 1)
/// where the unified one is not used to sort processes. ENOENT or ESRCH if the process is gone,
/// ENODATA if the kernel names neither.
Result<std::string> cgroup_of_process(std::uint32_t pid, const std::string& proc_root = "/proc");

}  // namespace lull::collector
