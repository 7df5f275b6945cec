// SPDX-License-Identifier: MIT
// kill -9 at random moments: of `lull collect` and `lull replay` nothing stays but what they
// finished, and the database is the old one or the new one.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/check.hpp"
#include "db/database.hpp"
#include "fs/mounts.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"
#include "tests/system/leavings.hpp"
#include "tests/system/lull_process.hpp"

namespace lull::test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Words = std::vector<std::string>;

constexpr int kRounds = 60;  // of each kind
constexpr int kFiles = 24;
constexpr std::uint64_t kPagesPerFile = 256;

/// The kernel frees some objects after the process that held them, by work of its own.
bool in_the_end(const std::function<bool()>& holds) {
    constexpr int kAttempts = 2000;
    constexpr int kPauseMs = 10;
    for (int i = 0; i < kAttempts; ++i) {
        if (holds()) {
            return true;
        }
        ::poll(nullptr, 0, kPauseMs);
    }
    return false;
}

class Kill : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        auto disk = LoopMount::make();
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
        std::filesystem::create_directory(disk_->path("tracefs"));
        ASSERT_EQ(::mount("tracefs", disk_->path("tracefs").c_str(), "tracefs", 0, nullptr), 0);
        for (int i = 0; i < kFiles; ++i) {
            ASSERT_TRUE(write_pages(file(i), 0, kPagesPerFile).ok());
        }
        std::filesystem::create_directory(disk_->path("db"));
        const auto lull = collect(read_all());
        ASSERT_EQ(lull->wait(), 0) << lull->printed();
        before_ = leavings();
        const unsigned seed = std::random_device()();
        random_.seed(seed);
        RecordProperty("seed", std::to_string(seed));
        std::cout << "seed " << seed << '\n';
    }

    void TearDown() override {
        if (disk_ == nullptr) {
            return;
        }
        ::umount2(disk_->path("tracefs").c_str(), MNT_DETACH);
        EXPECT_TRUE(in_the_end([&] { return ::umount2(disk_->directory().c_str(), 0) == 0; }))
            << "something holds the disk";
    }

    [[nodiscard]] std::string file(int number) const {
        return disk_->path("file" + std::to_string(number));
    }
    [[nodiscard]] std::string read_all() const { return "cat " + disk_->path("file*"); }
    [[nodiscard]] std::string database() const { return disk_->path("db/lull.db"); }

    static std::unique_ptr<LullProcess> start(const Words& words) {
        auto started = LullProcess::start(words);
        EXPECT_TRUE(started.ok()) << started.error().message();
        return started ? *std::move(started) : nullptr;
    }
    std::unique_ptr<LullProcess> collect(const std::string& script) {
        return start({"collect", "--mount", disk_->directory(), "--db", database(), "--max-blocks",
                      std::to_string(max_blocks_), "--keep", "1000", "--", "sh", "-c", script});
    }
    std::unique_ptr<LullProcess> replay() {
        return start({"replay", "--root", disk_->directory(), database()});
    }

    /// How long what follows the start of `lull` lasts when nobody disturbs it.
    static Milliseconds time_to_end(LullProcess& lull) {
        const auto start = Clock::now();
        EXPECT_EQ(lull.wait(), 0) << lull.printed();
        return std::chrono::duration_cast<Milliseconds>(Clock::now() - start) + Milliseconds(1);
    }

    /// Kills `lull` at a random moment of the time that it would take, alone or with all that it
    /// started. True if that came before its end.
    bool kill_within(LullProcess& lull, Milliseconds time) {
        const bool alone = random_() % 2 == 0;
        const auto moment = static_cast<int>(random_() % static_cast<unsigned>(time.count() + 1));
        SCOPED_TRACE("after " + std::to_string(moment) + " ms" + (alone ? ", alone" : ""));
        static_cast<void>(lull.ends_within(moment));
        if (alone) {
            lull.signal(SIGKILL);
        } else {
            lull.signal_group(SIGKILL);
        }
        constexpr int kKilled = 128 + SIGKILL;
        const int status = lull.wait();
        EXPECT_TRUE(status == kKilled || status == 0) << status << lull.printed();
        expect_no_bpf();  // also if the command lives on
        lull.signal_group(SIGKILL);
        while (::waitpid(-1, nullptr, 0) > 0) {
        }
        EXPECT_EQ(errno, ECHILD);
        return status == kKilled;
    }

    [[nodiscard]] Leavings leavings() const {
        auto found = look_for_leavings(disk_->path("tracefs"), disk_->directory());
        EXPECT_TRUE(found.ok()) << found.error().message();
        return found ? *std::move(found) : Leavings();
    }
    [[nodiscard]] BpfObjects objects() const {
        auto found = bpf_objects(kSlots);
        EXPECT_TRUE(found.ok()) << found.error().message();
        return found ? *std::move(found) : BpfObjects();
    }
    void expect_no_bpf() const {
        EXPECT_TRUE(in_the_end([&] { return objects().empty(); })) << "BPF objects are left";
    }
    void expect_nothing_left() const {
        expect_no_bpf();
        EXPECT_TRUE(in_the_end([&] { return leavings() == before_; })) << "before:\n"
                                                                       << before_.mounts << "now:\n"
                                                                       << leavings().mounts;
        for (const auto& entry : std::filesystem::directory_iterator(disk_->path("db"))) {
            const std::string name = entry.path().filename();
            EXPECT_TRUE(name == "lull.db" || name == ".lull.db.lull-new") << name;
        }
    }

    /// Ids of the runs in a database that must be whole.
    [[nodiscard]] std::vector<std::int64_t> runs() const {
        std::ostringstream told;
        const auto sound = db::check({database(), false}, told);
        EXPECT_TRUE(sound && *sound) << told.str();
        const auto opened = db::Database::open(database());
        std::vector<std::int64_t> ids;
        if (const auto boots = opened ? opened->boots() : opened.error()) {
            for (const db::BootSummary& each : *boots) {
                ids.push_back(each.id);
            }
        }
        return ids;
    }
    /// `old`, or one run more.
    void expect_old_or_one_more(std::vector<std::int64_t>& old) const {
        std::vector<std::int64_t> now = runs();
        EXPECT_TRUE(now.size() == old.size() || now.size() == old.size() + 1) << now.size();
        EXPECT_TRUE(now.size() >= old.size() && std::equal(old.begin(), old.end(), now.begin()));
        old = std::move(now);
    }
    void expect_that_the_next_run_tidies_up() {
        std::ofstream(disk_->path("db/.lull.db.lull-new")) << "half a database";
        const std::size_t before = runs().size();
        const auto lull = collect("true");
        EXPECT_EQ(lull->wait(), 0) << lull->printed();
        EXPECT_EQ(runs().size(), before + 1);
        EXPECT_FALSE(std::filesystem::exists(disk_->path("db/.lull.db.lull-new")));
    }
    [[nodiscard]] std::string bytes_of_database() const {
        std::ifstream stored(database(), std::ios::binary);
        return {std::istreambuf_iterator<char>(stored), {}};
    }

    std::unique_ptr<LoopMount> disk_;
    Leavings before_;
    std::mt19937 random_;
    /// Not the usual number, so that a recorder of someone else is not taken for ours; it makes a
    /// table of kSlots slots, which it fills to 7/8.
    static constexpr std::uint32_t kSlots = 1 << 14;
    std::uint32_t max_blocks_ = kSlots / 8 * 7;
};

