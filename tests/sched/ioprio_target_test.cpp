// SPDX-License-Identifier: MIT
// The real system calls.
#include "sched/ioprio_target.hpp"

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/needs.hpp"
#include "tests/sched/other_process.hpp"

namespace lull::sched {
namespace {

using test::become_user;
using test::kNobody;
using test::OtherProcess;

constexpr IoPriority kNone{};
constexpr IoPriority kIdle{IoClass::kIdle, kLowestLevel, 0};
constexpr IoPriority best_effort(int level) {
    return {IoClass::kBestEffort, level, 0};
}

IoTarget thread(int id) {
    return {IoTarget::Kind::kThread, id};
}
IoTarget group(int id) {
    return {IoTarget::Kind::kProcessGroup, id};
}
IoTarget user(uid_t id) {
    return {IoTarget::Kind::kUser, static_cast<int>(id)};
}

/// What a call gave, in words that gtest can compare.
std::string told(const Result<IoPriority>& priority) {
    return priority ? describe(*priority) : priority.error().message();
}
std::string told(const Result<void>& done) {
    return done ? "done" : done.error().message();
}
int code(const Result<void>& done) {
    return done ? 0 : done.error().code;
}

/// A user without processes.
uid_t unused_user() {
    uid_t id = 61234;
    while (io_priority(user(id))) {
        ++id;
    }
    return id;
}

class IoprioTarget : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        ASSERT_EQ(told(set_io_priority({}, kNone)), "done");
    }
    void TearDown() override { static_cast<void>(set_io_priority({}, kNone)); }
};

/// Runs a test as another user, in a process of its own; the words that it returns, or why not.
std::string as_user(uid_t id, const std::function<std::string()>& work) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return "no pipe";
    }
    const Fd reading(ends[0]);
    Fd writing(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string words = become_user(id) ? work() : "cannot become the user";
        ::_exit(::write(writing.get(), words.data(), words.size()) > 0 ? 0 : 1);
    }
    writing.reset();
    std::string words(4096, '\0');
    const ssize_t got = ::read(reading.get(), words.data(), words.size());
    words.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ::waitpid(child, nullptr, 0);
    return words;
}

TEST_F(IoprioTarget, TheCallingThreadGetsWhatItSets) {
    EXPECT_EQ(told(io_priority({})), "none: prio 0");
    for (const IoPriority& wanted :
         {IoPriority{IoClass::kRealtime, 7, 0}, best_effort(0), best_effort(7), kIdle, kNone}) {
        EXPECT_EQ(told(set_io_priority({}, wanted)), "done");
        EXPECT_EQ(told(io_priority({})), describe(wanted));
        EXPECT_EQ(told(io_priority(thread(::getpid()))), describe(wanted));
    }
}

TEST_F(IoprioTarget, BothIdleValuesAreOne) {
    for (const int raw : {24583, 24576}) {
        ASSERT_EQ(::syscall(SYS_ioprio_set, 1, 0, raw), 0);
        EXPECT_EQ(told(io_priority({})), "idle");
    }
}

TEST_F(IoprioTarget, AClassAloneIsSetInTheMiddle) {
    EXPECT_EQ(*set_io_class(IoClass::kBestEffort), IoClass::kBestEffort);
    EXPECT_EQ(told(io_priority({})), "best-effort: prio 4");
    EXPECT_EQ(*set_io_class(IoClass::kIdle), IoClass::kIdle);
    EXPECT_EQ(*io_class(), IoClass::kIdle);
    EXPECT_EQ(*set_io_class(IoClass::kNone), IoClass::kNone);
}

TEST_F(IoprioTarget, ANumberIsOneThreadNotItsProcess) {
    std::jthread([&] {
        EXPECT_EQ(told(set_io_priority({}, kIdle)), "done");
        EXPECT_EQ(told(set_io_priority(thread(::getpid()), best_effort(2))), "done");
        EXPECT_EQ(told(io_priority({})), "idle");
        EXPECT_EQ(told(io_priority(thread(::gettid()))), "idle");
        EXPECT_EQ(told(io_priority(thread(::getpid()))), "best-effort: prio 2");
    }).join();
    EXPECT_EQ(told(io_priority({})), "best-effort: prio 2");
}

TEST_F(IoprioTarget, AnotherProcessIsSetFromOutside) {
    const OtherProcess other;
    ASSERT_GT(other.pid(), 0);
    EXPECT_EQ(told(io_priority(thread(other.pid()))), "none: prio 0");
    EXPECT_EQ(told(set_io_priority(thread(other.pid()), kIdle)), "done");
    EXPECT_EQ(told(io_priority(thread(other.pid()))), "idle");
    EXPECT_EQ(told(io_priority({})), "none: prio 0");
}

