// SPDX-License-Identifier: MIT
// `lull ionice` beside util-linux's: the same command lines, and what both print, how they end and
// what they leave set.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "sched/ioprio_target.hpp"
#include "tests/needs.hpp"
#include "tests/sched/other_process.hpp"

namespace lull::test {
namespace {

using sched::IoClass;
using sched::IoPriority;
using sched::IoTarget;
using Words = std::vector<std::string>;

constexpr const char* kUtilLinux = "/usr/bin/ionice";
constexpr uid_t kRoot = 0;

/// What a run of a tool came to.
struct Outcome {
    int status = -1;
    std::string out;
    std::string err;
    std::vector<std::string> priorities;  ///< of the targets, afterwards

    bool operator==(const Outcome&) const = default;
};
void PrintTo(const Outcome& outcome, std::ostream* stream) {
    *stream << "status " << outcome.status << ", output '" << outcome.out << "', errors '"
            << outcome.err << "', targets:";
    for (const std::string& priority : outcome.priorities) {
        *stream << " '" << priority << "'";
    }
}

std::string contents(FILE* file) {
    std::string text(1 << 16, '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

/// A program, opened before the user changes: the way to it may be closed to others.
class Tool {
  public:
    Tool(const std::string& path, Words first)
        : fd_(::open(path.c_str(), O_PATH | O_CLOEXEC)), first_(std::move(first)) {}
    [[nodiscard]] bool found() const { return static_cast<bool>(fd_); }

    /// Runs it as `user`, with nothing to read.
    [[nodiscard]] Outcome run(const Words& words, uid_t user) const {
        using File = std::unique_ptr<FILE, int (*)(FILE*)>;
        const File out(std::tmpfile(), &std::fclose);
        const File err(std::tmpfile(), &std::fclose);
        if (!out || !err) {
            return {};
        }
        Words copy = first_;
        copy.insert(copy.end(), words.begin(), words.end());
        std::vector<char*> arguments;
        for (std::string& word : copy) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            if (::dup2(::fileno(out.get()), STDOUT_FILENO) >= 0 &&
                ::dup2(::fileno(err.get()), STDERR_FILENO) >= 0 &&
                (user == kRoot || become_user(user))) {
                ::fexecve(fd_.get(), arguments.data(), environ);
            }
            ::_exit(99);
        }
        int status = 0;
        Outcome outcome;
        if (::waitpid(child, &status, 0) == child && WIFEXITED(status)) {
            outcome.status = WEXITSTATUS(status);
        }
        outcome.out = contents(out.get());
        outcome.err = contents(err.get());
        return outcome;
    }

  private:
    Fd fd_;
    Words first_;
};

class IoniceBesideUtilLinux : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        LULL_NEEDS(util_linux_.found(), "ionice of util-linux");
        ASSERT_TRUE(lull_.found()) << "LULL_TEST_PROGRAM names the built lull";
        while (sched::io_priority({IoTarget::Kind::kUser, static_cast<int>(user_)})) {
            ++user_;
        }
    }

    /// Runs a tool on targets made for it: PID and PID2 in the group PGID, of which the second set
    /// level 6; USER_PID of the user UID; GONE, which there is not.
    [[nodiscard]] Outcome outcome(const Tool& tool, Words words, uid_t user = kRoot) const {
        const OtherProcess first;
        const OtherProcess second([&] {
            return ::setpgid(0, first.pid()) == 0 &&
                   sched::set_io_priority({}, {IoClass::kBestEffort, 6, 0});
        });
        const OtherProcess users([&] { return become_user(user_); });
        EXPECT_TRUE(first.pid() > 0 && second.pid() > 0 && users.pid() > 0);
        const std::map<std::string, std::string> names{
            {"PID", std::to_string(first.pid())},  {"PID2", std::to_string(second.pid())},
            {"PGID", std::to_string(first.pid())}, {"USER_PID", std::to_string(users.pid())},
            {"UID", std::to_string(user_)},        {"GONE", std::to_string(kNobody)}};
        for (std::string& word : words) {
            if (const auto found = names.find(word); found != names.end()) {
                word = found->second;
            }
        }
        Outcome seen = tool.run(words, user);
        for (const OtherProcess* target : {&first, &second, &users}) {
            const auto priority = sched::io_priority({IoTarget::Kind::kThread, target->pid()});
            seen.priorities.push_back(priority ? describe(*priority) : priority.error().message());
        }
        replace_all(seen.err, "lull ionice", "ionice");
        return seen;
    }

