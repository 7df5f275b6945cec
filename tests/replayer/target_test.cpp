// SPDX-License-Identifier: MIT
#include "replayer/target.hpp"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/replayer/kernel_fixture.hpp"

namespace lull::replayer {
namespace {

namespace stdfs = std::filesystem;

class TargetTest : public testing::KernelTest {
  protected:
    /// Why the file is refused; nothing if it opens.
    [[nodiscard]] static std::optional<SkipReason> refused(const Target& target,
                                                           const db::File& file) {
        const Opened opened = target.open(file);
        const Refusal* refusal = std::get_if<Refusal>(&opened);
        const auto checked = target.check(file);
        EXPECT_EQ(checked.has_value(), refusal != nullptr) << "check() and open() agree";
        return refusal == nullptr ? std::nullopt : std::optional(refusal->reason);
    }
    /// A recorded file of four pages.
    db::File recorded(const std::string& name) {
        make_file(name, 4);
        db::Trace trace = new_trace();
        return trace.files[record(trace, name)];
    }
};

TEST_F(TargetTest, OpensTheRecordedFileWithoutTouchingItsTimes) {
    const db::File file = recorded("dir/file");
    const Opened opened = target().open(file);
    ASSERT_TRUE(std::holds_alternative<Fd>(opened));
    const int flags = ::fcntl(std::get<Fd>(opened).get(), F_GETFL);
    EXPECT_EQ(flags & O_ACCMODE, O_RDONLY);
    EXPECT_TRUE(flags & O_NOATIME);
    EXPECT_FALSE(flags & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(std::get<Fd>(opened).get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(TargetTest, NamesThatAreNoTextAreNames) {
    for (const std::string& name : {std::string("new\nline"), std::string("\xff\xfe bad"),
                                    std::string(255, 'n'), std::string("%s \\ \"")}) {
        EXPECT_EQ(refused(target(), recorded(name)), std::nullopt) << name;
    }
}

TEST_F(TargetTest, ASymbolicLinkInPlaceOfTheFileIsNotFollowed) {
    const db::File file = recorded("file");
    stdfs::rename(mount_->path("file"), mount_->path("moved"));
    stdfs::create_symlink("moved", mount_->path("file"));
    EXPECT_EQ(refused(target(), file), SkipReason::kLink);
}

TEST_F(TargetTest, ASymbolicLinkOnTheWayIsNotFollowed) {
    const db::File file = recorded("dir/file");
    stdfs::rename(mount_->path("dir"), mount_->path("moved"));
    stdfs::create_directory_symlink("moved", mount_->path("dir"));
    EXPECT_EQ(refused(target(), file), SkipReason::kLink);
}

TEST_F(TargetTest, APathCannotClimbOut) {
    db::File file = recorded("file");
    file.path = "/../" + stdfs::path(mount_->directory()).filename().string() + "/file";
    EXPECT_EQ(refused(target(), file), SkipReason::kLink);
}

TEST_F(TargetTest, AReplacedOrChangedFileIsNotRead) {
    const db::File file = recorded("file");
    stdfs::rename(mount_->path("file"), mount_->path("kept"));
    make_file("file", 4);
    EXPECT_EQ(refused(target(), file), SkipReason::kChanged) << "another inode";
    stdfs::remove(mount_->path("file"));
    stdfs::rename(mount_->path("kept"), mount_->path("file"));
    EXPECT_EQ(refused(target(), file), std::nullopt);

    std::ofstream(mount_->path("file"), std::ios::app) << "more";
    EXPECT_EQ(refused(target(), file), SkipReason::kChanged) << "another size";
    stdfs::resize_file(mount_->path("file"), file.size);
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000, 1}};
    ::utimensat(AT_FDCWD, mount_->path("file").c_str(), times, 0);
    EXPECT_EQ(refused(target(), file), SkipReason::kChanged) << "another time";
    stdfs::remove(mount_->path("file"));
    EXPECT_EQ(refused(target(), file), SkipReason::kGone);
}

TEST_F(TargetTest, OnlyRegularFilesAreOpened) {
    const db::File file = recorded("file");
    const std::string path = mount_->path("file");
    const auto replace = [&path](auto make) {
        stdfs::remove(path);
        ASSERT_EQ(make(), 0);
    };
    // Opened, the first would wait for a writer, and the second would start the watchdog.
    replace([&] { return ::mkfifo(path.c_str(), 0600); });
    EXPECT_EQ(refused(target(), file), SkipReason::kNotRegular);
    replace([&] { return ::mknod(path.c_str(), S_IFCHR | 0600, makedev(10, 130)); });
    EXPECT_EQ(refused(target(), file), SkipReason::kNotRegular);
    replace([&] { return ::mknod(path.c_str(), S_IFBLK | 0600, makedev(7, 0)); });
    EXPECT_EQ(refused(target(), file), SkipReason::kNotRegular);
    replace([&] { return ::mkdir(path.c_str(), 0700); });
    EXPECT_EQ(refused(target(), file), SkipReason::kNotRegular);
}

TEST_F(TargetTest, WhatAnotherMountHidesIsNotReached) {
    const db::File file = recorded("dir/file");
    ASSERT_EQ(::mount("none", mount_->path("dir").c_str(), "tmpfs", 0, nullptr), 0);
    std::ofstream(mount_->path("dir/file")) << "not this";
    EXPECT_EQ(refused(target(), file), SkipReason::kLink);
    ASSERT_EQ(::umount(mount_->path("dir").c_str()), 0);
    EXPECT_EQ(refused(target(), file), std::nullopt);
}

TEST_F(TargetTest, ACoveredMountIsNotTaken) {
    const db::Device device = new_trace().devices[0];
    ASSERT_EQ(::mount("none", mount_->directory().c_str(), "tmpfs", 0, nullptr), 0);
    auto finder = TargetFinder::open({});
    ASSERT_TRUE(finder);
    const auto found = finder->find(device);
    ASSERT_EQ(::umount(mount_->directory().c_str()), 0);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ENODEV);
}

TEST_F(TargetTest, IsFoundByUuidWhateverItsNumber) {
    db::Device device = new_trace().devices[0];
    device.major = 259;
    device.minor = 77;
    device.source = "/dev/nvme9n9";
    auto finder = TargetFinder::open({});
    ASSERT_TRUE(finder);
    const auto found = finder->find(device);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->mount().mount_point, mount_->directory());