TEST_F(IoprioTarget, AGroupIsSetAsAWholeAndToldByItsHighest) {
    const OtherProcess first;
    ASSERT_GT(first.pid(), 0);
    const OtherProcess second([&] { return ::setpgid(0, first.pid()) == 0; });
    ASSERT_GT(second.pid(), 0);
    const OtherProcess outside;
    ASSERT_GT(outside.pid(), 0);
    EXPECT_EQ(told(set_io_priority(group(first.pid()), best_effort(6))), "done");
    for (const OtherProcess* member : {&first, &second}) {
        EXPECT_EQ(told(io_priority(thread(member->pid()))), "best-effort: prio 6");
    }
    EXPECT_EQ(told(io_priority(thread(outside.pid()))), "none: prio 0");
    EXPECT_EQ(told(set_io_priority(thread(second.pid()), best_effort(3))), "done");
    EXPECT_EQ(told(io_priority(group(first.pid()))), "best-effort: prio 3");
    EXPECT_EQ(told(set_io_priority(thread(first.pid()), {IoClass::kRealtime, 7, 0})), "done");
    EXPECT_EQ(told(io_priority(group(first.pid()))), "realtime: prio 7");
}

TEST_F(IoprioTarget, AUserIsSetAsAWholeAndToldByItsHighest) {
    const uid_t someone = unused_user();
    const OtherProcess first([&] { return become_user(someone); });
    ASSERT_GT(first.pid(), 0);
    const OtherProcess second([&] { return become_user(someone); });
    ASSERT_GT(second.pid(), 0);
    EXPECT_EQ(told(set_io_priority(user(someone), kIdle)), "done");
    EXPECT_EQ(told(io_priority(user(someone))), "idle");
    EXPECT_EQ(told(set_io_priority(thread(second.pid()), best_effort(7))), "done");
    EXPECT_EQ(told(io_priority(thread(first.pid()))), "idle");
    EXPECT_EQ(told(io_priority(user(someone))), "best-effort: prio 7");
    EXPECT_EQ(told(io_priority({})), "none: prio 0");
}

TEST_F(IoprioTarget, AChildAndAThreadInheritWhatWasSet) {
    ASSERT_EQ(told(set_io_priority({}, best_effort(1))), "done");
    const OtherProcess child;
    ASSERT_GT(child.pid(), 0);
    EXPECT_EQ(told(io_priority(thread(child.pid()))), "best-effort: prio 1");
    std::jthread([] { EXPECT_EQ(told(io_priority({})), "best-effort: prio 1"); }).join();
    ASSERT_EQ(told(set_io_priority({}, best_effort(5))), "done");
    EXPECT_EQ(told(io_priority(thread(child.pid()))), "best-effort: prio 1")
        << "a copy, not shared";
}

TEST_F(IoprioTarget, AChildOfNoneHasNone) {
    const OtherProcess child([] { return ::nice(10) != -1; });
    ASSERT_GT(child.pid(), 0);
    ASSERT_EQ(told(set_io_priority({}, kIdle)), "done");
    EXPECT_EQ(told(io_priority(thread(child.pid()))), "none: prio 0");
}

TEST_F(IoprioTarget, WhatWasSetSurvivesExec) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const Fd reading(ends[0]);
    Fd writing(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (set_io_priority({}, best_effort(2))) {
            ::execlp("sleep", "sleep", "60", nullptr);
        }
        ::_exit(1);
    }
    writing.reset();
    char none = 0;
    ASSERT_EQ(::read(reading.get(), &none, 1), 0) << "exec closes the pipe";
    EXPECT_EQ(told(io_priority(thread(child))), "best-effort: prio 2");
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it was not sleep that was looked at";
}

TEST_F(IoprioTarget, NiceCountsUntilAValueIsSetAndAfterItIsReset) {
    const OtherProcess other([] { return ::setpriority(PRIO_PROCESS, 0, 10) == 0; });
    ASSERT_GT(other.pid(), 0);
    const auto renice = [&](int nice) {
        return ::setpriority(PRIO_PROCESS, static_cast<id_t>(other.pid()), nice);
    };
    EXPECT_EQ(told(effective_io_priority(other.pid())), "best-effort: prio 6");
    ASSERT_EQ(renice(-20), 0);
    EXPECT_EQ(told(effective_io_priority(other.pid())), "best-effort: prio 0");
    ASSERT_EQ(told(set_io_priority(thread(other.pid()), best_effort(3))), "done");
    ASSERT_EQ(renice(19), 0);
    EXPECT_EQ(told(effective_io_priority(other.pid())), "best-effort: prio 3");
    ASSERT_EQ(told(set_io_priority(thread(other.pid()), kNone)), "done");
    EXPECT_EQ(told(effective_io_priority(other.pid())), "best-effort: prio 7");
}

