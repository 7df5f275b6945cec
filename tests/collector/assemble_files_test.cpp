// SPDX-License-Identifier: MIT
// Numbers become files, devices and processes.
#include <fcntl.h>

#include "tests/collector/assemble_fixture.hpp"

namespace lull::collector {
namespace {

constexpr std::uint64_t kNoSuchInode = 999'999'999;

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
