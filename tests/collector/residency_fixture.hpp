// SPDX-License-Identifier: MIT
// A disk of its own with the residency rung on it, and a shell that uses files step by step.
#pragma once

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
#include "fs/residency.hpp"
#include "tests/fs/loop_mount.hpp"
#include "tests/needs.hpp"

namespace lull::collector {

constexpr std::uint64_t kPage = 4096;

/// Lets one system call fail with `code` in the calling thread, for good; only when the bits of
/// `argument_bits` are set in its second argument, if there are any.
inline bool forbid(long number, std::uint32_t code, std::uint32_t argument_bits = 0) {
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
                    set.at(std::uint64_t{block.block} * kPagesPerBlock + i) = true;
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

}  // namespace lull::collector
