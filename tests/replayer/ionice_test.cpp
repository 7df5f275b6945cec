// SPDX-License-Identifier: MIT
// How command lines are understood. What they do is compared with util-linux's ionice in
// tests/system/ionice_test.cpp.
#include "replayer/ionice.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace lull::replayer {
namespace {

using sched::IoClass;
using sched::IoPriority;
using sched::IoTarget;
using Action = IoniceRequest::Action;
using Words = std::vector<std::string>;

class Ionice : public testing::Test {
  protected:
    std::optional<IoniceRequest> parse(Words words) {
        words.insert(words.begin(), "ionice");
        err_.str("");
        testing::internal::CaptureStderr();  // of getopt
        auto request = parse_ionice(words, err_);
        told_ = testing::internal::GetCapturedStderr() + err_.str();
        return request;
    }
    /// One that is understood without a word.
    IoniceRequest request(const Words& words) {
        auto parsed = parse(words);
        EXPECT_TRUE(parsed) << told_;
        EXPECT_EQ(told_, "");
        return parsed.value_or(IoniceRequest{});
    }
    /// What is said to one that is not understood.
    std::string refusal(const Words& words) {
        EXPECT_FALSE(parse(words));
        return told_;
    }

    std::ostringstream err_;
    std::string told_;
};

TEST_F(Ionice, WithoutWordsTheCallerIsShown) {
    for (const Words& words : {Words{}, Words{"-t"}, Words{"--"}}) {
        const auto asked = request(words);
        EXPECT_EQ(asked.action, Action::kShow);
        ASSERT_EQ(asked.targets.size(), 1U);
        EXPECT_EQ(asked.targets[0].kind, IoTarget::Kind::kThread);
        EXPECT_EQ(asked.targets[0].id, 0);
    }
}

TEST_F(Ionice, ClassesGoByNameAndNumber) {
    const std::vector<std::pair<std::string, IoPriority>> cases{
        {"0", {IoClass::kNone, 0, 0}},       {"none", {IoClass::kNone, 0, 0}},
        {"1", {IoClass::kRealtime, 4, 0}},   {"realtime", {IoClass::kRealtime, 4, 0}},
        {"2", {IoClass::kBestEffort, 4, 0}}, {"Best-Effort", {IoClass::kBestEffort, 4, 0}},
        {"03", {IoClass::kIdle, 7, 0}},      {"idle", {IoClass::kIdle, 7, 0}},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(request({"-c", text, "true"}).wanted, expected) << text;
        EXPECT_EQ(request({"--class=" + text, "true"}).wanted, expected) << text;
    }
    EXPECT_EQ(refusal({"-c", "be", "true"}), "lull ionice: unknown scheduling class: 'be'\n");
    EXPECT_EQ(refusal({"-c", "3x", "true"}), "lull ionice: invalid class argument: '3x'\n");
    EXPECT_FALSE(valid(request({"-c", "5", "true"}).wanted)) << "left to be refused, or forgiven";
}

TEST_F(Ionice, ALevelAloneIsBestEffort) {
    const auto asked = request({"-n3", "make", "-j4"});
    EXPECT_EQ(asked.action, Action::kRun);
    EXPECT_EQ(asked.wanted, (IoPriority{IoClass::kBestEffort, 3, 0}));
    EXPECT_EQ(request({"-c1", "-n", "0", "true"}).wanted, (IoPriority{IoClass::kRealtime, 0, 0}));
    EXPECT_EQ(refusal({"-n", "x", "true"}), "lull ionice: invalid class data argument: 'x'\n");
    EXPECT_EQ(refusal({"-n", "99999999999", "true"}),
              "lull ionice: invalid class data argument: '99999999999': "
              "Numerical result out of range\n");
}

TEST_F(Ionice, ALevelIsIgnoredAloudWhereThereIsNone) {
    const auto idle = parse({"-c", "idle", "-n", "3", "true"});
    ASSERT_TRUE(idle);
    EXPECT_EQ(told_, "lull ionice: ignoring given class data for idle class\n");
    EXPECT_EQ(idle->wanted, (IoPriority{IoClass::kIdle, 7, 0}));
    const auto none = parse({"-n", "3", "-c", "none", "true"});
    ASSERT_TRUE(none);
    EXPECT_EQ(told_, "lull ionice: ignoring given class data for none class\n");
    EXPECT_EQ(none->wanted, IoPriority{});
    EXPECT_TRUE(request({"-c", "idle", "-n", "3", "-t", "true"}).tolerant) << "and silently";
}

TEST_F(Ionice, OptionsBehindTheCommandAreItsOwn) {
    const auto asked = request({"-t", "-c3", "tar", "-c", "1", "-p", "x"});
    EXPECT_EQ(asked.action, Action::kRun);
    EXPECT_TRUE(asked.tolerant);
    EXPECT_EQ(asked.wanted.io_class, IoClass::kIdle);
    EXPECT_EQ(asked.command, (Words{"tar", "-c", "1", "-p", "x"}));
    EXPECT_EQ(request({"-c3", "--", "-odd"}).command, Words{"-odd"});
    EXPECT_EQ(request({"show"}).command, Words{"show"}) << "not another verb of lull";
}

TEST_F(Ionice, TargetsAreOfOneKind) {
    const std::vector<std::pair<std::string, IoTarget::Kind>> cases{
        {"-p", IoTarget::Kind::kThread},
        {"-P", IoTarget::Kind::kProcessGroup},
        {"-u", IoTarget::Kind::kUser}};
    for (const auto& [option, kind] : cases) {
        const auto shown = request({option, "7", "8"});
        EXPECT_EQ(shown.action, Action::kShow);
        ASSERT_EQ(shown.targets.size(), 2U);
        EXPECT_EQ(shown.targets[0].kind, kind);
        EXPECT_EQ(shown.targets[0].id, 7);
        EXPECT_EQ(shown.targets[1].kind, kind);
        EXPECT_EQ(shown.targets[1].id, 8);
        EXPECT_EQ(request({option, "7", "-c3"}).action, Action::kSet);
        EXPECT_EQ(request({"-n1", option, "7"}).action, Action::kSet);
        EXPECT_EQ(refusal({option, "7", option, "8"}),
                  "lull ionice: can handle only one of pid, pgid or uid at once\n");
    }
    EXPECT_EQ(refusal({"-p", "7", "x"}), "lull ionice: invalid PID argument: 'x'\n");
    EXPECT_EQ(refusal({"-P", "", "7"}), "lull ionice: invalid PGID argument: ''\n");
    EXPECT_EQ(refusal({"-u", "root"}), "lull ionice: invalid UID argument: 'root'\n");
    EXPECT_EQ(refusal({"-p", "7", "8", "-c3"}), "lull ionice: invalid PID argument: '-c3'\n")
        << "options come before the second number";
}

TEST_F(Ionice, BadUsageIsTold) {
    const std::string try_help = "Try 'lull ionice --help' for more information.\n";
    EXPECT_EQ(refusal({"-c3"}), "lull ionice: bad usage\n" + try_help);
    EXPECT_EQ(refusal({"-x"}), "lull ionice: invalid option -- 'x'\n" + try_help);
    EXPECT_EQ(refusal({"--foo"}), "lull ionice: unrecognized option '--foo'\n" + try_help);
    EXPECT_EQ(refusal({"-p"}), "lull ionice: option requires an argument -- 'p'\n" + try_help);
}

TEST_F(Ionice, HelpAndVersionWinOverWhatFollows) {
    EXPECT_EQ(request({"-h", "-x"}).action, Action::kHelp);
    EXPECT_EQ(request({"--version", "true"}).action, Action::kVersion);
    std::ostringstream out;
    EXPECT_EQ(ionice({"ionice", "-V"}, "1.2.3", out, err_), 0);
    EXPECT_EQ(out.str(), "lull ionice 1.2.3\n");
}

}  // namespace
}  // namespace lull::replayer
