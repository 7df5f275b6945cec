// SPDX-License-Identifier: MIT
// `lull collect` as a user meets it: what it prints, how it ends, what is in the database.
#include "collector/collect.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "bpf/kernel_btf.hpp"
#include "db/database.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"
#include "tests/system/lull_process.hpp"

namespace lull::test {
namespace {

using Words = std::vector<std::string>;

class Collect : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        auto disk = LoopMount::make();
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
        database_ = disk_->path("lull.db");
        ASSERT_TRUE(write_pages(file(), 0, 8).ok());
    }

    [[nodiscard]] std::string file() const { return disk_->path("file"); }
    [[nodiscard]] std::string read_file() const { return "cat " + file(); }

    /// `lull collect` of this disk into our database, with more options before the command.
    std::unique_ptr<LullProcess> start(Words options, const Words& command,
                                       const LullProcess::Denied& denied = {}) {
        Words words{"collect", "--mount", disk_->directory(), "--db", database_};
        words.insert(words.end(), options.begin(), options.end());
        if (!command.empty()) {
            words.emplace_back("--");
            words.insert(words.end(), command.begin(), command.end());
        }
        auto started = LullProcess::start(words, denied);
        EXPECT_TRUE(started.ok()) << started.error().message();
        return started ? *std::move(started) : nullptr;
    }
    std::unique_ptr<LullProcess> start_shell(const std::string& script, Words options = {},
                                             const LullProcess::Denied& denied = {}) {
        return start(std::move(options), {"sh", "-c", script}, denied);
    }
    Meeting meeting(const std::string& name) {
        auto made = Meeting::make(disk_->path(name));
        EXPECT_TRUE(made.ok());
        return *std::move(made);
    }
    /// Shell words that tell the test something and wait for its answer.
    [[nodiscard]] std::string tell(const std::string& name, const std::string& what = "") const {
        return "echo " + what + " > " + disk_->path(name);
    }
    [[nodiscard]] std::string wait_for(const std::string& name) const {
        return "read x < " + disk_->path(name);
    }

    [[nodiscard]] std::vector<db::BootSummary> runs() const {
        const auto database = db::Database::open(database_);
        if (!database) {
            ADD_FAILURE() << database.error().message();
            return {};
        }
        const auto boots = database->boots();
        EXPECT_TRUE(boots.ok());
        return boots ? *boots : std::vector<db::BootSummary>();
    }
    [[nodiscard]] db::Trace last_run() const {
        const auto known = runs();
        const auto database = db::Database::open(database_);
        if (known.empty() || !database) {
            ADD_FAILURE() << "no run";
            return {};
        }
        auto trace = database->trace(known.back().id);
        EXPECT_TRUE(trace.ok());
        return trace ? *std::move(trace) : db::Trace();
    }
    [[nodiscard]] bool was_read(const std::string& path) const {
        const db::Trace trace = last_run();
        return std::any_of(trace.reads.begin(), trace.reads.end(), [&](const db::Read& read) {
            return trace.files[read.file].path == path;
        });
    }
    void expect_no_database() const { EXPECT_FALSE(std::filesystem::exists(database_)); }

    std::unique_ptr<LoopMount> disk_;
    std::string database_;
};

TEST_F(Collect, PassesTheExitStatusOn) {
    for (const auto& [script, status] : std::vector<std::pair<std::string, int>>{
             {"exit 0", 0}, {"exit 3", 3}, {"kill -TERM $$", 143}, {"kill -KILL $$", 137}}) {
        const auto lull = start_shell(read_file() + "; " + script);
        EXPECT_EQ(lull->wait(), status) << script << lull->printed();
        const db::Trace trace = last_run();
        EXPECT_EQ(trace.boot.command, "sh -c " + read_file() + "; " + script);
        EXPECT_TRUE(was_read("/file"));
    }
    EXPECT_EQ(runs().size(), 4U);
}

TEST_F(Collect, TellsThatACommandCannotBeRun) {
    const auto unknown = start({}, {"no-such-command"});
    EXPECT_EQ(unknown->wait(), 2);
    EXPECT_NE(unknown->printed().find("cannot run no-such-command: No such file or directory\n"),
              std::string::npos)
        << unknown->printed();
    const auto forbidden = start({}, {disk_->directory()});
    EXPECT_EQ(forbidden->wait(), 2);
    EXPECT_NE(forbidden->printed().find("cannot run " + disk_->directory() + ": Permission denied"),
              std::string::npos)
        << forbidden->printed();
    expect_no_database();
}

TEST_F(Collect, WaitsForADaemonThatLeftItsParent) {
    Meeting away = meeting("away");
    Meeting go_on = meeting("go-on");
    const std::string daemon =
        tell("away", "$PPID") + "; " + wait_for("go-on") + "; " + read_file();
    const auto lull =
        start_shell(tell("away", "$$") + "; (setsid sh -c '" + daemon + "' &) ; exit 5");
    const auto shell = away.await();
    ASSERT_TRUE(shell.ok()) << lull->printed();
    // Its number may be free or another's by now; what matters is that the shell has gone.
    const Fd process = open_process(std::stoi(*shell));
    ASSERT_TRUE(!process || ends(process));
    ASSERT_TRUE(away.await().ok()) << "the daemon runs";
    go_on.proceed();
    EXPECT_EQ(lull->wait(), 5) << lull->printed();
    EXPECT_TRUE(was_read("/file"));
}

