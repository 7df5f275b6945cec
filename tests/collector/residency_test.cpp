// SPDX-License-Identifier: MIT
#include "fs/residency.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "collector/residency_rung.hpp"
#include "collector/resident_blocks.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"

namespace lull::collector {
namespace {

constexpr std::uint64_t kPage = 4096;

/// Lets one system call fail with `code` in the calling thread, for good; only when the bits of
/// `argument_bits` are set in its second argument, if there are any.
bool forbid(long number, std::uint32_t code, std::uint32_t argument_bits = 0) {
    const std::uint8_t skip_unless_set = argument_bits == 0 ? 0 : 1;
    std::array<sock_filter, 6> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(std::uint64_t)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, argument_bits, 0, skip_unless_set),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{program.size(), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// A shell that does a step each time it is told to, and answers.
class Shell {
  public:
    Shell() {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
        const Fd child_in(in[0]);
        const Fd child_out(out[1]);
        in_.reset(in[1]);
        out_.reset(out[0]);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
        std::string name = "sh";
        std::array<char*, 2> argv = {name.data(), nullptr};
        EXPECT_EQ(::posix_spawnp(&pid_, "sh", &actions, nullptr, argv.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
    }
    ~Shell() {
        in_.reset();
        ::waitpid(pid_, nullptr, 0);
    }
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;

    void run(const std::string& command) {
        const std::string line = command + "\necho\n";
        ASSERT_EQ(::write(in_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
        char answer = 0;
        ASSERT_EQ(::read(out_.get(), &answer, 1), 1);
    }
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  private:
    Fd in_;
    Fd out_;
    pid_t pid_ = 0;
};

class Residency : public testing::Test {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        make_disk({});
    }
    void make_disk(const std::vector<std::string>& mkfs_options) {
        disk_.reset();
        auto disk = test::LoopMount::make(mkfs_options);
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
        struct stat facts {};
        ASSERT_EQ(::stat(disk_->directory().c_str(), &facts), 0);
        device_ = kernel_device(major(facts.st_dev), minor(facts.st_dev));
    }

    /// A file of that many pages, out of memory. Gives its path.
    std::string make_file(const std::string& name, std::uint64_t pages) {
        std::string path = disk_->path(name);
        EXPECT_TRUE(test::write_pages(path, 0, pages).ok());
        const auto evicted = test::evict(path);
        EXPECT_TRUE(evicted.ok()) << evicted.error().message();
        return path;
    }
    static std::uint64_t inode(const std::string& path) {
        struct stat facts {};
        EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
        return facts.st_ino;
    }
    static std::vector<bool> in_memory(const std::string& path, std::uint64_t pages) {
        const Fd fd(::open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC));
        auto resident = fs::resident_pages(fd.get(), 0, pages);
        EXPECT_TRUE(resident.ok());
        return resident ? *std::move(resident) : std::vector<bool>{};
    }

    void start(const ResidencyOptions& options = {}, std::uint32_t max_blocks = 1024) {
        rung_ = make_residency_rung(options);
        const auto started = rung_->start({{device_}, max_blocks}, io_);
        ASSERT_TRUE(started.ok()) << started.error().message();
    }
    void finish() {
        io_.poll();
        auto trace = rung_->finish();
        ASSERT_TRUE(trace.ok()) << trace.error().message();
        trace_ = *std::move(trace);
        EXPECT_EQ(trace_.rung, "residency");
        for (const RawBlock& block : trace_.blocks) {
            EXPECT_EQ(block.demand | block.mapped | block.window | block.miss | block.own, 0U);
            EXPECT_EQ(block.added & ~block.cached, 0U);
        }
    }

    [[nodiscard]] const RawFile* file(std::uint64_t inode) const {
        const auto found = std::find_if(trace_.files.begin(), trace_.files.end(),
                                        [&](const RawFile& f) { return f.inode == inode; });
        return found == trace_.files.end() ? nullptr : &*found;
    }
    [[nodiscard]] const RawBlock* first_block(std::uint64_t inode) const {
        const auto found = std::find_if(trace_.blocks.begin(), trace_.blocks.end(),
                                        [&](const RawBlock& b) { return b.inode == inode; });
        return found == trace_.blocks.end() ? nullptr : &*found;
    }
    [[nodiscard]] std::vector<bool> pages_of(std::uint64_t inode, std::uint64_t pages,
                                             std::uint32_t RawBlock::*mask) const {
        std::vector<bool> set(pages);
        for (const RawBlock& block : trace_.blocks) {
            for (std::uint64_t i = 0; block.inode == inode && i < kPagesPerBlock; ++i) {
                if ((block.*mask >> i & 1U) != 0) {
                    set.at(block.block * kPagesPerBlock + i) = true;
                }
            }
        }
        return set;
    }
    [[nodiscard]] bool tells(const std::string& words) const {
        return std::any_of(
            trace_.limits.begin(), trace_.limits.end(),
            [&](const std::string& limit) { return limit.find(words) != std::string::npos; });
    }

    std::unique_ptr<test::LoopMount> disk_;
    KernelDevice device_ = 0;
    boost::asio::io_context io_;
    std::unique_ptr<Rung> rung_;
    RawTrace trace_;
};

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

TEST_F(Residency, CountsAnOverflowOfTheQueue) {
    // More names than the queue holds by default, all of one file so that they fit on the disk.
    constexpr int kNames = 17'000;
    ASSERT_TRUE(std::filesystem::create_directory(disk_->path("many")));
    make_file("many/n0", 1);
    for (int i = 1; i < kNames; ++i) {
        const std::string name = disk_->path("many/n" + std::to_string(i));
        ASSERT_EQ(::link(disk_->path("many/n0").c_str(), name.c_str()), 0);
    }
    ResidencyOptions options;
    options.unlimited_queue = false;
    start(options);
    ASSERT_TRUE(
        test::run({"sh", "-c", "cd \"$1\" && cat * >/dev/null", "sh", disk_->path("many")}).ok());
    finish();
    EXPECT_GE(trace_.losses.opens, 1U);
    EXPECT_NE(file(inode(disk_->path("many/n0"))), nullptr) << "what was queued is not lost";
}

TEST_F(Residency, CountsBlocksThatFoundNoRoom) {
    const std::string path = make_file("large", 5 * kPagesPerBlock);
    start({}, 3);
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    finish();
    EXPECT_EQ(trace_.blocks.size(), 3U);
    EXPECT_GE(trace_.losses.blocks, 2U);
}

TEST_F(Residency, FallsBackToProcWithoutFanotify) {
    const std::string held = make_file("held", 3);
    const std::string late = make_file("late", 3);
    const std::string missed = make_file("missed", 3);
    Shell shell;
    shell.run("exec 3<" + held);
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_init, EPERM));
        start();
        shell.run("cat <&3 >/dev/null; exec 4<" + late + "; cat <&4 >/dev/null; cat " + missed +
                  " >/dev/null");
        finish();
    }).join();
    EXPECT_EQ(pages_of(inode(held), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(pages_of(inode(late), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(file(inode(missed)), nullptr);
    EXPECT_EQ(trace_.losses.probes, 1U);
    EXPECT_TRUE(tells("opens could not be watched"));
}

TEST_F(Residency, WatchesTheMountsWhereAFileSystemCannotBeWatched) {
    const std::string path = make_file("file", 3);
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_mark, EXDEV, FAN_MARK_FILESYSTEM));
        start();
        ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
        finish();
    }).join();
    EXPECT_EQ(pages_of(inode(path), 3, &RawBlock::cached), std::vector<bool>(3, true));
    EXPECT_EQ(trace_.losses.probes, 0U);
    EXPECT_TRUE(tells("only opens through the mounts that were there"));
}

TEST_F(Residency, SaysWhatCannotBeWatchedAtAll) {
    std::thread([&] {
        ASSERT_TRUE(forbid(SYS_fanotify_mark, EPERM));
        start();
        finish();
    }).join();
    EXPECT_EQ(trace_.losses.probes, 1U);
    EXPECT_TRUE(tells("Opens on " + disk_->directory()));
}

TEST_F(Residency, FollowsFileSystemsThatAreMountedLater) {
    const std::string path = make_file("file", 3);
    const std::uint64_t number = inode(path);
    ASSERT_EQ(::umount(disk_->directory().c_str()), 0);
    start();
    ASSERT_EQ(::mount(disk_->device().c_str(), disk_->directory().c_str(), "ext4", 0, nullptr), 0);
    io_.run_one_for(std::chrono::seconds(10));
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    finish();
    ASSERT_NE(file(number), nullptr);
    EXPECT_EQ(file(number)->path, "/file");
}

TEST_F(Residency, TellsTheMetadataThatWasReadFromTheDevice) {
    LULL_NEEDS(fs::counts_cheaply(), "cachestat (Linux 6.5)");
    for (const std::uint64_t block : {1024U, 4096U}) {
        make_disk({"-b", std::to_string(block)});
        constexpr int kDirectories = 50;
        for (int i = 0; i < kDirectories; ++i) {
            ASSERT_TRUE(std::filesystem::create_directory(disk_->path("d" + std::to_string(i))));
        }
        ASSERT_EQ(::umount(disk_->directory().c_str()), 0);
        const Fd disk(::open(disk_->device().c_str(), O_RDONLY | O_CLOEXEC));
        ASSERT_EQ(::ioctl(disk.get(), BLKFLSBUF, 0), 0) << "its metadata must be out of memory";
        ASSERT_EQ(::mount(disk_->device().c_str(), disk_->directory().c_str(), "ext4", 0, nullptr),
                  0);
        constexpr std::uint64_t kDevicePages = (64ULL << 20) / kPage;
        const auto before = fs::resident_count(disk.get(), 0, kDevicePages);
        start();
        ASSERT_TRUE(test::output_of({"ls", "-R", disk_->directory()}).ok());
        finish();
        const auto after = fs::resident_count(disk.get(), 0, kDevicePages);
        ASSERT_TRUE(before.ok() && after.ok());

        const auto cached = pages_of(0, kDevicePages, &RawBlock::cached);
        const auto pages =
            static_cast<std::uint64_t>(std::count(cached.begin(), cached.end(), true));
        EXPECT_EQ(pages, *after - *before);
        EXPECT_GE(pages, kDirectories * block / kPage) << "each directory has a block";
    }
}

TEST_F(Residency, TellsDirectoriesWhereMetadataIsNotSeen) {
    const std::string directory = disk_->path("directory");
    ASSERT_TRUE(std::filesystem::create_directory(directory));
    std::thread([&] {
        ASSERT_TRUE(forbid(451, ENOSYS));  // cachestat
        start();
        ASSERT_TRUE(test::output_of({"ls", directory}).ok());
        finish();
    }).join();
    ASSERT_NE(file(inode(directory)), nullptr);
    EXPECT_EQ(file(inode(directory))->kind, db::FileKind::kDirectory);
    EXPECT_EQ(file(inode(directory))->path, "/directory");
    EXPECT_EQ(file(0), nullptr);
    for (const RawBlock& block : trace_.blocks) {
        EXPECT_NE(block.inode, 0U) << "metadata by page is told in full or not at all";
    }
}

TEST_F(Residency, EndsCleanlyWhenItIsThrownAwayWhileItRecords) {
    const std::string path = make_file("file", 3);
    start();
    ASSERT_TRUE(test::run({"cp", path, "/dev/null"}).ok());
    rung_.reset();
    io_.poll();
    io_.restart();
    start();
    finish();
    EXPECT_EQ(file(inode(path)), nullptr);
}

TEST_F(Residency, BlocksAreTheSameWithoutCachestat) {
    LULL_NEEDS(fs::counts_cheaply(), "cachestat (Linux 6.5)");
    const std::string path = make_file("large", 9001);
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM), 0);
    for (const std::uint64_t page : {0U, 31U, 32U, 4095U, 4096U, 8999U, 9000U}) {
        char byte = 0;
        ASSERT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(page * kPage)), 1);
    }
    const auto check = [&] {
        const auto blocks = resident_blocks(fd.get(), 9001);
        ASSERT_TRUE(blocks.ok()) << blocks.error().message();
        const std::map<std::uint32_t, std::uint32_t> expected = {
            {0, 1U | 1U << 31}, {1, 1}, {127, 1U << 31}, {128, 1}, {281, 3U << 7}};
        ASSERT_EQ(blocks->size(), expected.size());
        for (const auto& [block, mask] : expected) {
            EXPECT_EQ(mask_of(*blocks, block), mask) << block;
        }
        EXPECT_EQ(mask_of(*blocks, 2), 0U);
        EXPECT_EQ(mask_of(*blocks, 500), 0U);
    };
    check();
    std::thread([&] {
        ASSERT_TRUE(forbid(451, ENOSYS));
        EXPECT_FALSE(fs::counts_cheaply());
        check();
    }).join();
}

}  // namespace
}  // namespace lull::collector