    /// Errors may be told in other words, but have to be told by both or none.
    void expect_the_same(const std::vector<Words>& lines, bool same_errors, uid_t user = kRoot) {
        for (const Words& words : lines) {
            Outcome theirs = outcome(util_linux_, words, user);
            Outcome ours = outcome(lull_, words, user);
            if (!same_errors) {
                EXPECT_EQ(ours.err.empty(), theirs.err.empty()) << ours.err << theirs.err;
                ours.err.clear();
                theirs.err.clear();
            }
            EXPECT_EQ(ours, theirs) << testing::PrintToString(words);
        }
    }

    const Tool util_linux_{kUtilLinux, {"ionice"}};
    const Tool lull_{
        std::getenv("LULL_TEST_PROGRAM") == nullptr ? "" : std::getenv("LULL_TEST_PROGRAM"),
        {"lull", "ionice"}};
    uid_t user_ = 61234;
};

TEST_F(IoniceBesideUtilLinux, ShowsTheSame) {
    expect_the_same({{},
                     {"-t"},
                     {"-p", "PID"},
                     {"-p", "PID2"},
                     {"-pPID2"},
                     {"--pid", "PID", "PID2"},
                     {"-p", "0"},
                     {"-P", "PGID"},
                     {"--pgid", "PGID", "PGID"},
                     {"-u", "UID"},
                     {"-t", "-u", "UID", "UID"},
                     {"-p", " 1"},
                     {"-p", "+1"}},
                    true);
}

TEST_F(IoniceBesideUtilLinux, SetsTheSame) {
    expect_the_same({{"-c3", "-p", "PID"},
                     {"-c", "idle", "-p", "PID", "PID2"},
                     {"-p", "PID", "-cIDLE"},
                     {"-n", "0", "-p", "PID"},
                     {"-c", "2", "-n", "7", "-p", "PID2"},
                     {"-c", "realtime", "-p", "PID"},
                     {"--class=1", "--classdata=2", "--pid", "PID"},
                     {"-c0", "-p", "PID2"},
                     {"-c", "none", "-n", "3", "-p", "PID2"},
                     {"-c", "idle", "-n", "3", "-p", "PID2"},
                     {"-tcidle", "-n3", "-p", "PID2"},
                     {"-c3", "-P", "PGID"},
                     {"-c2", "-n1", "-u", "UID"},
                     {"-c3", "-c2", "-n1", "-n2", "-p", "PID"},
                     {"-t", "-c3", "-p", "GONE", "PID"},
                     {"-t", "-c3", "-P", "GONE"},
                     {"-t", "-c5", "-p", "GONE"}},
                    true);
}

TEST_F(IoniceBesideUtilLinux, RunsTheSame) {
    const std::string again = kUtilLinux;  // shows what it was run with
    expect_the_same({{again},
                     {"-t", again},
                     {"-c3", again},
                     {"-c", "1", "-n0", again},
                     {"-n3", again},
                     {"-c0", again},
                     {"-cidle", "-n3", again},
                     {"-c3", "--", again},
                     {"-c1", again, "-c2", again, "-c3", again},
                     {"-c3", "sh", "-c", "exit 7"},
                     {"-c3", "sh", "-c", "echo one; echo two >&2"},
                     {"-n3", "sh", "-c", again + "; " + again},
                     {"nonesuch"},
                     {"-c3", "--", "-c3"},
                     {"/etc/passwd"},
                     {"/"},
                     {""}},
                    true);
}

TEST_F(IoniceBesideUtilLinux, RefusesTheSameCommandLines) {
    expect_the_same({{"-c3"},
                     {"-n3"},
                     {"-t", "-c3"},
                     {"-c"},
                     {"-p"},
                     {"--uid"},
                     {"-x"},
                     {"--foo"},
                     {"--p=1"},
                     {"--ignore=1"},
                     {"-c", "be", "true"},
                     {"-c", "", "true"},
                     {"-c", "-1", "true"},
                     {"-c", "3x", "true"},
                     {"-c", "0x3", "true"},
                     {"-c", "99999999999", "true"},
                     {"-n", "x", "true"},
                     {"-n", "", "true"},
                     {"-p", "1x"},
                     {"-p", ""},
                     {"-p", "99999999999"},
                     {"-u", "root"},
                     {"-P", "x", "-x"},
                     {"-p", "PID", "-P", "PGID"},
                     {"-u", "UID", "-u", "UID"},
                     {"-c3", "-p", "PID", "-p", "PID2"}},
                    true);
}

TEST_F(IoniceBesideUtilLinux, FailsTheSameWithMoreWords) {
    expect_the_same({{"-p", "GONE"},
                     {"-t", "-p", "GONE"},
                     {"-P", "GONE"},
                     {"-u", "GONE"},
                     {"-p", "-5"},
                     {"-p", "PID", "GONE", "PID2"},
                     {"-c3", "-p", "GONE"},
                     {"-c3", "-p", "PID", "GONE", "PID2"},
                     {"-c3", "-P", "GONE"},
                     {"-c3", "-u", "GONE"},
                     {"-c2", "-n", "-1", "-p", "PID"},
                     {"-c4", "true"},
                     {"-c5", "-p", "PID"}},
                    false);
}

TEST_F(IoniceBesideUtilLinux, IsTheSameToOtherUsers) {
    const std::string again = kUtilLinux;
    expect_the_same({{},
                     {"-p", "PID2"},
                     {"-u", "UID"},
                     {"-c3", again},
                     {"-n0", again},
                     {"-c3", "-p", "USER_PID"},
                     {"-c3", "-u", "UID"},
                     {"-c1", "-t", again},
                     {"-t", "-c3", "-p", "PID", "USER_PID"}},
                    true, user_);
    expect_the_same({{"-c1", again},
                     {"-c1", "-p", "USER_PID"},
                     {"-c3", "-p", "PID"},
                     {"-c3", "-p", "USER_PID", "PID"},
                     {"-c3", "-P", "PGID"},
                     {"-c3", "-u", "0"}},
                    false, user_);
}

TEST_F(IoniceBesideUtilLinux, DiffersWhereAMistakeIsBetterTold) {
    const std::vector<std::string> untouched{"none: prio 0", "best-effort: prio 6", "none: prio 0"};
    const auto expect = [&](const Words& words, int status, const std::string& out,
                            const std::string& err) {
        EXPECT_EQ(outcome(lull_, words), (Outcome{status, out, err, untouched}))
            << testing::PrintToString(words);
    };
    expect({"-n", "8192", "true"}, 1, "",
           "ionice: cannot set the I/O priority of the calling thread (level 8192 is not in 0..7): "
           "Invalid argument\n");
    expect({"-p", "PID", "x"}, 1, "", "ionice: invalid PID argument: 'x'\n");
    expect({"-c3", "-p", "PID", "x"}, 1, "", "ionice: invalid PID argument: 'x'\n");
    Outcome eight = outcome(lull_, {"-n", "8", "-p", "PID"});
    EXPECT_NE(eight.err.find("level 8 is not in 0..7"), std::string::npos) << eight.err;
    eight.err.clear();
    EXPECT_EQ(eight, (Outcome{1, "", "", untouched}));
}

TEST_F(IoniceBesideUtilLinux, DiffersOnHints) {
    const OtherProcess hinted;
    const auto set = sched::set_io_priority({IoTarget::Kind::kThread, hinted.pid()},
                                            {IoClass::kBestEffort, 2, 1});
    LULL_NEEDS(set.ok(), "hints (Linux 6.5)");
    EXPECT_EQ(lull_.run({"-p", std::to_string(hinted.pid())}, kRoot).out,
              "best-effort: prio 2, hint 1\n");
}

TEST_F(IoniceBesideUtilLinux, DiffersOnNumberZero) {
    const OtherProcess leader;
    ASSERT_TRUE(sched::set_io_priority({IoTarget::Kind::kThread, leader.pid()},
                                       {IoClass::kBestEffort, 2, 0}));
    const OtherProcess member([&] {
        return sched::set_io_priority({}, {IoClass::kBestEffort, 5, 0}) &&
               ::setpgid(0, leader.pid()) == 0 &&
               lull_.run({"-P", "0"}, kRoot).out == "best-effort: prio 2\n";
    });
    EXPECT_GT(member.pid(), 0) << "the group's is its leader's, not the caller's";
    const std::string again = std::getenv("LULL_TEST_PROGRAM");
    const Outcome roots = lull_.run({"-c3", again, "ionice", "-u", "0"}, kRoot);
    EXPECT_EQ(roots.status, 0);
    EXPECT_NE(roots.out, "idle\n") << "the caller's, while others of root are higher";
}

TEST_F(IoniceBesideUtilLinux, TellsWhenNobodyCanReadIt) {
    for (const std::string& tool :
         {std::string(kUtilLinux), std::string(std::getenv("LULL_TEST_PROGRAM")) + " ionice"}) {
        const std::string line = tool + " > /dev/full 2> /dev/null";
        EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1) << line;  // NOLINT: a shell is wanted
    }
}

}  // namespace
}  // namespace lull::test