TEST_F(Collect, EndsWhenTheTimeIsOverAndLetsTheCommandGoOn) {
    Meeting go_on = meeting("go-on");
    Meeting done = meeting("done");
    const auto lull = start_shell(read_file() + "; " + wait_for("go-on") + "; " + tell("done"),
                                  {"--duration", "0.3"});
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_EQ(runs().size(), 1U);
    go_on.proceed();
    EXPECT_TRUE(done.await().ok()) << "the command lives";
}

TEST_F(Collect, WritesWhatThereIsAtASignal) {
    Meeting here = meeting("here");
    Meeting go_on = meeting("go-on");
    for (const int number : {SIGTERM, SIGINT}) {
        const auto lull =
            start_shell(read_file() + "; " + tell("here", "$$") + "; " + wait_for("go-on"));
        const auto shell = here.await();
        ASSERT_TRUE(shell.ok()) << lull->printed();
        const Fd command = open_process(std::stoi(*shell));
        lull->signal(number);
        EXPECT_EQ(lull->wait(), 0) << lull->printed();
        EXPECT_TRUE(was_read("/file"));
        if (number == SIGINT) {  // which a terminal sends to the command as well
            go_on.proceed();
        }
        EXPECT_TRUE(ends(command));
    }
    EXPECT_EQ(runs().size(), 2U);
}

TEST_F(Collect, RecordsWithoutACommandUntilASignal) {
    const auto lull = start({}, {});
    ASSERT_TRUE(lull->prints("recording by rung")) << lull->printed();
    ASSERT_TRUE(run({"cp", file(), "/dev/null"}).ok());
    lull->signal(SIGTERM);
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_TRUE(was_read("/file"));
    EXPECT_EQ(last_run().boot.command, "");
}

TEST_F(Collect, RecordsOnlyTheMountsItIsTold) {
    auto other = LoopMount::make();
    ASSERT_TRUE(other.ok());
    ASSERT_TRUE(write_pages((*other)->path("other"), 0, 8).ok());
    const std::string both = read_file() + " " + (*other)->path("other");
    EXPECT_EQ(start_shell(both)->wait(), 0);
    EXPECT_EQ(last_run().devices.size(), 1U);
    EXPECT_TRUE(was_read("/file"));
    EXPECT_FALSE(was_read("/other"));
    EXPECT_EQ(start_shell(both, {"--mount", (*other)->path("other")})->wait(), 0);
    EXPECT_EQ(last_run().devices.size(), 2U);
    EXPECT_TRUE(was_read("/file") && was_read("/other"));
}

TEST_F(Collect, NamesAMountThatIsNone) {
    const auto lull = start({"--mount", "/no/such/place"}, {"true"});
    EXPECT_EQ(lull->wait(), 2);
    EXPECT_EQ(lull->printed(), "lull: /no/such/place: No such file or directory\n");
    expect_no_database();
}

TEST_F(Collect, StoresAndTellsTheRung) {
    const auto kernel = bpf::KernelBtf::load();
    for (const std::string& rung : collector::rung_names()) {
        const auto lull = start_shell(read_file(), {"--pages=" + rung});
        const int status = lull->wait();
        const bool must_work =
            rung == "residency" ||
            (kernel.ok() && (rung == "add" ||
                             (rung == "events" && kernel->has_tracepoint("mm_filemap_get_pages"))));
        if (must_work || status == 0) {
            EXPECT_EQ(status, 0) << lull->printed();
            EXPECT_NE(lull->printed().find("recording by rung " + rung + "\n"), std::string::npos)
                << lull->printed();
            EXPECT_EQ(last_run().boot.rung, rung);
        } else {
            EXPECT_EQ(status, 2);
            EXPECT_TRUE(lull->printed().starts_with("lull: rung " + rung + ": "))
                << lull->printed();
            EXPECT_EQ(std::count(lull->printed().begin(), lull->printed().end(), '\n'), 1)
                << "one line, and no other rung in its stead: " << lull->printed();
        }
    }
}

TEST_F(Collect, KnowsNoRungOfAnotherName) {
    const auto lull = start({"--pages=crystal-ball"}, {"true"});
    EXPECT_EQ(lull->wait(), 2);
    expect_no_database();
}

TEST_F(Collect, TellsAndStoresThatATraceIsIncomplete) {
    ASSERT_TRUE(write_pages(disk_->path("large"), 0, 320).ok());
    const auto lull = start_shell("cat " + disk_->path("large"), {"--max-blocks", "2"});
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_NE(lull->printed().find("the trace is incomplete: lost "), std::string::npos)
        << lull->printed();
    EXPECT_FALSE(last_run().boot.complete());
    EXPECT_GE(last_run().boot.losses.blocks, 8U);
}

