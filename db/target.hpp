// SPDX-License-Identifier: MIT
// Target: the place of a published database, locked against other writers of lull.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::db {

/// Writers take turns by flock(2) on the directory, so that no lock file stays behind. Anyone who
/// can read the directory could hold that lock; give it mode 0711 to keep it to its owner.
///
/// A new content is written to a file without a name (O_TMPFILE) and synced before it gets one, so
/// a kill or a crash at any moment leaves the old content or the new one, and no litter. Replacing
/// an existing file takes one named moment, ".NAME.lull-new", because Linux can link a nameless
/// file only to a free name; a leftover of that moment is removed by the next lock().
class Target {
  public:
    enum class Temporary {
        kUnnamed,  ///< O_TMPFILE, and named where the file system does not have it
        kNamed,    ///< written under the name of the leftover from the start
    };

    /// Waits for the lock. Symbolic links in `path` are followed. Errors: the errno of opening or
    /// locking the directory.
    [[nodiscard]] static Result<Target> lock(const std::string& path);

    /// The place after following links.
    [[nodiscard]] const std::string& path() const { return path_; }

    /// Puts `content` there, synced. Keeps mode and owner of an existing file; a new one gets 0644
    /// less the umask. On any error (ENOSPC, EROFS, EACCES, EDQUOT, ...) what was there still is.
    [[nodiscard]] Result<void> replace(std::span<const std::byte> content,
                                       Temporary temporary = Temporary::kUnnamed) const;

    /// Renames what is there to PATH + `suffix`, in place of an older one.
    [[nodiscard]] Result<void> set_aside(const std::string& suffix) const;

  private:
    Target(Fd directory, std::string path, std::string name);

    [[nodiscard]] Result<Fd> write_unnamed(std::span<const std::byte> content) const;
    [[nodiscard]] Result<Fd> write_named(std::span<const std::byte> content) const;
    [[nodiscard]] Result<void> fill(const Fd& file, std::span<const std::byte> content) const;
    [[nodiscard]] bool link_to(const Fd& file, const std::string& name) const;
    [[nodiscard]] Result<void> give_name(const Fd& file) const;
    [[nodiscard]] Result<void> rename_over() const;
    [[nodiscard]] Result<void> sync_directory() const;
    [[nodiscard]] Error failed(const char* step) const;

    Fd directory_;
    std::string path_;
    std::string name_;       // last component of path_
    std::string temporary_;  // ".NAME.lull-new"
};

}  // namespace lull::db
