// SPDX-License-Identifier: MIT
// Classic charts in archives and directories.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "bootchart/boot.hpp"
#include "bootchart/member.hpp"

namespace lull::bootchart {

/// The archive behind `file`, which stays open. Errors as read_boot().
[[nodiscard]] Result<Boot> read_archive(const Fd& file, const Limits& limits);

/// The same for an archive in memory.
[[nodiscard]] Result<Boot> read_archive(std::string_view bytes, const Limits& limits);

/// The members in the directory. Links and what is not a regular file are left alone.
[[nodiscard]] Result<Boot> read_directory(const Fd& directory, const Limits& limits);

}  // namespace lull::bootchart
