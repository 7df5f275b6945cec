// SPDX-License-Identifier: MIT
// What assemble() makes of masks and numbers, on a directory that made-up mounts point to.
#include "collector/assemble.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "db/validate.hpp"

namespace lull::db {

bool operator==(const Read& a, const Read& b) {
    return a.file == b.file && a.first_page == b.first_page && a.pages == b.pages &&
           a.use == b.use && a.source == b.source && a.first_use_ns == b.first_use_ns &&
           a.process == b.process;
}

void PrintTo(const Read& read, std::ostream* out) {
    *out << "file " << read.file << " pages " << read.first_page << '+' << read.pages << " use "
         << static_cast<int>(read.use) << " source " << static_cast<int>(read.source) << " at "
         << read.first_use_ns << " by "
         << (read.process ? std::to_string(*read.process) : std::string("nobody"));
}

}  // namespace lull::db

namespace lull::collector {
namespace {

constexpr std::uint64_t kStart = 1000;
constexpr std::uint64_t kFileBytes = std::uint64_t{4} * kPagesPerBlock * db::kPageSize;
constexpr std::uint32_t kUser = user_of(7, 1);
constexpr std::uint32_t kOtherUser = user_of(8, 1);
constexpr std::uint64_t kNoSuchInode = 999'999'999;

class Assemble : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lull-assemble-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        struct stat facts {};
        ASSERT_EQ(::stat(root_.c_str(), &facts), 0);
        fs::Mount mount;
        mount.major = major(facts.st_dev);
        mount.minor = minor(facts.st_dev);
        mount.root = "/";
        mount.mount_point = root_;
        mount.fs_type = "made-up";
        mount.source = "made-up";
        mount.id = 1;
        mounts_ = {mount};
        device_ = kernel_device(mount.major, mount.minor);
        inode_ = add_file("/file", kFileBytes);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    /// A file of zeros that nobody has read: none of it is in memory.
    std::uint64_t add_file(const std::string& path, std::uint64_t bytes) {
        const std::string place = root_ + path;
        std::ofstream(place).close();
        std::filesystem::resize_file(place, bytes);
        struct stat facts {};
        EXPECT_EQ(::stat(place.c_str(), &facts), 0);
        raw_.files.push_back({device_, facts.st_ino, 0, db::FileKind::kRegular, path});
        return facts.st_ino;
    }

    [[nodiscard]] RawBlock block(std::uint32_t number, std::uint64_t first_use_ns = kStart) const {
        RawBlock made;
        made.device = device_;
        made.inode = inode_;
        made.block = number;
        made.first_use_ns = first_use_ns;
        return made;
    }
    RawBlock& add_block(std::uint32_t number, std::uint64_t first_use_ns = kStart) {
        return raw_.blocks.emplace_back(block(number, first_use_ns));
    }
    void add_user(std::uint32_t pid) {
        RawProcess process;
        process.pid = pid;
        process.exec_id = 1;
        raw_.processes.push_back(process);
    }

    db::Trace assembled() {
        db::Trace trace = assemble(raw_, mounts_, {}, kStart);
        const auto valid = db::validate(trace);
        EXPECT_TRUE(valid.ok()) << valid.error().message();
        return trace;
    }
    std::vector<db::Read> reads() { return assembled().reads; }

    static db::Read read(std::uint64_t first_page, std::uint32_t pages,
                         db::Source source = db::Source::kMemory) {
        db::Read made;
        made.first_page = first_page;
        made.pages = pages;
        made.source = source;
        return made;
    }
    static db::Read read(std::uint64_t first_page, std::uint32_t pages, db::Use use,
                         db::Source source) {
        db::Read made = read(first_page, pages, source);
        made.use = use;
        return made;
    }

