// SPDX-License-Identifier: MIT
// A real block device with a mounted file system and the timing of a disk model, for tests and
// demonstrations. Everything is undone when the object goes, and when its process dies, even by
// SIGKILL: no mount, loop device, process, file or directory stays.
//
//   image file <- lull-disk (FUSE, the timing) <- /dev/loopN (a real request queue) <- ext4
//
// Not to be had: the short command queue of a real disk. A loop device takes up to 128 requests
// from its scheduler; the model keeps those above its own depth waiting in order of arrival.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"
#include "tests/disk/model.hpp"
#include "tests/disk/queue.hpp"
#include "tests/disk/status.hpp"

namespace lull::disk {

enum class FileSystem : std::uint8_t { kExt4, kXfs, kBtrfs, kNone };

struct EmulatedDiskOptions {
    std::string profile = "hdd-7200";  ///< a name that make_model() knows
    std::uint64_t bytes = std::uint64_t{2} << 30;
    FileSystem file_system = FileSystem::kExt4;  ///< kNone: the bare device, not mounted

    /// An image to use. Made and formatted when there is none (and kept); used as it is, `bytes`
    /// ignored, when there is one. Empty: a sparse one without a name, gone with this disk.
    std::filesystem::path image;
    /// For the mount point and the nameless image. Empty: TMPDIR, else /tmp.
    std::filesystem::path directory;
    std::filesystem::path server;  ///< the program lull-disk; empty: find_server()

    std::uint32_t queue_depth = 0;      ///< of the drive; 0: the profile's
    std::uint64_t seed = 1;             ///< of the model
    std::uint32_t read_ahead_kb = 128;  ///< queue/read_ahead_kb
    std::string scheduler;              ///< queue/scheduler; empty: as it is
    bool noatime = false;
    bool timing = true;  ///< false: starts without (see set_timing)
    /// Mount where only this process and its children see it (enter_private_namespace).
    bool private_namespace = true;
};

/// Whether the mkfs of a file system is installed here.
[[nodiscard]] bool can_make(FileSystem file_system);

class EmulatedDisk {
  public:
    /// Needs root. Making the file system and mounting take no disk time.
    static Result<EmulatedDisk> create(EmulatedDiskOptions options);
    ~EmulatedDisk();
    EmulatedDisk(const EmulatedDisk&) = delete;
    EmulatedDisk& operator=(const EmulatedDisk&) = delete;
    EmulatedDisk(EmulatedDisk&&) noexcept;
    EmulatedDisk& operator=(EmulatedDisk&&) = delete;

    [[nodiscard]] const std::filesystem::path& mount_point() const;  ///< empty for kNone
    [[nodiscard]] const std::filesystem::path& device() const;       ///< /dev/loopN
    [[nodiscard]] dev_t device_number() const;
    [[nodiscard]] const QueueSettings& queue() const;
    /// One setting of /sys/block/loopN/queue, put back in the end: ("scheduler", "bfq").
    Result<void> set_queue(const std::string& name, const std::string& value);

    /// Unmounts and mounts again, so that no page and no inode of the file system is in memory and
    /// no page of its device but what the mount reads. Takes disk time while the timing is on.
    /// EBUSY when a file is in use.
    Result<void> remount_cold();

    /// Waits until the disk has had nothing to do for 300 ms: after a mount, ext4 goes on to read
    /// its bitmaps in the background, which would slow what is measured next. ETIMEDOUT after 30 s.
    Result<void> settle() const;

    /// What the disk did; asks the disk nothing. Only requests with timing count.
    [[nodiscard]] Counters counters() const;
    [[nodiscard]] Status status() const;
    /// A file that any process of root's can open and StatusPage::open() reads.
    [[nodiscard]] std::filesystem::path status_path() const;

    /// Off: requests are answered at once and counted as bypassed, to fill the disk quickly.
    Result<void> set_timing(bool on);
    /// Another drive with the same data, and queue/rotational as that is. What is inside is
    /// answered at once.
    Result<void> set_profile(const std::string& profile);

    [[nodiscard]] pid_t server_pid() const;

  private:
    struct Parts;
    explicit EmulatedDisk(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace lull::disk