TEST_F(Collect, NamesADatabaseThatCannotBeWritten) {
    database_ = disk_->path("no/such/folder/lull.db");
    const auto nowhere = start_shell("exit 0");
    EXPECT_EQ(nowhere->wait(), 1);
    EXPECT_NE(nowhere->printed().find(disk_->path("no/such/folder") + ": No such file"),
              std::string::npos)
        << nowhere->printed();
    database_ = disk_->path("lull.db");
    ASSERT_EQ(
        ::mount(nullptr, disk_->directory().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    const auto read_only = start_shell("exit 0");
    EXPECT_EQ(read_only->wait(), 1);
    EXPECT_NE(read_only->printed().find(database_), std::string::npos) << read_only->printed();
    EXPECT_NE(read_only->printed().find("Read-only file system\n"), std::string::npos)
        << read_only->printed();
}

TEST_F(Collect, SetsADamagedDatabaseAsideAndSaysSo) {
    ASSERT_EQ(start_shell(read_file())->wait(), 0);
    {
        std::fstream damaged(database_, std::ios::in | std::ios::out | std::ios::binary);
        damaged.seekp(4096);
        damaged << std::string(std::filesystem::file_size(database_) - 4096, '\xa5');
    }
    const auto lull = start_shell(read_file());
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_NE(lull->printed().find("kept as " + database_ + ".corrupt"), std::string::npos)
        << lull->printed();
    EXPECT_TRUE(std::filesystem::exists(database_ + ".corrupt"));
    EXPECT_EQ(runs().size(), 1U);
}

TEST_F(Collect, LeavesAFileAloneThatIsNoDatabase) {
    std::ofstream(database_) << "my letters";
    const auto lull = start_shell(read_file());
    EXPECT_EQ(lull->wait(), 1);
    EXPECT_NE(lull->printed().find(database_), std::string::npos) << lull->printed();
    std::string kept;
    std::getline(std::ifstream(database_), kept);
    EXPECT_EQ(kept, "my letters");
}

TEST_F(Collect, LosesNothingWhenSeveralEndAtOnce) {
    constexpr int kRecorders = 4;
    Meeting here = meeting("here");
    Meeting go_on = meeting("go-on");
    std::vector<std::unique_ptr<LullProcess>> recorders;
    for (int i = 0; i < kRecorders; ++i) {
        recorders.push_back(start_shell(tell("here") + "; " + wait_for("go-on") + "; " +
                                        read_file() + "; exit " + std::to_string(i)));
        ASSERT_TRUE(here.await().ok()) << recorders.back()->printed();
    }
    for (int i = 0; i < kRecorders; ++i) {
        go_on.proceed();
    }
    for (int i = 0; i < kRecorders; ++i) {
        EXPECT_EQ(recorders[i]->wait(), i) << recorders[i]->printed();
    }
    std::set<std::string> commands;
    for (const db::BootSummary& each : runs()) {
        commands.insert(each.boot.command);
    }
    EXPECT_EQ(commands.size(), static_cast<std::size_t>(kRecorders));
}

TEST_F(Collect, GoesDownTheLadderWithoutBpf) {
    const auto lull = start_shell(read_file() + "; exit 4", {}, {SYS_bpf});
    EXPECT_EQ(lull->wait(), 4) << lull->printed();
    std::size_t line = 0;
    for (const char* rung : {"events", "fentry", "add"}) {
        line = lull->printed().find("lull: rung " + std::string(rung) + ": ", line);
        ASSERT_NE(line, std::string::npos) << rung << " is missing or late: " << lull->printed();
    }
    EXPECT_NE(lull->printed().find("lull: recording by rung residency\n", line), std::string::npos)
        << lull->printed();
    EXPECT_EQ(lull->printed().find("libbpf"), std::string::npos) << lull->printed();
    EXPECT_EQ(last_run().boot.rung, "residency");
    EXPECT_TRUE(was_read("/file"));
}

TEST_F(Collect, GetsByWithoutBpfAndFanotify) {
    Meeting here = meeting("here");
    Meeting go_on = meeting("go-on");
    const auto lull =
        start_shell("exec 7< " + file() + "; cat <&7; " + tell("here") + "; " + wait_for("go-on"),
                    {}, {SYS_bpf, SYS_fanotify_init});
    ASSERT_TRUE(here.await().ok()) << lull->printed();
    lull->signal(SIGINT);
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_NE(lull->printed().find("the trace is incomplete"), std::string::npos)
        << lull->printed();
    EXPECT_FALSE(last_run().boot.complete());
    EXPECT_TRUE(was_read("/file")) << "open when the recording ended";
}

TEST_F(Collect, KeepsTheStartOfAVeryLongCommand) {
    Words command{"true"};
    command.insert(command.end(), 12, std::string(100'000, 'x'));
    const auto lull = start({}, command);
    EXPECT_EQ(lull->wait(), 0) << lull->printed();
    EXPECT_EQ(last_run().boot.command, "true " + std::string(4091, 'x'));
}

}  // namespace
}  // namespace lull::test