    device = new_trace().devices[0];
    device.fs_uuid = "6c756c6c-0000-4000-8000-6e6f6e657375";
    EXPECT_FALSE(finder->find(device)) << "the number is not an identity where there is a UUID";
    device.fs_uuid.clear();
    EXPECT_TRUE(finder->find(device)) << "but where there is none";
    device.minor += 1;
    EXPECT_FALSE(finder->find(device));
}

TEST_F(TargetTest, OfASubtreeOnlyWhatIsInItIsReached) {
    const db::File inside = recorded("sub/deep/file");
    const db::File outside = recorded("other/file");
    const db::File near = recorded("sub-not/file");
    const db::Device device = new_trace().devices[0];
    const stdfs::path root = "/tmp/lull-replayer-sub-" + std::to_string(::getpid());
    stdfs::create_directory(root);
    ASSERT_EQ(::mount(mount_->path("sub").c_str(), root.c_str(), nullptr, MS_BIND, nullptr), 0);
    SystemPaths paths;
    paths.root = root;
    auto finder = TargetFinder::open(paths);
    ASSERT_TRUE(finder);
    {
        const auto found = finder->find(device);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->mount().root, "/sub");
        EXPECT_EQ(refused(*found, inside), std::nullopt);
        EXPECT_EQ(refused(*found, outside), SkipReason::kOutsideMount);
        EXPECT_EQ(refused(*found, near), SkipReason::kOutsideMount);
    }
    // Without the limit the whole file system is preferred to a part of it.
    EXPECT_EQ(target().mount().root, "/");
    ASSERT_EQ(::umount(root.c_str()), 0);
    stdfs::remove(root);
}