    std::string root_;
    std::vector<fs::Mount> mounts_;
    KernelDevice device_ = 0;
    std::uint64_t inode_ = 0;
    RawTrace raw_;
};

using Reads = std::vector<db::Read>;

bool has_limit(const db::Trace& trace, const std::string& start) {
    const auto& limits = trace.boot.limits;
    return std::any_of(limits.begin(), limits.end(),
                       [&](const std::string& limit) { return limit.starts_with(start); });
}

TEST_F(Assemble, NothingIsAnEmptyTrace) {
    raw_.rung = "events";
    const db::Trace trace = assembled();
    EXPECT_TRUE(trace.files.empty() && trace.reads.empty() && trace.devices.empty());
    EXPECT_TRUE(trace.boot.limits.empty());
    EXPECT_EQ(trace.boot.rung, "events");
    EXPECT_TRUE(trace.boot.complete());
}

TEST_F(Assemble, PassesOnWhatIsKnownOfTheRun) {
    raw_.rung = "add";
    raw_.limits = {"It was dark."};
    raw_.losses.opens = 5;
    db::Boot boot;
    boot.command = "cat";
    const db::Trace trace = assemble(raw_, mounts_, boot, kStart);
    EXPECT_EQ(trace.boot.command, "cat");
    EXPECT_EQ(trace.boot.rung, "add");
    EXPECT_EQ(trace.boot.limits, (std::vector<std::string>{"It was dark."}));
    EXPECT_EQ(trace.boot.losses.opens, 5U);
}

TEST_F(Assemble, MakesARangeOfEachRunOfPages) {
    add_block(0).demand = 0b1101'0111;
    EXPECT_EQ(reads(), (Reads{read(0, 3), read(4, 1), read(6, 2)}));
}

TEST_F(Assemble, MergesOverTheEndOfABlock) {
    add_block(2).demand = 1;
    add_block(1).demand = 0xffffffff;
    add_block(0).demand = 0x80000000;
    EXPECT_EQ(reads(), (Reads{read(31, 34)}));
}

TEST_F(Assemble, DoesNotMergeOverAGap) {
    add_block(0).demand = 0x80000000;
    add_block(1).demand = 0xfffffffe;
    add_block(3).demand = 1;
    EXPECT_EQ(reads(), (Reads{read(31, 1), read(33, 31), read(96, 1)}));
}

TEST_F(Assemble, DoesNotMergeOverFiles) {
    RawBlock other = block(0);
    other.inode = add_file("/other", db::kPageSize * kPagesPerBlock);
    other.demand = 0xffffffff;
    raw_.blocks.push_back(other);
    add_block(0).demand = 0xffffffff;
    add_block(1).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 2U);
    ASSERT_EQ(trace.reads.size(), 2U);
    EXPECT_EQ(trace.reads[0].pages + trace.reads[1].pages, 65U);
}

TEST_F(Assemble, SplitsByWhereThePageWas) {
    RawBlock& all = add_block(0);
    all.demand = 0b11'1111;
    all.added = 0b01'1111;
    all.own = 0b01'1000;
    all.miss = 0b00'0001;
    EXPECT_EQ(reads(), (Reads{read(0, 1, db::Source::kMiss), read(1, 2, db::Source::kReadahead),
                              read(3, 2, db::Source::kReplay), read(5, 1, db::Source::kMemory)}));
}

TEST_F(Assemble, SplitsByUseAndTakesTheSurest) {
    RawBlock& all = add_block(0);
    all.demand = 0b000'0011;
    all.mapped = 0b000'1110;
    all.cached = 0b111'1001;
    all.added = 0b111'1111;
    using db::Source;
    using db::Use;
    EXPECT_EQ(reads(), (Reads{read(0, 2, Use::kDemand, Source::kReadahead),
                              read(2, 2, Use::kMapped, Source::kReadahead),
                              read(4, 3, Use::kCached, Source::kUnknown)}));
}

TEST_F(Assemble, SplitsByUser) {
    add_user(7);
    add_user(8);
    for (const std::uint32_t number : {0U, 1U, 2U, 3U}) {
        add_block(number).demand = 0xffffffff;
    }
    raw_.blocks[0].user = kUser;
    raw_.blocks[1].user = kUser;
    raw_.blocks[2].user = kOtherUser;
    raw_.blocks[3].user = user_of(9, 1);  // its record was lost
    Reads wanted{read(0, 64), read(64, 32), read(96, 32)};
    wanted[0].process = 0;
    wanted[1].process = 1;
    EXPECT_EQ(reads(), wanted);
}

TEST_F(Assemble, TakesTheFirstUseOfARange) {
    add_block(0, kStart + 500).demand = 0xffffffff;
    add_block(1, kStart + 20).demand = 1;
    Reads wanted{read(0, 33)};
    wanted[0].first_use_ns = 20;
    EXPECT_EQ(reads(), wanted);
}

TEST_F(Assemble, CountsTimesFromTheStart) {
    add_user(7);
    raw_.processes[0].first_use_ns = kStart + 3;
    add_block(0, kStart + 4711).demand = 1;
    add_block(2, kStart - 1).demand = 1;  // while the rung was starting
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.reads.size(), 2U);
    EXPECT_EQ(trace.reads[0].first_use_ns, 4711U);
    EXPECT_EQ(trace.reads[1].first_use_ns, 0U);
    EXPECT_EQ(trace.processes[0].first_use_ns, 3U);
}

