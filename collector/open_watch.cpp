// SPDX-License-Identifier: MIT
#include "collector/open_watch.hpp"

#include <array>
#include <utility>

#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lull::collector {
namespace {

constexpr std::uint64_t kOpens = FAN_OPEN | FAN_OPEN_EXEC;

Result<void> add_mark(int fd, unsigned kind, std::uint64_t events, const std::string& path) {
    if (::fanotify_mark(fd, FAN_MARK_ADD | kind, events, AT_FDCWD, path.c_str()) != 0) {
        return last_error("fanotify on " + path);
    }
    return {};
}

}  // namespace

Result<OpenWatch> OpenWatch::create(bool unlimited) {
    const unsigned limits = unlimited ? FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS : 0U;
    // O_NONBLOCK: the descriptors of pipes and leased files are opened as well.
    Fd fd(::fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | limits,
                          O_RDONLY | O_LARGEFILE | O_CLOEXEC | O_NOATIME | O_NONBLOCK));
    if (!fd) {
        return last_error("fanotify");
    }
    return OpenWatch(std::move(fd));
}

Result<OpenWatch::Marked> OpenWatch::mark(const std::vector<fs::Mount>& mounts,
                                          const fs::Mount& best, bool directories) {
    const std::uint64_t events = kOpens | (directories ? FAN_ONDIR : 0U);
    const auto whole = add_mark(fd_.get(), FAN_MARK_FILESYSTEM, events, best.mount_point);
    if (whole) {
        return Marked::kFileSystem;
    }
    if (const auto one = add_mark(fd_.get(), FAN_MARK_MOUNT, events, best.mount_point); !one) {
        return whole.error();
    }
    for (const fs::Mount& mount : mounts) {
        if (mount.major == best.major && mount.minor == best.minor && mount.id != best.id) {
            // Not being able to watch a mount that another one hides is no loss.
            (void)add_mark(fd_.get(), FAN_MARK_MOUNT, events, mount.mount_point);
        }
    }
    return Marked::kMounts;
}

void OpenWatch::unmark() {
    ::fanotify_mark(fd_.get(), FAN_MARK_FLUSH | FAN_MARK_FILESYSTEM, 0, AT_FDCWD, "/");
    ::fanotify_mark(fd_.get(), FAN_MARK_FLUSH | FAN_MARK_MOUNT, 0, AT_FDCWD, "/");
}

bool OpenWatch::read(const std::function<void(Event)>& take) {
    std::array<fanotify_event_metadata, 64> events;  // NOLINT: the kernel fills it
    const ssize_t got = ::read(fd_.get(), events.data(), sizeof(events));
    if (got <= 0) {
        // The kernel drops an event whose file it cannot open, and tells why instead of going on.
        const bool dropped = got < 0 && (errno == EMFILE || errno == ENFILE || errno == ENXIO ||
                                         errno == ENODEV || errno == EACCES || errno == EPERM);
        losses_ += dropped ? 1 : 0;
        // EAGAIN may stand for a file with a lease as well as for an empty queue.
        int waiting = 0;
        return ::ioctl(fd_.get(), FIONREAD, &waiting) == 0 && waiting > 0;
    }
    auto left = static_cast<std::size_t>(got);
    // Own everything before the first callback, so that none leaks.
    std::vector<Event> batch;
    batch.reserve(events.size());
    for (const auto* event = events.data(); FAN_EVENT_OK(event, left);
         event = FAN_EVENT_NEXT(event, left)) {
        if (event->fd >= 0) {
            batch.push_back({Fd(event->fd), static_cast<std::uint32_t>(event->pid),
                             (event->mask & FAN_OPEN_EXEC) != 0});
        } else {
            ++losses_;
        }
    }
    for (Event& event : batch) {
        take(std::move(event));
    }
    return true;
}

}  // namespace lull::collector
