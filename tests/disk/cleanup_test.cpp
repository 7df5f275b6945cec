// SPDX-License-Identifier: MIT
// Nothing of an emulated disk outlives the process that made it, however that process ends.
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/disk/fixture.hpp"
#include "tests/disk/message.hpp"
#include "tests/needs.hpp"

namespace lull::disk {
namespace {

constexpr int kPatienceMs = 60'000;  // far above what any end takes; only a hang reaches it

Fd open_pidfd(pid_t pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool ends(const Fd& process) {
    pollfd waiting{process.get(), POLLIN, 0};
    return ::poll(&waiting, 1, kPatienceMs) == 1;
}

/// A process that owns a disk and tells what there is to know of it.
class Owner {
  public:
    using Work = std::function<void(EmulatedDisk& disk)>;

    /// Does `work` with its disk, reports, and waits to be killed or told to end.
    static Owner start(const EmulatedDiskOptions& options, const Work& work) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        Owner owner;
        owner.socket_.reset(ends[0]);
        Fd there(ends[1]);
        owner.pid_ = ::fork();
        if (owner.pid_ == 0) {
            owner.socket_.reset();
            own(options, work, there.get());
        }
        owner.process_ = open_pidfd(owner.pid_);
        there.reset();
        auto told = receive_message(owner.socket_.get());
        if (!told || told->words.size() != 4) {
            ADD_FAILURE() << (told ? told->words[0] : told.error().message());
            return owner;
        }
        owner.server_pid_ = std::stoi(told->words[0]);
        owner.server_ = open_pidfd(owner.server_pid_);
        owner.mount_point_ = told->words[1];
        owner.queue_ = std::filesystem::path("/sys/block") /
                       std::filesystem::path(told->words[2]).filename() / "queue";
        owner.scheduler_ = told->words[3];
        return owner;
    }

    void kill() {
        ::kill(pid_, SIGKILL);
        reap();
    }
    void end() {
        EXPECT_TRUE(send_message(socket_.get(), {"end"}));
        EXPECT_EQ(reap(), 0);
    }
    void kill_server() const {
        ::kill(server_pid_, SIGKILL);
        EXPECT_TRUE(ends(server_));
    }

    void expect_no_process() const { EXPECT_TRUE(ends(server_)) << "the server lives on"; }
    void expect_no_mount() const {
        std::ifstream mounts("/proc/self/mountinfo");
        const std::string all{std::istreambuf_iterator<char>(mounts), {}};
        EXPECT_EQ(all.find(mount_point_.string()), std::string::npos);
    }
    void expect_no_directory() const { EXPECT_FALSE(std::filesystem::exists(mount_point_)); }
    void expect_no_loop() const {
        const auto wanted = "lull-disk of " + std::to_string(pid_);
        for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
            if (!std::filesystem::exists(entry.path() / "loop")) {
                continue;
            }
            const auto device = "/dev" / entry.path().filename();
            const Fd fd(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
            loop_info64 info{};
            if (::ioctl(fd.get(), LOOP_GET_STATUS64, &info) == 0) {
                EXPECT_NE(reinterpret_cast<const char*>(info.lo_file_name), wanted) << device;
            }
        }
    }
    void expect_nothing_left() const {
        expect_no_process();
        expect_no_mount();
        expect_no_loop();
        expect_no_directory();
    }
    [[nodiscard]] const std::filesystem::path& mount_point() const { return mount_point_; }
    [[nodiscard]] QueueSettings queue() const { return QueueSettings(queue_); }
    [[nodiscard]] const std::string& scheduler() const { return scheduler_; }

  private:
    Owner() = default;

    [[noreturn]] static void own(const EmulatedDiskOptions& options, const Work& work, int socket) {
        {
            auto disk = EmulatedDisk::create(options);
            if (!disk) {
                static_cast<void>(send_message(socket, {disk.error().message()}));
                ::_exit(1);
            }
            const auto scheduler = disk->queue().get("scheduler");
            work(*disk);
            if (testing::Test::HasFailure()) {
                static_cast<void>(send_message(socket, {"the owner's own checks failed"}));
                ::_exit(1);
            }
            static_cast<void>(
                send_message(socket, {std::to_string(disk->server_pid()), disk->mount_point(),
                                      disk->device(), scheduler ? *scheduler : ""}));
            static_cast<void>(receive_message(socket));
        }
        ::_exit(0);
    }

    int reap() {
        EXPECT_TRUE(ends(process_)) << "the owner hangs";
        int status = 0;
        EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
        return status;
    }

    Fd socket_;
    pid_t pid_ = 0;
    Fd process_;
    pid_t server_pid_ = 0;
    Fd server_;
    std::filesystem::path mount_point_;
    std::filesystem::path queue_;
    std::string scheduler_;
};

/// Leaves 8 MiB in the page cache that the disk has not seen.
void write_without_sync(EmulatedDisk& disk) {
    std::ofstream(disk.mount_point() / "dirty") << std::string(std::size_t{8} << 20, 'x');
}

EmulatedDiskOptions small_disk(bool private_namespace = true) {
    EmulatedDiskOptions options;
    options.bytes = std::uint64_t{256} << 20;
    options.private_namespace = private_namespace;
    return options;
}

class Cleanup : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override { LULL_NEEDS_ROOT(); }
};

TEST_P(Cleanup, AfterANormalEnd) {
    auto owner = Owner::start(small_disk(GetParam()), write_without_sync);
    owner.end();
    owner.expect_nothing_left();
}

TEST_P(Cleanup, AfterSigkill) {
    auto owner = Owner::start(small_disk(GetParam()), write_without_sync);
    owner.kill();
    owner.expect_nothing_left();
}

TEST_P(Cleanup, AfterSigkillWithAFileInUse) {
    auto owner = Owner::start(small_disk(GetParam()), [](EmulatedDisk& disk) {
        // Stays open: the descriptor is never closed by this process.
        static_cast<void>(::open((disk.mount_point() / "used").c_str(), O_CREAT | O_RDWR, 0600));
        write_without_sync(disk);
    });
    owner.kill();
    owner.expect_nothing_left();
}

TEST_P(Cleanup, WhenTheServerDiesFirst) {
    auto owner = Owner::start(small_disk(GetParam()), write_without_sync);
    owner.kill_server();
    owner.end();
    owner.expect_no_mount();
    owner.expect_no_loop();
    std::filesystem::remove(owner.mount_point());
}

INSTANTIATE_TEST_SUITE_P(Namespaces, Cleanup, testing::Bool(), [](const auto& info) {
    return std::string(info.param ? "Private" : "Shared");
});

TEST(CleanupTest, PutsTheQueueBackAfterSigkill) {
    LULL_NEEDS_ROOT();
    auto owner = Owner::start(small_disk(), [](EmulatedDisk& disk) {
        const auto now = disk.queue().get("scheduler");
        ASSERT_TRUE(disk.set_queue("scheduler", *now == "bfq" ? "none" : "bfq"));
    });
    owner.kill();
    owner.expect_no_process();
    const auto now = owner.queue().get("scheduler");
    ASSERT_TRUE(now) << now.error().message();
    EXPECT_EQ(*now, owner.scheduler());
}

TEST(CleanupTest, AReaderThatOutlivesTheOwnerIsFreed) {
    LULL_NEEDS_ROOT();
    std::array<int, 2> ends_of_pipe{};
    ASSERT_EQ(::pipe2(ends_of_pipe.data(), O_CLOEXEC), 0);
    const Fd reading(ends_of_pipe[0]);
    Fd writing(ends_of_pipe[1]);
    auto owner = Owner::start(small_disk(), [&writing](EmulatedDisk& disk) {
        const auto path = disk.mount_point() / "data";
        std::ofstream(path) << std::string(std::size_t{4} << 20, 'x');
        ASSERT_TRUE(disk.remount_cold());
        const pid_t reader = ::fork();
        if (reader == 0) {
            const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
            alignas(4096) static std::array<char, 4096> block;
            for (off_t at = 0; ::pread(fd.get(), block.data(), block.size(), at) > 0;
                 at = (at + 1'052'672) % (off_t{4} << 20)) {
            }
            ::_exit(0);
        }
        ASSERT_EQ(::write(writing.get(), &reader, sizeof(reader)),
                  static_cast<ssize_t>(sizeof(reader)));
    });
    pid_t reader = 0;
    ASSERT_EQ(::read(reading.get(), &reader, sizeof(reader)), static_cast<ssize_t>(sizeof(reader)));
    const Fd process = open_pidfd(reader);
    owner.kill();
    owner.expect_no_process();
    ASSERT_TRUE(ends(process)) << "the reader hangs";
    owner.expect_no_mount();
    owner.expect_no_loop();
    owner.expect_no_directory();
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(CleanupTest, TenDisksLeaveNothing) {
    LULL_NEEDS_ROOT();
    auto owner = Owner::start(small_disk(), [](EmulatedDisk& /*first*/) {
        const auto before = open_descriptors();
        for (int round = 0; round < 10; ++round) {
            auto disk = EmulatedDisk::create(small_disk());
            ASSERT_TRUE(disk) << disk.error().message();
            write_without_sync(*disk);
        }
        ASSERT_EQ(open_descriptors(), before);
        // The server of the first disk is the only child.
        int children = 0;
        std::ifstream list("/proc/self/task/" + std::to_string(::getpid()) + "/children");
        for (pid_t child = 0; list >> child;) {
            ++children;
        }
        ASSERT_EQ(children, 1);
    });
    owner.end();
    owner.expect_nothing_left();
}

TEST(CleanupTest, TwoDisksOfOneProcessDoNotHoldEachOther) {
    LULL_NEEDS_ROOT();
    auto owner = Owner::start(small_disk(), [](EmulatedDisk& first) {
        auto second = EmulatedDisk::create(small_disk());
        ASSERT_TRUE(second) << second.error().message();
        ASSERT_TRUE(first.remount_cold());
        ASSERT_TRUE(second->remount_cold());
    });
    owner.kill();
    owner.expect_nothing_left();
}

}  // namespace
}  // namespace lull::disk