TEST_F(TargetTest, NothingOutsideTheRootIsTaken) {
    SystemPaths paths;
    paths.root = "/proc";
    auto finder = TargetFinder::open(paths);
    ASSERT_TRUE(finder);
    EXPECT_FALSE(finder->find(new_trace().devices[0]));
    paths.root = mount_->path("nowhere");
    EXPECT_FALSE(TargetFinder::open(paths));
}

TEST_F(TargetTest, TheDiskIsOpenedByItsNumber) {
    db::Trace trace = new_trace();
    trace.devices[0].source = "/dev/null";
    const db::File disk = trace.files[record_disk(trace)];
    const Opened opened = target().open(disk);
    ASSERT_TRUE(std::holds_alternative<Fd>(opened));
    struct stat status {};
    ASSERT_EQ(::fstat(std::get<Fd>(opened).get(), &status), 0);
    EXPECT_TRUE(S_ISBLK(status.st_mode));
    EXPECT_EQ(status.st_rdev, makedev(trace.devices[0].major, trace.devices[0].minor));
}

TEST_F(TargetTest, WhatLiesAtTheDisksNameMustBeTheDisk) {
    db::Trace trace = new_trace();
    const db::File disk = trace.files[record_disk(trace)];
    const stdfs::path dev = mount_->path("dev");
    stdfs::create_directory(dev);
    const std::string name = stdfs::path(mount_->device()).filename();
    SystemPaths paths;
    paths.dev = dev;
    auto finder = TargetFinder::open(paths);
    ASSERT_TRUE(finder);
    const auto found = finder->find(trace.devices[0]);
    ASSERT_TRUE(found);
    EXPECT_EQ(refused(*found, disk), SkipReason::kGone);
    std::ofstream(dev / name) << "a file";
    EXPECT_EQ(refused(*found, disk), SkipReason::kNotRegular);
    stdfs::remove(dev / name);
    ASSERT_EQ(::mknod((dev / name).c_str(), S_IFBLK | 0600, makedev(7, 1'000)), 0);
    EXPECT_EQ(refused(*found, disk), SkipReason::kNotRegular) << "another disk";
    stdfs::remove(dev / name);
    stdfs::create_symlink(mount_->device(), dev / name);
    EXPECT_EQ(refused(*found, disk), SkipReason::kNotRegular) << "a link is not followed";
}

TEST_F(TargetTest, VisitsDirectoriesAndInodes) {
    make_file("dir/file", 1);
    db::Trace trace = new_trace();
    const db::File directory = trace.files[record(trace, "dir", db::FileKind::kDirectory)];
    db::File inode = trace.files[record(trace, "dir/file", db::FileKind::kInode)];
    EXPECT_FALSE(target().visit(directory));
    EXPECT_FALSE(target().visit(inode));
    ++inode.inode;
    const auto refusal = target().visit(inode);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->reason, SkipReason::kChanged);
    db::File no_directory = directory;
    no_directory.path = "/dir/file";
    EXPECT_EQ(target().visit(no_directory)->reason, SkipReason::kNotRegular);
}

TEST(ReadCap, IsTheLargerLimitOfTheDisk) {
    const stdfs::path sysfs = "/tmp/lull-replayer-sysfs-" + std::to_string(::getpid());
    stdfs::create_directories(sysfs / "dev/block/8:1");
    stdfs::create_directories(sysfs / "dev/block/queue");
    std::ofstream(sysfs / "dev/block/queue/read_ahead_kb") << "128\n";
    SystemPaths paths;
    paths.sysfs = sysfs;
    fs::Mount mount;
    mount.major = 8;
    mount.minor = 1;
    EXPECT_EQ(Target(mount, Fd(), paths).read_cap(), 128U * 1024);
    std::ofstream(sysfs / "dev/block/queue/max_sectors_kb") << "1280\n";
    EXPECT_EQ(Target(mount, Fd(), paths).read_cap(), 1280U * 1024);
    mount.minor = 2;
    EXPECT_EQ(Target(mount, Fd(), paths).read_cap(), std::nullopt);
    stdfs::remove_all(sysfs);
}

}  // namespace
}  // namespace lull::replayer
