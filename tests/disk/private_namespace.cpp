// SPDX-License-Identifier: MIT
#include "tests/disk/private_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace lull::disk {
namespace {

struct Place {
    pid_t process = 0;  // the one that made the namespace
    Fd before;
};

Result<void> leave(Place& place) {
    if (!place.before) {
        place.before.reset(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    }
    if (!place.before) {
        return last_error("/proc/self/ns/mnt");
    }
    if (::unshare(CLONE_NEWNS) != 0) {
        return last_error("private mount namespace");
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return last_error("making the mounts private");
    }
    place.process = ::getpid();
    return {};
}

}  // namespace

Result<int> enter_private_namespace() {
    // The namespace belongs to the process, so what is known of it does too. A forked child is
    // another process: its mounts must not outlive it in the namespace of its parent.
    static Place place;
    if (place.process != ::getpid()) {
        if (auto left = leave(place); !left) {
            return left.error();
        }
    }
    return place.before.get();
}

}  // namespace lull::disk
