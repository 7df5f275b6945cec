// SPDX-License-Identifier: MIT
// What an engine does where the kernel does not let it. A system call filter belongs to a thread
// and ends with it, so each test has one of its own.
#include "replayer/engine.hpp"

#include <cstddef>
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace lull::replayer {
namespace {

/// From now on the system call fails with `code` in this thread and its later threads.
void refuse(unsigned number, unsigned code) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(filter), filter};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

EngineOptions options(EngineKind kind) {
    EngineOptions options;
    options.kind = kind;
    options.depth = 3;
    return options;
}

class RingRefused : public ::testing::TestWithParam<unsigned> {};

TEST_P(RingRefused, ThreadsTakeItsPlace) {
    std::thread([] {
        refuse(SYS_io_uring_setup, GetParam());
        const auto engine = make_engine(options(EngineKind::kAuto));
        ASSERT_TRUE(engine) << engine.error().message();
        EXPECT_EQ((*engine)->name(), "threads");
        const auto read_class = (*engine)->read_class();
        ASSERT_TRUE(read_class);
        EXPECT_EQ(*read_class, IoClass::kIdle);
    }).join();
}

TEST_P(RingRefused, AskedForByNameItIsAnError) {
    std::thread([] {
        refuse(SYS_io_uring_setup, GetParam());
        const auto engine = make_engine(options(EngineKind::kUring));
        ASSERT_FALSE(engine);
        EXPECT_EQ(engine.error().code, static_cast<int>(GetParam()));
    }).join();
}

// An old kernel or one that has it switched off; a filter of the service manager.
INSTANTIATE_TEST_SUITE_P(Errors, RingRefused, ::testing::Values(ENOSYS, EPERM));

class ClassRefused : public ::testing::TestWithParam<EngineKind> {};

TEST_P(ClassRefused, IsToldAndReadingGoesOn) {
    std::thread([] {
        refuse(SYS_ioprio_set, EPERM);
        const auto engine = make_engine(options(GetParam()));
        ASSERT_TRUE(engine) << engine.error().message();
        const auto read_class = (*engine)->read_class();
        ASSERT_FALSE(read_class);
        EXPECT_EQ(read_class.error().code, EPERM);
    }).join();
}

INSTANTIATE_TEST_SUITE_P(Engines, ClassRefused,
                         ::testing::Values(EngineKind::kUring, EngineKind::kThread));

}  // namespace
}  // namespace lull::replayer
