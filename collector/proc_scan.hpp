// SPDX-License-Identifier: MIT
// Which files are open or mapped at this moment, from /proc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lull::collector {

/// Calls `see(pid, fd)` for each regular file that a process other than the caller has open or
/// mapped, once a process and file at most for each of the two ways; `fd` is an O_PATH descriptor
/// that lives as long as the call. Opens nothing for real. Mapped files are looked up only on the
/// superblocks that `wanted` names, so that no dead network mount is walked into. Processes that
/// end meanwhile, or that may not be looked at, are passed over.
void scan_processes(const std::string& proc_root,
                    const std::function<bool(std::uint32_t major, std::uint32_t minor)>& wanted,
                    const std::function<void(std::uint32_t pid, int fd)>& see);

}  // namespace lull::collector
