// SPDX-License-Identifier: MIT
// What the residency rung sees.
#include "tests/collector/residency_fixture.hpp"

namespace lull::collector {
namespace {

TEST_F(Residency, TellsThePagesThatAreInMemoryAfterAnOpen) {
    const std::string part = make_file("part", 4000);
    const std::string all = make_file("all", 67);
    const std::string never = make_file("never", 10);
    start();
    ASSERT_TRUE(test::run({"dd", "status=none", "if=" + part, "of=/dev/null", "bs=4096",
                           "skip=1000", "count=3"})
                    .ok());
    ASSERT_TRUE(test::run({"cp", all, "/dev/null"}).ok());
    finish();

    const auto cached = pages_of(inode(part), 4000, &RawBlock::cached);
    EXPECT_EQ(cached, in_memory(part, 4000));
    EXPECT_TRUE(cached[1000] && cached[1001] && cached[1002]);
    EXPECT_FALSE(cached[0] || cached[3999]);
    EXPECT_EQ(pages_of(inode(all), 67, &RawBlock::cached), std::vector<bool>(67, true));
    EXPECT_EQ(file(inode(never)), nullptr);

    ASSERT_NE(file(inode(part)), nullptr);
    EXPECT_EQ(file(inode(part))->path, "/part");
    EXPECT_EQ(file(inode(part))->device, device_);
    EXPECT_EQ(file(inode(part))->kind, db::FileKind::kRegular);
    EXPECT_FALSE(trace_.losses.any());
    EXPECT_TRUE(tells("cannot be told from use"));
    const RawBlock* first = first_block(inode(part));
    const RawBlock* second = first_block(inode(all));
    ASSERT_TRUE(first != nullptr && second != nullptr);
    EXPECT_LE(first->first_use_ns, second->first_use_ns);
    EXPECT_NE(first->user, second->user);
}

TEST_F(Residency, TellsWhichPagesCameIntoMemoryAfterTheFirstLook) {
    const std::string path = make_file("file", 40);
    Shell shell;
    shell.run("exec 3<" + path + "; dd status=none bs=4096 count=1 of=/dev/null <&3");
    const auto before = in_memory(path, 40);
    start();
    shell.run("cat <&3 >/dev/null");
    finish();
    std::vector<bool> added(40, true);
    for (std::size_t i = 0; i < before.size(); ++i) {
        added[i] = !before[i];
    }
    ASSERT_TRUE(before[0]);
    ASSERT_FALSE(before[39]);
    EXPECT_EQ(pages_of(inode(path), 40, &RawBlock::added), added);
    EXPECT_EQ(pages_of(inode(path), 40, &RawBlock::cached), added)
        << "what was in memory of a file that was open before the trace shows no use in it";
    ASSERT_NE(first_block(inode(path)), nullptr);
    EXPECT_EQ(first_block(inode(path))->user, user_of(shell.pid(), 0));
}

TEST_F(Residency, AWarmFileThatIsOpenedCountsAsRead) {
    const std::string path = make_file("warm", 9);
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    start();
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    finish();
    EXPECT_EQ(pages_of(inode(path), 9, &RawBlock::cached), std::vector<bool>(9, true));
    EXPECT_EQ(pages_of(inode(path), 9, &RawBlock::added), std::vector<bool>(9));
}

TEST_F(Residency, FollowsProgramsAndSaysWhoTheyAre) {
    const std::string program = disk_->path("reader");
    ASSERT_TRUE(std::filesystem::copy_file("/bin/cat", program));
    ASSERT_TRUE(test::evict(program).ok());
    const std::string data = make_file("data", 5);
    start();
    Shell shell;
    shell.run("mkfifo " + disk_->path("pipe"));
    shell.run(program + " " + data + " " + disk_->path("pipe") + " >/dev/null & exec 3>" +
              disk_->path("pipe"));
    // The program is in its second file now, so it has read the first and lives.
    io_.poll();
    shell.run("exec 3>&-; wait");
    finish();

    EXPECT_EQ(pages_of(inode(program), 1024, &RawBlock::cached)[0], true);
    EXPECT_EQ(pages_of(inode(data), 5, &RawBlock::cached), std::vector<bool>(5, true));
    const RawBlock* block = first_block(inode(data));
    ASSERT_NE(block, nullptr);
    const auto process =
        std::find_if(trace_.processes.begin(), trace_.processes.end(),
                     [&](const RawProcess& candidate) { return candidate.user() == block->user; });
    ASSERT_NE(process, trace_.processes.end());
    EXPECT_EQ(process->comm, "reader");
    EXPECT_EQ(process->parent_pid, shell.pid());
    EXPECT_EQ(process->exe_device, device_);
    EXPECT_EQ(process->exe_inode, inode(program));
    EXPECT_EQ(process->executable, "/reader");
    EXPECT_EQ(process->cgroup.substr(0, 1), "/");
    EXPECT_EQ(file(inode(disk_->path("pipe"))), nullptr) << "not a regular file";
}

TEST_F(Residency, KeepsNamesByteForByte) {
    const std::vector<std::string> names = {
        "new\nline",      "not\xff\xfeutf8", std::string(255, 'n'),
        "gone (deleted)", " blank ",         "back\\012slash"};
    for (const std::string& name : names) {
        make_file(name, 2);
    }
    const std::string held = make_file("held\nopen", 2);
    Shell shell;
    shell.run("exec 3<\"$(printf '" + disk_->directory() + "/held\\nopen')\"");
    start();
    for (const std::string& name : names) {
        ASSERT_TRUE(test::run({"cp", disk_->path(name), "/dev/null"}).ok());
    }
    shell.run("cat <&3 >/dev/null");
    finish();
    for (const std::string& name : names) {
        const std::uint64_t number = inode(disk_->path(name));
        ASSERT_NE(file(number), nullptr) << name;
        EXPECT_EQ(file(number)->path, "/" + name);
        EXPECT_EQ(pages_of(number, 2, &RawBlock::cached), std::vector<bool>(2, true)) << name;
    }
    ASSERT_NE(file(inode(held)), nullptr);
    EXPECT_EQ(file(inode(held))->path, "/held\nopen");
}

TEST_F(Residency, RecordsADeletedFileWithoutPagesAndFindsARenamedOne) {
    const std::string deleted = make_file("deleted", 3);
    const std::string renamed = make_file("renamed", 3);
    const std::string replaced = make_file("replaced", 3);
    const std::uint64_t deleted_inode = inode(deleted);
    const std::uint64_t replaced_inode = inode(replaced);
    start();
    for (const std::string& path : {deleted, renamed, replaced}) {
        ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    }
    ASSERT_EQ(::unlink(deleted.c_str()), 0);
    ASSERT_EQ(::rename(renamed.c_str(), disk_->path("elsewhere").c_str()), 0);
    ASSERT_EQ(::unlink(replaced.c_str()), 0);
    ASSERT_TRUE(test::write_pages(replaced, 0, 3).ok());
    finish();
    ASSERT_NE(file(deleted_inode), nullptr);
    EXPECT_EQ(file(deleted_inode)->path, "/deleted");
    EXPECT_EQ(first_block(deleted_inode), nullptr);
    EXPECT_EQ(first_block(replaced_inode), nullptr)
        << "another file has its name, maybe its number";
    EXPECT_EQ(pages_of(inode(disk_->path("elsewhere")), 3, &RawBlock::cached),
              std::vector<bool>(3, true));
}

TEST_F(Residency, LeavesOutWhatWeReadOurselves) {
    const std::string ours = make_file("ours", 3);
    const std::string childs = make_file("childs", 3);
    start();
    char byte = 0;
    {
        const Fd fd(::open(ours.c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(::read(fd.get(), &byte, 1), 1);
    }
    std::array<int, 2> done{};
    std::array<int, 2> go{};
    ASSERT_EQ(::pipe2(done.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(go.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int fd = ::open(childs.c_str(), O_RDONLY | O_CLOEXEC);
        const bool read = ::read(fd, &byte, 1) == 1 && ::write(done[1], &byte, 1) == 1;
        ::_exit(read && ::read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    const Fd done_read(done[0]);
    const Fd done_write(done[1]);
    const Fd go_read(go[0]);
    const Fd go_write(go[1]);
    ASSERT_EQ(::read(done_read.get(), &byte, 1), 1);
    io_.poll();
    ASSERT_EQ(::write(go_write.get(), &byte, 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    finish();
    EXPECT_EQ(file(inode(ours)), nullptr);
    EXPECT_EQ(file(inode(childs)), nullptr);
}

}  // namespace
}  // namespace lull::collector
