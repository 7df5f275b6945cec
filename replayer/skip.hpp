// SPDX-License-Identifier: MIT
// What a replay does not read, and why. Nothing is left out in silence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lull::replayer {

enum class SkipReason : std::uint8_t {
    kDeleted,       ///< the trace says that the file was gone when the run ended
    kNoName,        ///< the trace does not know the file's path
    kBadRange,      ///< the trace contradicts itself: past the end of the file, or no such file
    kOverBudget,    ///< would fill more memory than the replay may use
    kNotMounted,    ///< no mounted file system is the recorded one
    kOutsideMount,  ///< only a part of the file system is mounted, and the file is not in it
    kGone,          ///< no such file now
    kLink,          ///< a symbolic link or a mount lies on the path now
    kNotRegular,    ///< is not a regular file now (or not a directory, or not the recorded disk)
    kChanged,       ///< other inode, size or modification time than recorded
    kNotAllowed,    ///< may not be opened
    kCannotOpen,    ///< could not be opened for another reason
    kReadError,     ///< the disk or the file system gave an error
    kTruncated,     ///< ended before the range did, while it was read
    kStopped,       ///< the replay was stopped before it came to this range
};

/// A word or two for a table, and the key in JSON with '_' for ' '.
[[nodiscard]] constexpr std::string_view to_string(SkipReason reason) {
    switch (reason) {
        case SkipReason::kDeleted:
            return "deleted";
        case SkipReason::kNoName:
            return "name unknown";
        case SkipReason::kBadRange:
            return "bad range";
        case SkipReason::kOverBudget:
            return "over memory budget";
        case SkipReason::kNotMounted:
            return "not mounted";
        case SkipReason::kOutsideMount:
            return "outside mount";
        case SkipReason::kGone:
            return "gone";
        case SkipReason::kLink:
            return "link or mount on path";
        case SkipReason::kNotRegular:
            return "other kind of file";
        case SkipReason::kChanged:
            return "changed";
        case SkipReason::kNotAllowed:
            return "not allowed";
        case SkipReason::kCannotOpen:
            return "cannot open";
        case SkipReason::kReadError:
            return "read error";
        case SkipReason::kTruncated:
            return "truncated";
        case SkipReason::kStopped:
            return "stopped before";
    }
    return "unknown";
}

struct Skip {
    SkipReason reason = SkipReason::kGone;
    std::string path;         ///< mount point and path as recorded, or the disk's name
    std::uint64_t pages = 0;  ///< demanded pages that are not read because of it
    int code = 0;             ///< errno behind it, 0 if there is none
};

}  // namespace lull::replayer