TEST_F(Kill, WouldBeSeenByWhatItLeaves) {
    const std::string name = "lull-test-" + std::to_string(::getpid());
    const std::string instance = disk_->path("tracefs/instances/" + name);
    if (std::filesystem::exists(disk_->path("tracefs/instances"))) {
        ASSERT_TRUE(std::filesystem::create_directory(instance));
        EXPECT_EQ(leavings().instances, (std::set<std::string>{instance}));
        std::filesystem::remove(instance);
    }
    const auto loop = output_of({"losetup", "--find", "--show", file(0)});
    ASSERT_TRUE(loop.ok());
    EXPECT_EQ(leavings().loop_devices.size(), 1U);
    EXPECT_TRUE(run({"losetup", "--detach", *loop}).ok());
    ASSERT_EQ(
        ::mount(disk_->path("db").c_str(), disk_->path("db").c_str(), nullptr, MS_BIND, nullptr),
        0);
    EXPECT_NE(leavings().mounts, before_.mounts);
    EXPECT_EQ(::umount(disk_->path("db").c_str()), 0);
    const auto mounts = fs::read_mounts();
    ASSERT_TRUE(mounts.ok());
    for (const fs::Mount& mount : *mounts) {
        if (mount.fs_type == "cgroup2") {
            const std::string cgroup = mount.mount_point + "/" + name;
            ASSERT_TRUE(std::filesystem::create_directory(cgroup));
            EXPECT_TRUE(leavings().cgroups.contains(cgroup));
            std::filesystem::remove(cgroup);
        }
    }
    expect_nothing_left();
}

