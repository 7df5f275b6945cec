// SPDX-License-Identifier: MIT
#include "tests/system/demo_process.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lull::demo {
namespace {

TEST(Runner, TellsHowACommandEnded) {
    auto runner = Runner::make();
    ASSERT_TRUE(runner.ok()) << runner.error().message();
    const auto good = runner->run({"true"});
    ASSERT_TRUE(good.ok()) << good.error().message();
    EXPECT_GT(*good, 0);
    const auto bad = runner->run({"sh", "-c", "exit 3"});
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().message(), "sh -c exit 3: exit status 3");
    const auto killed = runner->run({"sh", "-c", "kill -9 $$"});
    ASSERT_FALSE(killed.ok());
    EXPECT_EQ(killed.error().message(), "sh -c kill -9 $$: killed by signal 9");
    const auto none = runner->run({"/nonexistent/program"});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ENOENT);
}

TEST(Runner, AnInterruptEndsTheCommandAndAllLaterOnes) {
    auto runner = Runner::make();
    ASSERT_TRUE(runner.ok()) << runner.error().message();
    const auto stopped = runner->run({"sh", "-c", "kill -INT $PPID; sleep 600"});
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, EINTR);
    const auto refused = runner->run({"sleep", "600"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EINTR);
    sigset_t pending;  // it would end the commands of the other tests too
    sigemptyset(&pending);
    sigaddset(&pending, SIGINT);
    const timespec now{};
    EXPECT_EQ(::sigtimedwait(&pending, nullptr, &now), SIGINT);
}

TEST(Runner, LeavesNoMemberOfTheGroupBehind) {
    auto runner = Runner::make();
    ASSERT_TRUE(runner.ok()) << runner.error().message();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const auto good =
        runner->run({"sh", "-c", "sleep 600 &"});  // inherits the pipe and would hold it open
    ::close(ends[1]);
    ASSERT_TRUE(good.ok()) << good.error().message();
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0);
    ::close(ends[0]);
}

}  // namespace
}  // namespace lull::demo
