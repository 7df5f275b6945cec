// SPDX-License-Identifier: MIT
// What a program in a chroot expects to be mounted there.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lull::demo {

/// /dev (that of this machine), /proc, and /tmp and /run in memory, below a root. On destruction
/// every process that still runs in that root is killed and all of it is unmounted. The mounts
/// belong to the mount namespace of the caller, which should be a private one.
class ChrootMounts {
  public:
    static Result<ChrootMounts> make(const std::string& root);
    ~ChrootMounts();
    ChrootMounts(ChrootMounts&& other) noexcept;
    ChrootMounts& operator=(ChrootMounts&&) = delete;

  private:
    explicit ChrootMounts(std::string root) : root_(std::move(root)) {}
    Result<void> add(const std::string& source, const std::string& directory,
                     const std::string& type, unsigned long flags);

    std::string root_;
    std::vector<std::string> mounted_;
};

}  // namespace lull::demo
