// SPDX-License-Identifier: MIT
// Reads a boot chart, whoever wrote it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bootchart/boot.hpp"
#include "bootchart/member.hpp"

namespace lull::bootchart {

/// The chart at `path`: an archive of bootchart, bootchart2 or busybox (tar, also compressed; zip),
/// or a directory that holds the members, or one with a bootchart.tgz as Android's script makes it.
/// Nothing is unpacked to the disk; names in an archive only tell which member it is.
///
/// A chart that lacks something gives what it has, and Boot::warnings tells. Errors: what open(2)
/// says; EMEDIUMTYPE if it is nothing of the kind; ENODATA if there is no chart in it; EUCLEAN for
/// a damaged archive of which nothing could be read; EFBIG if it holds more than `limits` allow.
[[nodiscard]] Result<Boot> read_boot(const std::string& path, const Limits& limits = {});

/// All of them, on all CPUs, in the order of `paths`. The first error ends it.
[[nodiscard]] Result<std::vector<Boot>> read_boots(const std::vector<std::string>& paths,
                                                   const Limits& limits = {});

}  // namespace lull::bootchart
