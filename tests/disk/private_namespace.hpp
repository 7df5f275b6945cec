// SPDX-License-Identifier: MIT
// A mount namespace of this process's own, so that its mounts go when it goes.
#pragma once

#include "base/result.hpp"

namespace lull::disk {

/// Moves the calling thread (and what it starts later) into a mount namespace of its own, once per
/// process: later calls change nothing. Call it before there are other threads; they would stay
/// behind. A forked child gets one of its own, with a copy of each mount of its parent's that keeps
/// it alive as long as the child. Returns the namespace from before, for processes that must not
/// hold the new one.
Result<int> enter_private_namespace();

}  // namespace lull::disk