/// The kernel's own answer to what counts for a thread: of a group with that thread alone.
TEST_F(IoprioTarget, TheKernelAgreesOnWhatNiceAndPolicyGive) {
    const OtherProcess other;
    ASSERT_GT(other.pid(), 0);
    const auto id = static_cast<id_t>(other.pid());
    ASSERT_EQ(told(set_io_priority(thread(other.pid()), kNone)), "done");
    ASSERT_EQ(::setpriority(PRIO_PROCESS, id, 19), 0);
    LULL_NEEDS(told(io_priority(group(other.pid()))) == "best-effort: prio 7",
               "a kernel that tells what counts for a group (6.18 does, 4.13 does not)");
    for (int nice = kLowestNice; nice <= kHighestNice; ++nice) {
        ASSERT_EQ(::setpriority(PRIO_PROCESS, id, nice), 0);
        EXPECT_EQ(told(effective_io_priority(other.pid())), told(io_priority(group(other.pid()))));
    }
    ASSERT_EQ(::setpriority(PRIO_PROCESS, id, 5), 0);
    for (const int policy : {SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO, SCHED_OTHER}) {
        const sched_param parameters{policy == SCHED_RR || policy == SCHED_FIFO ? 1 : 0};
        ASSERT_EQ(::sched_setscheduler(other.pid(), policy | SCHED_RESET_ON_FORK, &parameters), 0)
            << policy;
        EXPECT_EQ(told(effective_io_priority(other.pid())), told(io_priority(group(other.pid()))))
            << policy;
    }
}

TEST_F(IoprioTarget, WhatIsNotValidIsRefusedWithTheReason) {
    EXPECT_EQ(told(set_io_priority({}, best_effort(8))),
              "cannot set the I/O priority of the calling thread (level 8 is not in 0..7): "
              "Invalid argument");
    EXPECT_EQ(told(set_io_priority({}, {IoClass::kNone, 3, 0})),
              "cannot set the I/O priority of the calling thread (class none has no levels): "
              "Invalid argument");
    EXPECT_EQ(told(set_io_priority({}, {static_cast<IoClass>(5), 0, 0})),
              "cannot set the I/O priority of the calling thread (class 5 is none of 0 (none), "
              "1 (realtime), 2 (best-effort), 3 (idle)): Invalid argument");
    EXPECT_EQ(code(set_io_priority({}, {IoClass::kBestEffort, 0, kHints})), EINVAL);
    EXPECT_EQ(told(io_priority({})), "none: prio 0");
    // The kernel's own opinion of the second and third.
    EXPECT_EQ(::syscall(SYS_ioprio_set, 1, 0, 3), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(::syscall(SYS_ioprio_set, 1, 0, 5 << 13), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(IoprioTarget, NobodyThereIsSaid) {
    const uid_t someone = unused_user();
    for (const IoTarget& target : {thread(kNobody), group(kNobody), user(someone)}) {
        const auto got = io_priority(target);
        ASSERT_FALSE(got) << describe(target);
        EXPECT_EQ(got.error().code, ESRCH);
        EXPECT_EQ(code(set_io_priority(target, kIdle)), ESRCH) << describe(target);
    }
    EXPECT_EQ(told(io_priority(thread(kNobody))),
              fmt::format("cannot tell the I/O priority of thread {} (it may have ended): "
                          "No such process",
                          kNobody));
    const auto effective = effective_io_priority(kNobody);
    ASSERT_FALSE(effective);
    EXPECT_EQ(effective.error().code, ESRCH);
}

TEST_F(IoprioTarget, AnotherUserMayLowerItselfAndNoMore) {
    const uid_t someone = unused_user();
    const OtherProcess roots;
    ASSERT_GT(roots.pid(), 0);
    const OtherProcess own([&] { return become_user(someone); });
    ASSERT_GT(own.pid(), 0);
    const auto sets = [&](const IoTarget& target, const IoPriority& wanted) {
        return as_user(someone, [&] { return told(set_io_priority(target, wanted)); });
    };
    EXPECT_EQ(sets({}, kIdle), "done");
    EXPECT_EQ(sets(thread(own.pid()), best_effort(0)), "done");
    EXPECT_EQ(told(io_priority(thread(own.pid()))), "best-effort: prio 0");
    EXPECT_EQ(sets(user(someone), kIdle), "done");
    EXPECT_EQ(told(io_priority(thread(own.pid()))), "idle");
    EXPECT_EQ(sets({}, {IoClass::kRealtime, 4, 0}),
              "cannot set the I/O priority of the calling thread (realtime is for root, or with "
              "CAP_SYS_NICE (older kernels: CAP_SYS_ADMIN); best-effort 0 is the highest for "
              "others): Operation not permitted");
    EXPECT_EQ(sets(thread(roots.pid()), kIdle),
              fmt::format("cannot set the I/O priority of thread {} (threads of another user are "
                          "for root, or with CAP_SYS_NICE): Operation not permitted",
                          roots.pid()));
    EXPECT_EQ(told(io_priority(thread(roots.pid()))), "none: prio 0");
    EXPECT_EQ(as_user(someone, [&] { return told(io_priority(thread(roots.pid()))); }),
              "none: prio 0")
        << "looking is free";
}

}  // namespace
}  // namespace lull::sched