TEST_F(Kill, OfCollectAtAnyMoment) {
    const std::string script = read_all() + "; read x < /dev/null; " + read_all();
    const Milliseconds time = time_to_end(*collect(script));
    std::vector<std::int64_t> known = runs();
    int killed = 0;
    for (int i = 0; i < kRounds; ++i) {
        SCOPED_TRACE("round " + std::to_string(i));
        const auto lull = collect(script);
        killed += kill_within(*lull, time) ? 1 : 0;
        expect_nothing_left();
        expect_old_or_one_more(known);
    }
    EXPECT_GT(killed, kRounds / 4);
    expect_that_the_next_run_tidies_up();
}

TEST_F(Kill, OfCollectWhileItWrites) {
    auto here = Meeting::make(disk_->path("here"));
    auto go_on = Meeting::make(disk_->path("go-on"));
    ASSERT_TRUE(here.ok() && go_on.ok());
    const std::string script =
        read_all() + "; echo > " + disk_->path("here") + "; read x < " + disk_->path("go-on");
    std::vector<std::int64_t> known = runs();
    std::optional<Milliseconds> time;
    for (int i = 0; i <= kRounds; ++i) {
        SCOPED_TRACE("round " + std::to_string(i));
        const auto lull = collect(script);
        ASSERT_TRUE(here->await().ok()) << lull->printed();
        if (lull->printed().empty()) {
            ASSERT_TRUE(lull->prints("recording by rung"));
        }
        if (lull->printed().find("residency") == std::string::npos) {
            EXPECT_FALSE(objects().links.empty()) << "so that their absence can be told";
        }
        go_on->proceed();
        if (!time) {
            time = time_to_end(*lull);
        } else {
            kill_within(*lull, *time);
        }
        expect_nothing_left();
        expect_old_or_one_more(known);
    }
    expect_that_the_next_run_tidies_up();
}

TEST_F(Kill, OfReplayAtAnyMoment) {
    const auto make_cold = [&] {
        for (int i = 0; i < kFiles; ++i) {
            ASSERT_TRUE(evict(file(i)).ok());
        }
    };
    make_cold();
    const Milliseconds time = time_to_end(*replay());
    const std::string stored = bytes_of_database();
    int killed = 0;
    for (int i = 0; i < kRounds; ++i) {
        SCOPED_TRACE("round " + std::to_string(i));
        make_cold();
        const auto lull = replay();
        killed += kill_within(*lull, time) ? 1 : 0;
        expect_nothing_left();
        EXPECT_EQ(bytes_of_database(), stored) << "replay only reads it";
    }
    EXPECT_GT(killed, kRounds / 4);
    expect_that_the_next_run_tidies_up();
}

}  // namespace
}  // namespace lull::test
