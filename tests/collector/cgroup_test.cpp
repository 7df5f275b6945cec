// SPDX-License-Identifier: MIT
#include "collector/cgroup.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lull::collector {
namespace {

TEST(UnitOfCgroup, IsTheFirstThatIsNoSlice) {
    EXPECT_EQ(unit_of_cgroup("/system.slice/ssh.service"), "ssh.service");
    EXPECT_EQ(unit_of_cgroup("/init.scope"), "init.scope");
    EXPECT_EQ(unit_of_cgroup("/a.slice/a-b.slice/a-b-c.slice/x.mount"), "x.mount");
    EXPECT_EQ(unit_of_cgroup("/system.slice/dbus.socket"), "dbus.socket");
    EXPECT_EQ(unit_of_cgroup("/user.slice/user-1000.slice/session-2.scope"), "session-2.scope");
}

TEST(UnitOfCgroup, IsThatOfTheSystemForWhatAServiceMakesBelow) {
    EXPECT_EQ(unit_of_cgroup("/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service"),
              "user@1000.service");
    EXPECT_EQ(unit_of_cgroup("/system.slice/systemd-udevd.service/udev"), "systemd-udevd.service");
    EXPECT_EQ(unit_of_cgroup("/machine.slice/machine-deb.scope/payload/system.slice/cron.service"),
              "machine-deb.scope");
}

TEST(UnitOfCgroup, KeepsInstancesAndEscapes) {
    EXPECT_EQ(unit_of_cgroup("/system.slice/system-getty.slice/getty@tty1.service"),
              "getty@tty1.service");
    EXPECT_EQ(unit_of_cgroup("/system.slice/dev-disk-by\\x2duuid-1\\x2d2.swap"),
              "dev-disk-by\\x2duuid-1\\x2d2.swap");
    EXPECT_EQ(unit_of_cgroup("/system.slice/_cpu.service"), "cpu.service")
        << "a name that would look like a kernel file is escaped";
    EXPECT_EQ(unit_of_cgroup("/system.slice/__odd.service"), "_odd.service");
}

TEST(UnitOfCgroup, LooksBelowTheCgroupOfAContainer) {
    EXPECT_EQ(unit_of_cgroup("/docker/0123abcd/system.slice/nginx.service"), "nginx.service");
}

TEST(UnitOfCgroup, IsEmptyWhereThereIsNone) {
    for (const char* path : {"", "/", "/system.slice", "/docker/0123abcd", "/a/.service",
                             "/system.slice/foo@.service", "/system.slice/@x.service",
                             "/system.slice/white space.service", "/system.slice/x.timer"}) {
        EXPECT_EQ(unit_of_cgroup(path), "") << path;
    }
    EXPECT_EQ(unit_of_cgroup("/" + std::string(248, 'x') + ".service"), "");
    EXPECT_EQ(unit_of_cgroup("/" + std::string(247, 'x') + ".service").size(), 255U);
}

class CgroupOfProcess : public testing::Test {
  protected:
    void SetUp() override {
        root_ = testing::TempDir() + "proc-" +
                testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(root_ + "/7");
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    std::string cgroup(const std::string& text) {
        std::ofstream(root_ + "/7/cgroup", std::ios::binary) << text;
        const auto path = cgroup_of_process(7, root_);
        return path ? *path : "error " + std::to_string(path.error().code);
    }

    std::string root_;
};

TEST_F(CgroupOfProcess, IsUnifiedWhereThatSortsProcesses) {
    EXPECT_EQ(cgroup("0::/system.slice/a.service\n"), "/system.slice/a.service");
    EXPECT_EQ(cgroup("0::/\n"), "/");
    EXPECT_EQ(cgroup("0::/odd:name=systemd:/x\n"), "/odd:name=systemd:/x");
    EXPECT_EQ(cgroup("1:name=systemd:/legacy\n0::/unified\n"), "/unified");
}

TEST_F(CgroupOfProcess, IsThatOfSystemdOnAnOldHierarchy) {
    EXPECT_EQ(cgroup("4:memory:/m\n1:name=systemd:/system.slice/a.service\n0::/\n"),
              "/system.slice/a.service");
    EXPECT_EQ(cgroup("4:memory:/m\n1:name=systemd:/system.slice/a.service\n"),
              "/system.slice/a.service");
    EXPECT_EQ(cgroup("4:cpu,cpuacct:/m\n"), "error " + std::to_string(ENODATA));
}

TEST_F(CgroupOfProcess, ForgetsThatItWasRemoved) {
    EXPECT_EQ(cgroup("0::/system.slice/a.service (deleted)\n"), "/system.slice/a.service");
}

TEST_F(CgroupOfProcess, OfNobodyIsAnError) {
    EXPECT_EQ(cgroup_of_process(8, root_).error().code, ENOENT);
}

}  // namespace
}  // namespace lull::collector