TEST_F(Assemble, LeavesOutFilesThatNobodyUsed) {
    RawBlock& looked_at = add_block(0);
    looked_at.window = 0xff;  // of a file none of which is in memory
    RawBlock read_ahead = block(1);
    read_ahead.added = 0xff;
    raw_.blocks.push_back(read_ahead);
    const db::Trace trace = assembled();
    EXPECT_TRUE(trace.files.empty());
    EXPECT_TRUE(trace.reads.empty());
}

TEST_F(Assemble, CountsAWindowAsMappedWhereItWasInMemoryBefore) {
    const Fd file(::open((root_ + "/file").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string four_pages(4 * db::kPageSize, 'x');
    ASSERT_EQ(::pwrite(file.get(), four_pages.data(), four_pages.size(), 0),
              static_cast<ssize_t>(four_pages.size()));
    RawBlock& only = add_block(0);
    only.window = 0xff;
    only.added = 0b10;  // came into memory during the trace, so not by this fault
    add_block(3).window = 0xff;
    const db::Trace trace = assembled();
    EXPECT_EQ(trace.reads, (Reads{read(0, 1, db::Use::kMapped, db::Source::kMemory),
                                  read(2, 2, db::Use::kMapped, db::Source::kMemory)}));
    EXPECT_TRUE(has_limit(trace, "3 pages were in memory and mapped"));
}

TEST_F(Assemble, SaysNothingOfMappedPagesWhereThereAreNone) {
    add_block(0).demand = 1;
    for (const std::string& limit : assembled().boot.limits) {
        EXPECT_EQ(limit.find("mapped"), std::string::npos) << limit;
    }
}

TEST_F(Assemble, LooksAtTheFile) {
    add_block(0).demand = 1;
    const timespec times[2] = {{1, 0}, {1234, 567}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/file").c_str(), times, 0), 0);
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    const db::File& file = trace.files[0];
    EXPECT_EQ(file.path, "/file");
    EXPECT_EQ(file.inode, inode_);
    EXPECT_EQ(file.size, kFileBytes);
    EXPECT_EQ(file.mtime_ns, 1234'000'000'567);
    EXPECT_FALSE(file.deleted);
    ASSERT_EQ(trace.devices.size(), 1U);
    EXPECT_EQ(trace.devices[0].mount_point, root_);
    EXPECT_EQ(trace.devices[0].fs_type, "made-up");
    EXPECT_EQ(trace.devices[0].major, mounts_[0].major);
    EXPECT_EQ(trace.devices[0].minor, mounts_[0].minor);
}

TEST_F(Assemble, FindsAFileThroughAMountOfAPart) {
    mounts_[0].root = "/part";
    raw_.files[0].path = "/part/file";
    RawBlock elsewhere = block(0);
    elsewhere.inode = add_file("/unseen", db::kPageSize);
    elsewhere.demand = 1;
    raw_.blocks.push_back(elsewhere);
    add_block(0).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 2U);
    for (const db::File& file : trace.files) {
        EXPECT_EQ(file.deleted, file.path == "/unseen") << file.path;
    }
}

TEST_F(Assemble, TakesWhatCannotBeFoundForDeleted) {
    add_block(0).demand = 1;
    ASSERT_TRUE(std::filesystem::remove(root_ + "/file"));
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_TRUE(trace.files[0].deleted);
    EXPECT_EQ(trace.files[0].path, "/file");
    EXPECT_EQ(trace.reads, (Reads{read(0, 1)})) << "it was read all the same";
}

TEST_F(Assemble, DoesNotTakeAnotherFileForTheOneThatWasRead) {
    add_block(0).demand = 1;
    const std::string name = root_ + "/file";
    std::filesystem::rename(name, root_ + "/old");  // keeps its inode from being given out again
    std::ofstream(name) << "new";
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_TRUE(trace.files[0].deleted);
    EXPECT_EQ(trace.files[0].inode, inode_);
    EXPECT_EQ(trace.files[0].size, 0U) << "not that of the other one";
}

TEST_F(Assemble, KeepsAFileWhoseNameWasLost) {
    raw_.files.clear();
    raw_.losses.names = 1;
    add_block(0).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_EQ(trace.files[0].path, "");
    EXPECT_EQ(trace.files[0].inode, inode_);
    EXPECT_EQ(trace.files[0].kind, db::FileKind::kRegular);
    EXPECT_EQ(trace.boot.losses.names, 1U);
}

TEST_F(Assemble, MakesMetadataADevice) {
    RawBlock metadata = block(5);
    metadata.inode = 0;
    metadata.demand = 0b110;
    metadata.added = 0b110;
    metadata.miss = 0b010;
    raw_.blocks.push_back(metadata);
    add_block(0).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 2U);
    EXPECT_EQ(trace.files[0].kind, db::FileKind::kDevice);
    EXPECT_EQ(trace.files[0].path, "");
    EXPECT_FALSE(trace.files[0].deleted);
    ASSERT_EQ(trace.reads.size(), 3U);
    EXPECT_EQ(trace.reads[0], read(161, 1, db::Source::kMiss));
    EXPECT_EQ(trace.reads[0].disk_position, 161 * db::kPageSize);
    EXPECT_EQ(trace.reads[1], read(162, 1, db::Source::kReadahead));
    EXPECT_EQ(trace.reads[1].disk_position, 162 * db::kPageSize);
}

TEST_F(Assemble, TellsOnlyTheRestOfUnmountedFileSystems) {
    RawBlock gone = block(0);
    gone.device = kernel_device(4095, 7);
    gone.demand = 1;
    raw_.blocks.push_back(gone);
    gone.inode = kNoSuchInode;
    raw_.blocks.push_back(gone);
    add_block(0).demand = 1;
    const db::Trace trace = assembled();
    EXPECT_EQ(trace.devices.size(), 1U);
    EXPECT_EQ(trace.reads.size(), 1U);
    EXPECT_TRUE(has_limit(trace, "2 blocks on file systems that were gone"));
}

TEST_F(Assemble, KeepsDirectoriesWhoseMetadataIsNotOnTheDevice) {
    ASSERT_TRUE(std::filesystem::create_directory(root_ + "/dir"));
    struct stat facts {};
    ASSERT_EQ(::stat((root_ + "/dir").c_str(), &facts), 0);
    const auto add = [this](std::uint64_t inode, const std::string& path) {
        raw_.files.push_back({device_, inode, 0, db::FileKind::kDirectory, path});
    };
    add(facts.st_ino, "/dir");
    add(kNoSuchInode, "/gone");
    add(kNoSuchInode + 1, "");  // its way to the top was lost
    add_block(0).demand = 1;
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.files.size(), 2U);
    EXPECT_EQ(trace.files[0].path, "/file");
    EXPECT_EQ(trace.files[1].path, "/dir");
    EXPECT_EQ(trace.files[1].kind, db::FileKind::kDirectory);
    EXPECT_EQ(trace.files[1].inode, facts.st_ino);
    EXPECT_TRUE(has_limit(trace, "on file systems other than ext2, ext3 and ext4"));
    mounts_[0].fs_type = "ext4";
    const db::Trace on_device = assembled();
    EXPECT_EQ(on_device.files.size(), 1U);
    EXPECT_TRUE(on_device.boot.limits.empty());
}

TEST_F(Assemble, SaysWhoAProcessWas) {
    raw_.processes.resize(3);
    raw_.processes[0].pid = 7;
    raw_.processes[0].parent_pid = 1;
    raw_.processes[0].comm = "sshd";
    raw_.processes[0].exe_device = device_;
    raw_.processes[0].exe_inode = inode_;
    raw_.processes[0].cgroup = "/system.slice/ssh.service";
    raw_.processes[1].pid = 8;
    raw_.processes[1].exe_device = device_;
    raw_.processes[1].exe_inode = inode_;
    raw_.processes[1].executable = "/as/the/rung/knew";
    raw_.processes[2].pid = 9;  // a kernel thread
    raw_.processes[2].cgroup = "/";
    const db::Trace trace = assembled();
    ASSERT_EQ(trace.processes.size(), 3U);
    EXPECT_EQ(trace.processes[0].pid, 7U);
    EXPECT_EQ(trace.processes[0].parent_pid, 1U);
    EXPECT_EQ(trace.processes[0].comm, "sshd");
    EXPECT_EQ(trace.processes[0].executable, "/file");
    EXPECT_EQ(trace.processes[0].cgroup, "/system.slice/ssh.service");
    EXPECT_EQ(trace.processes[0].unit, "ssh.service");
    EXPECT_EQ(trace.processes[1].executable, "/as/the/rung/knew");
    EXPECT_EQ(trace.processes[2].executable, "");
    EXPECT_EQ(trace.processes[2].unit, "");
}

TEST_F(Assemble, KeepsALimitOnOneLine) {
    raw_.limits = {"Opens on /new\nline could not be watched."};
    const db::Trace trace = assembled();
    EXPECT_EQ(trace.boot.limits,
              (std::vector<std::string>{"Opens on /new\\x0aline could not be watched."}));
}

}  // namespace
}  // namespace lull::collector
