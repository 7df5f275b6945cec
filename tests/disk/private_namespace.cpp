// SPDX-License-Identifier: MIT
#include "tests/disk/private_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/fd.hpp"

namespace lull::disk {
namespace {

Result<Fd> leave() {
    Fd before(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (!before) {
        return last_error("/proc/self/ns/mnt");
    }
    if (::unshare(CLONE_NEWNS) != 0) {
        return last_error("private mount namespace");
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return last_error("making the mounts private");
    }
    return before;
}

}  // namespace

Result<int> enter_private_namespace() {
    // The namespace belongs to the process, so what is known of it does too.
    static const Result<Fd> before = leave();
    if (!before) {
        return before.error();
    }
    return before->get();
}

}  // namespace lull::disk
