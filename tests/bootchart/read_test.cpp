// SPDX-License-Identifier: MIT
#include "bootchart/read.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bootchart/archive.hpp"
#include "bootchart/figures.hpp"
#include "tests/bootchart/charts.hpp"

namespace lull::bootchart {
namespace {

using namespace std::string_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

Boot read_members(const Members& members) {
    const Scratch scratch;
    write_tgz(scratch.path("chart.tgz"), members);
    auto boot = read_boot(scratch.path("chart.tgz"));
    if (!boot) {
        ADD_FAILURE() << boot.error().message();
        return {};
    }
    return *std::move(boot);
}

bool warned(const Boot& boot, const std::string& of) {
    return std::any_of(boot.warnings.begin(), boot.warnings.end(), [&of](const std::string& text) {
        return text.find(of) != std::string::npos;
    });
}

const Process* process(const Boot& boot, std::uint32_t pid) {
    for (const Process& one : boot.processes) {
        if (one.pid == pid) {
            return &one;
        }
    }
    return nullptr;
}

/// A real archive, of Ubuntu 8.10, is not part of this tree: where it is to be had, the path comes
/// from the environment or it lies beside the tree.
std::vector<std::string> real_archives() {
    const char* given = std::getenv("LULL_BOOTCHART_SAMPLE");
    const std::string path = given != nullptr ? given : LULL_BOOTCHART_SAMPLE;
    return std::filesystem::exists(path) ? std::vector{path} : std::vector<std::string>{};
}

class RealArchiveTest : public testing::TestWithParam<std::string> {};

// The figures of a count that shares nothing with this reader.
TEST_P(RealArchiveTest, IsReadWhole) {
    const auto boot = read_boot(GetParam());
    ASSERT_TRUE(boot) << boot.error().message();
    EXPECT_EQ(boot->blocks.processes, 141U);
    EXPECT_EQ(boot->blocks.cpu, 142U);
    EXPECT_EQ(boot->blocks.disks, 142U);
    EXPECT_EQ(boot->processes.size(), 861U);
    EXPECT_EQ(boot->facts.cpu, "Intel(R) Core(TM)2 CPU 6600 @ 2.40GHz");
    EXPECT_EQ(boot->facts.cpus, 2U);
    const Figures figures = figures_of(*boot);
    EXPECT_NEAR(figures.span, 28.8, 0.1);
    EXPECT_NEAR(figures.cpu.share(figures.cpu.idle), 0.515, 0.0005);
    EXPECT_NEAR(figures.cpu.share(figures.cpu.iowait), 0.277, 0.0005);
    EXPECT_NEAR(static_cast<double>(figures.disk.read_bytes) / 1e6, 110.2, 0.05);
    EXPECT_NEAR(static_cast<double>(figures.disk.written_bytes) / 1e6, 1.3, 0.05);
    EXPECT_EQ(figures.disk.reads, 3314U);
    EXPECT_NEAR(figures.disk.busy, 18.2, 0.05);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealArchiveTest);
INSTANTIATE_TEST_SUITE_P(Ubuntu810, RealArchiveTest, testing::ValuesIn(real_archives()));

TEST(ReadTest, ReadsWhatWasInvented) {
    const Boot boot = read_members(invent({}));
    EXPECT_EQ(boot.format, "bootchart");
    EXPECT_EQ(boot.blocks.cpu, 101U);
    EXPECT_EQ(boot.facts.cpu, "Example CPU 1");
    EXPECT_EQ(boot.facts.kernel_cmdline, "root=/dev/sda1 ro quiet");
    EXPECT_EQ(boot.begin_ns, 150 * kNsPerBlockTime);
    EXPECT_EQ(boot.end_ns, 2150 * kNsPerBlockTime);
    EXPECT_EQ(boot.processes.size(), 41U);
    EXPECT_EQ(boot.io_wait, IoWait::kDelays);
    EXPECT_TRUE(boot.warnings.empty());
    const Figures figures = figures_of(boot);
    EXPECT_NEAR(figures.cpu.busy(), 15.0, 0.3);
    EXPECT_NEAR(figures.disk.busy, 12.0, 0.1);
    EXPECT_EQ(time_of(boot, kQuietDisk), 1650 * kNsPerBlockTime);
    EXPECT_EQ(time_of(boot, kIdle), 1650 * kNsPerBlockTime);
    EXPECT_EQ(time_of(boot, "worker-4"), (150 + 4 * 1500 / 40) * kNsPerBlockTime);
    EXPECT_EQ(time_of(boot, "nobody"), std::nullopt);
}

TEST(ReadTest, ADirectoryGivesTheSameAsTheArchive) {
    const Scratch scratch;
    const Members members = invent({});
    write_directory(scratch.path("chart"), members);
    write_tgz(scratch.path("chart.tgz"), members);
    const auto a = read_boot(scratch.path("chart"));
    const auto b = read_boot(scratch.path("chart.tgz"));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->processes.size(), b->processes.size());
    EXPECT_EQ(figures_of(*a).disk.read_bytes, figures_of(*b).disk.read_bytes);
    EXPECT_EQ(a->cpu.size(), b->cpu.size());
    // Android's script leaves the archive in a directory of its own.
    std::filesystem::create_directory(scratch.path("pulled"));
    std::filesystem::copy(scratch.path("chart.tgz"), scratch.path("pulled/bootchart.tgz"));
    const auto c = read_boot(scratch.path("pulled"));
    ASSERT_TRUE(c) << c.error().message();
    EXPECT_EQ(c->processes.size(), a->processes.size());
}

TEST(ReadTest, HeaderLinesGoOn) {
    Members members = invent({});
    members["header"] =
        "version = Android init 0.8\ntitle = Boot chart for x = y\n"
        "system.cpu = model name\t: A(R) CPU  @ 2GHz\nmodel name = A(R) CPU  @ 2GHz (4)\n"
        "system.kernel.options = root=UUID=1 ro\n";
    members["proc_stat.log"] = "1\ncpu 1 1 1 1\n\n";
    const Boot boot = read_members(members);
    EXPECT_EQ(boot.format, "android");
    EXPECT_EQ(boot.facts.title, "Boot chart for x = y");
    EXPECT_EQ(boot.facts.cpu, "A(R) CPU @ 2GHz");
    EXPECT_EQ(boot.facts.cpus, 4U);
    EXPECT_EQ(boot.facts.kernel_cmdline, "root=UUID=1 ro");
}

TEST(ReadTest, NamesMayHoldBlanksAndParentheses) {
    Members members;
    members["proc_ps.log"] =
        block(100, {ps_line({}), ps_line({.pid = 7, .comm = "a) S 1 (b) c", .parent = 1})}) +
        block(120, {ps_line({}), ps_line({.pid = 7, .comm = "((sd-pam))", .parent = 1}),
                    "12 not running", "a line of nonsense"});
    const Boot boot = read_members(members);
    ASSERT_EQ(boot.processes.size(), 2U);
    EXPECT_EQ(process(boot, 7)->name, "((sd-pam))");
    EXPECT_EQ(boot.processes[*process(boot, 7)->parent].name, "init");
    EXPECT_TRUE(warned(boot, "1 lines about processes"));
}

TEST(ReadTest, APidThatIsUsedAgainIsAnotherProcess) {
    Members members;
    members["proc_ps.log"] =
        block(100, {ps_line({.pid = 7, .comm = "old", .user = 50, .start = 90})}) +
        block(120, {ps_line({.pid = 7, .comm = "old", .user = 60, .start = 90})}) +
        block(140, {ps_line({.pid = 7, .comm = "new", .user = 5, .start = 135})}) + block(160, {});
    const Boot boot = read_members(members);
    ASSERT_EQ(boot.processes.size(), 2U);
    EXPECT_EQ(boot.processes[0].name, "old");
    EXPECT_EQ(boot.processes[0].cpu_ns, 600'000'000);
    EXPECT_EQ(boot.processes[0].start_ns, 900'000'000);
    EXPECT_TRUE(boot.processes[0].ended);
    EXPECT_EQ(boot.processes[1].start_ns, 1'350'000'000);
    EXPECT_EQ(boot.processes[1].cpu_ns, 50'000'000);
    ASSERT_EQ(boot.processes[1].samples.size(), 1U);
    EXPECT_EQ(boot.processes[1].samples[0].from_ns, 1'350'000'000);
}

TEST(ReadTest, StatesStandInForDelaysThatWereNotAccounted) {
    Members members;
    members["proc_ps.log"] = block(100, {ps_line({.state = 'D'})}) +
                             block(120, {ps_line({.state = 'D'})}) +
                             block(150, {ps_line({.state = 'D'})}) + block(160, {ps_line({})});
    const Boot boot = read_members(members);
    EXPECT_EQ(boot.io_wait, IoWait::kStates);
    EXPECT_EQ(process(boot, 1)->io_wait_ns, 500'000'000);
    EXPECT_TRUE(warned(boot, "estimated from their states"));
}

TEST(ReadTest, MembersAreJoinedByTimeNotByIndex) {
    Members members = invent({});
    // A log that misses its first blocks, as when the logger starts late.
    std::string& disks = members["proc_diskstats.log"];
    for (int i = 0; i < 10; ++i) {
        disks.erase(0, disks.find("\n\n") + 2);
    }
    const Boot boot = read_members(members);
    ASSERT_FALSE(boot.disks.empty());
    EXPECT_EQ(boot.disks[0].samples[0].from_ns, 350 * kNsPerBlockTime);
    EXPECT_EQ(boot.cpu[0].from_ns, 150 * kNsPerBlockTime);
}

TEST(ReadTest, CountsEveryDiskOnce) {
    const std::vector<std::string> physical{"sda",     "hdb",       "vda", "nvme0n1",
                                            "mmcblk0", "xvdb1",     "sr0", "mmcblk0boot0",
                                            "nbd0",    "cciss!c0d0"};
    const std::vector<std::string> inner{"sda1",      "sda12", "hdb2",    "vda1",  "nvme0n1p3",
                                         "mmcblk0p1", "dm-0",  "md127",   "loop0", "cciss!c0d0p1",
                                         "zram0",     "ram3",  "bcache0", "md_d1"};
    std::vector<std::string> before;
    std::vector<std::string> after;
    for (const auto* names : {&inner, &physical}) {
        for (const std::string& name : *names) {
            before.push_back(disk_line({.name = name}));
            after.push_back(disk_line({.name = name,
                                       .reads = 10,
                                       .sectors_read = 80,
                                       .writes = 1,
                                       .sectors_written = 8}));
        }
    }
    const Boot boot = read_members({{"proc_diskstats.log", block(10, before) + block(30, after)}});
    ASSERT_EQ(boot.disks.size(), physical.size() + inner.size());
    for (const Disk& disk : boot.disks) {
        const bool whole = std::find(physical.begin(), physical.end(), disk.name) != physical.end();
        EXPECT_EQ(disk.counted, whole) << disk.name;
    }
    EXPECT_EQ(figures_of(boot).disk.reads, 10 * physical.size());
}

TEST(ReadTest, ADeviceMadeOfHiddenDisksCounts) {
    const Boot boot = read_members(
        {{"proc_diskstats.log",
          block(10, {disk_line({.name = "dm-0"}), disk_line({.name = "loop0"})}) +
              block(30, {disk_line({.name = "dm-0", .reads = 5, .sectors_read = 40}),
                         disk_line({.name = "loop0", .reads = 5, .sectors_read = 40})})}});
    EXPECT_EQ(figures_of(boot).disk.reads, 5U);
}

TEST(ReadTest, ADiskThatAppearsLaterCountsFromZero) {
    const Boot boot = read_members(
        {{"proc_diskstats.log",
          block(10, {disk_line({.name = "sda", .reads = 100, .sectors_read = 1000})}) +
              block(30, {disk_line({.name = "sda", .reads = 101, .sectors_read = 1008}),
                         disk_line({.name = "sdb", .reads = 3, .sectors_read = 24}),
                         "   8       1 sda1 7 56 0 0"}) +
              block(50, {disk_line({.name = "sdb", .reads = 1, .sectors_read = 8})})}});
    const Figures figures = figures_of(boot);
    EXPECT_EQ(figures.disk.reads, 1U + 3U + 1U);  // sdb was unplugged and came again
    ASSERT_EQ(figures.disks.size(), 3U);
    EXPECT_EQ(figures.disks[2].name, "sda1");  // a line of seven fields, from before 2.6.25
    EXPECT_EQ(figures.disks[2].read_bytes, 56U * 512U);
    EXPECT_FALSE(figures.disks[2].counted);
}

TEST(ReadTest, TickLengthComesFromTheData) {
    const auto with_rate = [](int rate) {
        std::string stat;
        for (std::int64_t second = 1; second < 5; ++second) {
            const std::int64_t ticks = second * rate;
            stat += block(second * 100, {"cpu " + std::to_string(ticks) + " 0 0 " +
                                             std::to_string(ticks) + " 0 0 0",
                                         "cpu0 1", "cpu1 1"});
        }
        return read_members({{"proc_stat.log", stat}});
    };
    for (const int rate : {85, 100, 1000, 1024}) {
        const Boot boot = with_rate(rate);
        EXPECT_NEAR(figures_of(boot).cpu.user, 3.0, 0.5) << rate;
        EXPECT_EQ(boot.facts.cpus, 2U);
    }
}

TEST(ReadTest, CountersThatStepBackAreNotCountedTwice) {
    const Boot boot = read_members(
        {{"proc_stat.log",
          block(100, {"cpu 0 0 0 0 100 0 0"}) + block(110, {"cpu 0 0 0 10 105 0 0"}) +
              block(120, {"cpu 0 0 0 20 95 0 0"}) + block(130, {"cpu 0 0 0 30 107 0 0"})}});
    EXPECT_NEAR(figures_of(boot).cpu.iowait, 0.07, 1e-9);
}

TEST(ReadTest, ReadsWhatBootchart2Writes) {
    Members members = invent({});
    members.erase("proc_ps.log");
    members["taskstats.log"] = block(150, {"1 0 (init) 5000000 2000000 0", "2 0 kthreadd 0 0 0"}) +
                               block(170, {"40 39 (Web Content) 10000000 30000000 1000000"}) +
                               block(190, {"40 39 (Web Content) 12000000 30000000 1000000",
                                           "1 0 (init) 6000000 2000000 0"});
    members["paternity.log"] = "39 1\n40 39\n";
    members["cmdline2.log"] = "40\n:/usr/bin/web\n:web\0--content\0\n\n1\n:/sbin/init\n:\n\n"s;
    members["proc_meminfo.log"] =
        block(150, {"MemTotal: 1000 kB", "MemFree:  400 kB", "SwapTotal: 10 kB", "SwapFree: 4 kB"});
    members["dmesg"] =
        "<6>[    1.250000] Freeing unused kernel memory: 396k freed\n"
        "[    1.300000] Run /sbin/init as init process\n[   nan] Run /x as init process\n";
    const Boot boot = read_members(members);
    EXPECT_EQ(boot.format, "bootchart2");
    EXPECT_EQ(boot.io_wait, IoWait::kDelays);
    ASSERT_EQ(boot.processes.size(), 3U);
    const Process* web = process(boot, 40);
    EXPECT_EQ(web->name, "Web Content");
    EXPECT_EQ(web->command, "web --content");
    EXPECT_EQ(web->cpu_ns, 12'000'000);
    EXPECT_EQ(web->io_wait_ns, 31'000'000);
    EXPECT_FALSE(web->ended);
    // 39, which no block shows, was started by init.
    EXPECT_EQ(boot.processes[*web->parent].name, "init");
    EXPECT_EQ(process(boot, 1)->command, "/sbin/init");
    EXPECT_EQ(process(boot, 2)->name, "kthreadd");
    ASSERT_EQ(boot.memory.size(), 1U);
    EXPECT_EQ(boot.memory[0].swap_used_bytes, 6U * 1024U);
    EXPECT_EQ(time_of(boot, "kernel: init"), kSecond * 13 / 10);
}

TEST(ReadTest, ParentsComeFromProcessAccountingToo) {
    std::string record(64, '\0');
    record[1] = 3;
    record[16] = 50;
    record[20] = 1;
    std::string other = record;
    other[1] = 2;  // an older layout
    other[16] = 51;
    Members members;
    members["kernel_pacct"] = other + record + record.substr(0, 30);
    members["proc_ps.log"] =
        block(100, {ps_line({}), ps_line({.pid = 60, .comm = "child", .parent = 50, .start = 90})});
    const Boot boot = read_members(members);
    ASSERT_TRUE(process(boot, 60)->parent);
    EXPECT_EQ(boot.processes[*process(boot, 60)->parent].pid, 1U);
}

TEST(ReadTest, KnowsAClockThatBeganWithTheChart) {
    Members members;
    std::string ps;
    for (int i = 1; i < 20; ++i) {
        std::vector<std::string> lines{ps_line({.start = 2})};
        for (int j = 1; j <= i; ++j) {
            lines.push_back(
                ps_line({.pid = 100 + j, .comm = "x", .parent = 1, .start = 5000 + j * 20 - 7}));
        }
        ps += block(i * 20, lines);
    }
    members["proc_ps.log"] = ps;
    const Boot boot = read_members(members);
    EXPECT_EQ(boot.clock, Clock::kChart);
    EXPECT_TRUE(warned(boot, "begin of the chart"));
    const Process* fifth = process(boot, 105);
    EXPECT_GT(fifth->start_ns, 80 * kNsPerBlockTime);
    EXPECT_LE(fifth->start_ns, 100 * kNsPerBlockTime);
}

TEST(ReadTest, PartialArchivesGiveWhatTheyHave) {
    const Members whole = invent({});
    for (const auto& [name, content] : whole) {
        Members members = whole;
        members.erase(name);
        const Boot boot = read_members(members);
        EXPECT_TRUE(warned(boot, name == "header" ? "no header" : "no " + name)) << name;
        EXPECT_EQ(boot.cpu.empty(), name == "proc_stat.log");
        EXPECT_EQ(boot.disks.empty(), name == "proc_diskstats.log");
        EXPECT_EQ(boot.processes.empty(), name == "proc_ps.log");
    }
}

TEST(ReadTest, ACopyThatBrokeOffIsWorthWhatItHolds) {
    const Scratch scratch;
    // Large enough that the archive is unpacked in several steps.
    write_tgz(scratch.path("chart.tgz"), invent({.seconds = 60, .busy_seconds = 50, .hz = 25}));
    const auto size = std::filesystem::file_size(scratch.path("chart.tgz"));
    std::filesystem::resize_file(scratch.path("chart.tgz"), size / 2);
    const auto boot = read_boot(scratch.path("chart.tgz"));
    ASSERT_TRUE(boot) << boot.error().message();
    EXPECT_TRUE(warned(*boot, "cut short"));
    EXPECT_FALSE(boot->disks.empty());
}

TEST(ReadTest, BlocksOutOfOrderAreLeftOut) {
    const Boot boot =
        read_members({{"proc_stat.log",
                       block(100, {"cpu 0 0 0 0 0 0 0"}) + block(120, {"cpu 0 0 0 20 0 0 0"}) +
                           block(110, {"cpu 0 0 0 10 0 0 0"}) + block(120, {"cpu 0 0 0 20 0 0 0"}) +
                           block(140, {"cpu 0 0 0 40 0 0 0"})}});
    EXPECT_EQ(boot.cpu.size(), 2U);
    EXPECT_TRUE(warned(boot, "2 blocks"));
}

TEST(ReadTest, NamesInAnArchiveOnlyTellWhichMemberItIs) {
    Members members;
    for (const auto& [name, content] : invent({})) {
        members["../../etc/" + name] = content;
    }
    members["zz/header"] = "version = other\n";
    const Boot boot = read_members(members);
    EXPECT_EQ(boot.processes.size(), 41U);
    EXPECT_EQ(boot.facts.version, "0.9");
    EXPECT_TRUE(warned(boot, "header is there more than once"));
}

TEST(ReadTest, StopsAtItsLimits) {
    const Scratch scratch;
    const Members members = invent({});
    write_tgz(scratch.path("chart.tgz"), members);
    write_directory(scratch.path("chart"), members);
    for (const char* name : {"chart.tgz", "chart"}) {
        Limits limits;
        limits.bytes = 10'000;
        const auto boot = read_boot(scratch.path(name), limits);
        ASSERT_FALSE(boot);
        EXPECT_EQ(boot.error().code, EFBIG);
    }
    Limits few;
    few.processes = 10;
    few.blocks = 50;
    few.devices = 1;
    const auto boot = read_boot(scratch.path("chart.tgz"), few);
    ASSERT_TRUE(boot);
    EXPECT_EQ(boot->processes.size(), 10U);
    EXPECT_EQ(boot->blocks.cpu, 50U);
    EXPECT_EQ(boot->disks.size(), 1U);
    EXPECT_TRUE(warned(*boot, "more than can be kept"));
    few.members = 2;
    EXPECT_EQ(read_boot(scratch.path("chart.tgz"), few).error().code, EFBIG);
}

TEST(ReadTest, ABombIsDefused) {
    const Scratch scratch;
    // 64 MiB of zeros in another member are skipped, but counted.
    write_tgz(scratch.path("bomb.tgz"), {{"filler", std::string(64 << 20, '\0')}});
    Limits limits;
    limits.bytes = 1 << 20;
    const auto boot = read_boot(scratch.path("bomb.tgz"), limits);
    ASSERT_FALSE(boot);
    EXPECT_EQ(boot.error().code, EFBIG);
}

TEST(ReadTest, TellsWhatIsNoChart) {
    const Scratch scratch;
    EXPECT_EQ(read_boot(scratch.path("nothing")).error().code, ENOENT);
    std::filesystem::create_directory(scratch.path("empty"));
    EXPECT_EQ(read_boot(scratch.path("empty")).error().code, ENODATA);
    write_tgz(scratch.path("other.tgz"), {{"readme", "hello"}});
    EXPECT_EQ(read_boot(scratch.path("other.tgz")).error().code, ENODATA);
    std::ofstream(scratch.path("noise")) << "no archive, and no chart of any kind\n";
    EXPECT_EQ(read_boot(scratch.path("noise")).error().code, EMEDIUMTYPE);
    ASSERT_EQ(::mkfifo(scratch.path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(read_boot(scratch.path("pipe")).error().code, EINVAL);
    // Nor does a link or a pipe inside a directory lead anywhere.
    std::filesystem::create_symlink("/proc/stat", scratch.path("empty/proc_stat.log"));
    ASSERT_EQ(::mkfifo(scratch.path("empty/proc_ps.log").c_str(), 0600), 0);
    EXPECT_EQ(read_boot(scratch.path("empty")).error().code, ENODATA);
}

TEST(ReadTest, ReadsManyAtOnceInOrder) {
    const Scratch scratch;
    std::vector<std::string> paths;
    for (int i = 0; i < 5; ++i) {
        paths.push_back(scratch.path("chart-" + std::to_string(i) + ".tgz"));
        write_tgz(paths.back(), invent({.processes = 3 + i}));
    }
    const auto boots = read_boots(paths);
    ASSERT_TRUE(boots);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        EXPECT_EQ((*boots)[i].processes.size(), 4 + i);
        EXPECT_EQ((*boots)[i].source, paths[i]);
    }
    paths.push_back(scratch.path("absent"));
    EXPECT_EQ(read_boots(paths).error().code, ENOENT);
}

}  // namespace
}  // namespace lull::bootchart
