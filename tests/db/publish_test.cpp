// SPDX-License-Identifier: MIT
// What a writer leaves behind when the disk is full, read-only, or the writer is killed.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "db/check.hpp"
#include "db/database.hpp"
#include "tests/db/sample.hpp"
#include "tests/needs.hpp"

namespace lull::db {
namespace {

using Names = std::vector<std::string>;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// A tmpfs that goes when the object does.
class Tmpfs {
  public:
    Tmpfs(const std::string& where, const std::string& options) : where_(where) {
        mounted_ = ::mount("lull-test", where.c_str(), "tmpfs", 0, options.c_str()) == 0;
    }
    ~Tmpfs() {
        if (mounted_) {
            ::umount2(where_.c_str(), MNT_DETACH);
        }
    }
    Tmpfs(const Tmpfs&) = delete;
    Tmpfs& operator=(const Tmpfs&) = delete;

    [[nodiscard]] bool mounted() const { return mounted_; }
    [[nodiscard]] bool make_read_only() const {
        return ::mount("", where_.c_str(), "", MS_REMOUNT | MS_RDONLY, "") == 0;
    }

  private:
    std::string where_;
    bool mounted_ = false;
};

/// Runs `body` in a child, which ends by SIGKILL after `limit` if it has not ended before; gives
/// its wait status.
template <typename Body>
int run_child(std::chrono::nanoseconds limit, const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGKILL;
        timer_t timer{};
        itimerspec when{};
        when.it_value = {limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
            ::timer_settime(timer, 0, &when, nullptr) != 0) {
            ::_exit(99);
        }
        ::_exit(body());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

class PublishTest : public ::testing::TestWithParam<Target::Temporary> {
  protected:
    TemporaryDirectory directory_{std::filesystem::temp_directory_path()};
    std::string path_ = directory_.path("traces.db");
};

TEST_P(PublishTest, PutsTheContentThereAndNothingElse) {
    const auto target = Target::lock(path_);
    ASSERT_TRUE(target) << target.error().message();
    for (const std::string content : {"first", "second", ""}) {
        const auto replaced = target->replace(bytes_of(content), GetParam());
        ASSERT_TRUE(replaced) << replaced.error().message();
        EXPECT_EQ(read_file(path_), content);
        EXPECT_EQ(directory_.names(), Names{"traces.db"});
    }
}

TEST_P(PublishTest, KeepsTheModeOfTheFile) {
    const auto target = Target::lock(path_);
    ASSERT_TRUE(target);
    struct stat status {};
    ASSERT_TRUE(target->replace(bytes_of("first"), GetParam()));
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(status.st_mode & 0777, 0644 & ~mask);
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
    ASSERT_TRUE(target->replace(bytes_of("second"), GetParam()));
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_P(PublishTest, FollowsALinkToTheFile) {
    write_file(directory_.path("real.db"), "old");
    std::filesystem::create_symlink("real.db", path_);
    const auto target = Target::lock(path_);
    ASSERT_TRUE(target);
    ASSERT_TRUE(target->replace(bytes_of("new"), GetParam()));
    EXPECT_TRUE(std::filesystem::is_symlink(path_));
    EXPECT_EQ(read_file(directory_.path("real.db")), "new");
}

TEST_P(PublishTest, LeavesTheOldContentWhenTheDiskIsFull) {
    LULL_NEEDS_ROOT();
    const Tmpfs tmpfs(directory_.path(), "size=256k");
    ASSERT_TRUE(tmpfs.mounted()) << std::strerror(errno);
    const auto target = Target::lock(path_);
    ASSERT_TRUE(target);
    ASSERT_TRUE(target->replace(bytes_of("old"), GetParam()));
    const auto replaced = target->replace(bytes_of(std::string(1 << 20, 'x')), GetParam());
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().code, ENOSPC);
    EXPECT_EQ(read_file(path_), "old");
    EXPECT_EQ(directory_.names(), Names{"traces.db"});
    EXPECT_TRUE(target->replace(bytes_of(std::string(200 << 10, 'x')), GetParam()))
        << "the space of the failed write was not given back";
}

TEST_P(PublishTest, SaysThatTheFileSystemIsReadOnly) {
    LULL_NEEDS_ROOT();
    const Tmpfs tmpfs(directory_.path(), "size=256k");
    ASSERT_TRUE(tmpfs.mounted()) << std::strerror(errno);
    write_file(path_, "old");
    ASSERT_TRUE(tmpfs.make_read_only()) << std::strerror(errno);
    const auto target = Target::lock(path_);
    ASSERT_TRUE(target);
    const auto replaced = target->replace(bytes_of("new"), GetParam());
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().code, EROFS);
    EXPECT_EQ(read_file(path_), "old");
}

INSTANTIATE_TEST_SUITE_P(Temporaries, PublishTest,
                         ::testing::Values(Target::Temporary::kUnnamed, Target::Temporary::kNamed),
                         [](const auto& info) {
                             return info.param == Target::Temporary::kNamed ? "Named" : "Unnamed";
                         });

TEST_F(PublishTest, RemovesTheLeftoverOfAKilledWriter) {
    write_file(directory_.path(".traces.db.lull-new"), "half");
    ASSERT_TRUE(store(path_, sample_trace()));
    EXPECT_EQ(directory_.names(), Names{"traces.db"});
}

TEST_F(PublishTest, NeedsTheDirectoryAndAName) {
    EXPECT_EQ(store(directory_.path("none/traces.db"), sample_trace()).error().code, ENOENT);
    EXPECT_EQ(store(directory_.path(), sample_trace()).error().code, EMEDIUMTYPE);
    EXPECT_EQ(store("/", sample_trace()).error().code, EISDIR);
    EXPECT_TRUE(directory_.names().empty());
}

TEST_F(PublishTest, StoresOnAFullDiskLeaveTheOldRuns) {
    LULL_NEEDS_ROOT();
    const Tmpfs tmpfs(directory_.path(), "size=512k");
    ASSERT_TRUE(tmpfs.mounted()) << std::strerror(errno);
    ASSERT_TRUE(store(path_, sample_trace()));
    EXPECT_EQ(store(path_, large_trace(20'000)).error().code, ENOSPC);
    const auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message();
    EXPECT_EQ(lines_of(*database->trace(1)), lines_of(sample_trace()));
    EXPECT_EQ(directory_.names(), Names{"traces.db"});
}

TEST_F(PublishTest, StoresAtTheSameTimeLoseNoRun) {
    constexpr int kWriters = 4;
    constexpr int kStores = 4;
    std::vector<pid_t> children;
    for (int writer = 0; writer < kWriters; ++writer) {
        const pid_t child = ::fork();
        if (child == 0) {
            bool good = true;
            for (int run = 0; run < kStores; ++run) {
                good = store(path_, sample_trace(writer * kStores + run)).ok() && good;
            }
            ::_exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    const auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message();
    const auto boots = database->boots();
    ASSERT_TRUE(boots) << boots.error().message();
    std::vector<std::string> ids;
    for (const BootSummary& boot : *boots) {
        ids.push_back(boot.boot.boot_id);
    }
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(kWriters * kStores));
    EXPECT_EQ(directory_.names(), Names{"traces.db"});
}

class KillTest : public PublishTest {
  protected:
    /// How long a store takes here and now.
    [[nodiscard]] std::chrono::nanoseconds time_of_a_store() const {
        const auto started = std::chrono::steady_clock::now();
        const auto stored = store(path_, trace_, kKeep);
        EXPECT_TRUE(stored) << stored.error().message();
        return std::chrono::steady_clock::now() - started;
    }

    void expect_whole() const {
        for (const std::string& name : directory_.names()) {
            EXPECT_TRUE(name == "traces.db" || name == ".traces.db.lull-new") << name;
        }
        std::ostringstream problems;
        const auto sound = check({.path = path_}, problems);
        ASSERT_TRUE(sound) << sound.error().message();
        EXPECT_TRUE(*sound) << problems.str();
    }

    static constexpr std::size_t kKeep = 3;
    const Trace trace_ = large_trace(2000);
};

TEST_F(KillTest, LeavesAWholeDatabaseAndNothingElse) {
    constexpr int kKills = 100;
    constexpr unsigned kSeed = 20'101;
    std::mt19937 random(kSeed);
    // Long enough that some writers are killed in their second or third store.
    std::uniform_int_distribution<std::int64_t> moment(1, time_of_a_store().count() * 3);
    int killed = 0;
    for (int kill = 0; kill < kKills; ++kill) {
        const std::chrono::nanoseconds limit(moment(random));
        SCOPED_TRACE(fmt::format("seed {} kill {} after {} ns", kSeed, kill, limit.count()));
        const int status = run_child(limit, [&] {
            while (store(path_, trace_, kKeep)) {
            }
            return 1;
        });
        killed += WIFSIGNALED(status) ? 1 : 0;
        ASSERT_NO_FATAL_FAILURE(expect_whole());
    }
    EXPECT_EQ(killed, kKills) << "a child ended by itself: a store failed";
    ASSERT_TRUE(store(path_, trace_, kKeep));
    EXPECT_EQ(directory_.names(), Names{"traces.db"});
    const auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message();
    const auto boots = database->boots();
    ASSERT_TRUE(boots) << boots.error().message();
    EXPECT_EQ(boots->size(), kKeep);
    EXPECT_GT(boots->back().id, 10) << "hardly any writer came to its end before it was killed";
    for (const BootSummary& boot : *boots) {
        EXPECT_EQ(lines_of(*database->trace(boot.id)), lines_of(trace_));
    }
}

}  // namespace
}  // namespace lull::db
