// SPDX-License-Identifier: MIT
#include "collector/proc_scan.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace lull::collector {
namespace {

class ProcScan : public testing::Test {
  protected:
    void SetUp() override {
        top_ = testing::TempDir() + "scan-" +
               testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(top_ + "/files");
        ::stat((top_ + "/files").c_str(), &here_);
    }
    void TearDown() override { std::filesystem::remove_all(top_); }

    std::string make_file(const std::string& name) {
        std::string path = top_ + "/files/" + name;
        std::ofstream(path) << name;
        return path;
    }
    void make_process(std::uint32_t pid) {
        std::filesystem::create_directories(fmt::format("{}/proc/{}/fd", top_, pid));
        std::filesystem::create_symlink("/", fmt::format("{}/proc/{}/root", top_, pid));
    }
    void hold(std::uint32_t pid, int number, const std::string& path) {
        std::filesystem::create_symlink(path, fmt::format("{}/proc/{}/fd/{}", top_, pid, number));
    }
    void map(std::uint32_t pid, const std::string& path, std::uint64_t inode) {
        std::ofstream(fmt::format("{}/proc/{}/maps", top_, pid), std::ios::app)
            << fmt::format("7f00-7f01 r-xp 00001000 {:02x}:{:02x} {}     {}\n", major(here_.st_dev),
                           minor(here_.st_dev), inode, path);
    }
    static std::uint64_t inode(const std::string& path) {
        struct stat facts {};
        EXPECT_EQ(::stat(path.c_str(), &facts), 0);
        return facts.st_ino;
    }
    std::multiset<std::pair<std::uint32_t, std::string>> scan(bool wanted = true) {
        std::multiset<std::pair<std::uint32_t, std::string>> seen;
        scan_processes(
            top_ + "/proc",
            [&](std::uint32_t major, std::uint32_t minor) {
                return wanted && ::makedev(major, minor) == here_.st_dev;
            },
            [&](std::uint32_t pid, int fd) {
                const auto path =
                    std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd));
                seen.emplace(pid, path.filename().string());
            });
        return seen;
    }

    std::string top_;
    struct stat here_ {};
};

using Seen = std::multiset<std::pair<std::uint32_t, std::string>>;

TEST_F(ProcScan, FindsWhatIsOpenOnceAProcess) {
    const std::string a = make_file("a");
    make_process(7);
    make_process(8);
    std::filesystem::create_directories(top_ + "/proc/sys/fd");
    hold(7, 0, "/dev/null");
    hold(7, 3, a);
    hold(7, 4, a);
    hold(7, 5, top_ + "/files");
    hold(7, 6, "socket:[123]");
    hold(8, 3, a);
    EXPECT_EQ(scan(), (Seen{{7, "a"}, {8, "a"}}));
}

TEST_F(ProcScan, FindsWhatIsMapped) {
    const std::string library = make_file("lib.so.1");
    const std::string odd = make_file("new\nline");
    const std::string replaced = make_file("replaced");
    make_process(7);
    map(7, library, inode(library));
    map(7, library, inode(library));
    map(7, top_ + "/files/new\\012line", inode(odd));
    map(7, replaced, inode(replaced) + 1'000'000);
    map(7, top_ + "/files/gone (deleted)", 99);
    map(7, "[heap]", 0);
    EXPECT_EQ(scan(), (Seen{{7, "lib.so.1"}, {7, "new\nline"}}));
    EXPECT_EQ(scan(false), Seen{});
}

TEST_F(ProcScan, PassesOverLinesThatMakeNoSense) {
    make_process(7);
    std::ofstream(top_ + "/proc/7/maps")
        << "\nx\n7f00 r-xp\n7f00-7f01 r-xp 0 zz:zz 9 /x\n/\n - - - /";
    EXPECT_EQ(scan(), Seen{});
}

TEST_F(ProcScan, LeavesOutTheCaller) {
    const auto self = static_cast<std::uint32_t>(::getpid());
    make_process(self);
    hold(self, 3, make_file("a"));
    EXPECT_EQ(scan(), Seen{});
}

TEST_F(ProcScan, FindsNothingWhereThereIsNoProc) {
    std::filesystem::remove_all(top_ + "/proc");
    EXPECT_EQ(scan(), Seen{});
}

}  // namespace
}  // namespace lull::collector
