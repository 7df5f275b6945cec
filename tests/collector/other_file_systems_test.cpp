// SPDX-License-Identifier: MIT
// File systems whose metadata is not in the page cache of their device: xfs and btrfs.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/collector/recorder.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/needs.hpp"

namespace lull::collector {
namespace {

using Pages = std::set<std::uint64_t>;

class OtherFileSystem : public testing::TestWithParam<disk::FileSystem> {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        LULL_NEEDS(disk::can_make(GetParam()), "mkfs of this file system");
    }
};

TEST_P(OtherFileSystem, RecordsPagesAndTheDirectoriesAboveThem) {
    disk::EmulatedDiskOptions options;
    options.profile = "nvme";
    options.bytes = std::uint64_t{1} << 30;
    options.file_system = GetParam();
    auto disk = disk::EmulatedDisk::create(options);
    ASSERT_TRUE(disk.ok()) << disk.error().message();
    const std::filesystem::path top = disk->mount_point();
    std::filesystem::create_directories(top / "a" / "b");
    ASSERT_TRUE(test::write_pages(top / "a" / "b" / "file", 0, 40).ok());
    ASSERT_TRUE(disk->remount_cold().ok());

    auto recorder = Recorder::start("events", top);
    ASSERT_TRUE(recorder.ok()) << recorder.error().message();
    const auto reader = PageReader::start({"pread", top / "a" / "b" / "file", "8192,8192"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok()) << trace.error().message();

    EXPECT_EQ(pages_of(*trace, "/a/b/file", db::Use::kDemand), (Pages{2, 3}));
    EXPECT_EQ(pages_of(*trace, "/a/b/file", db::Use::kDemand, db::Source::kMiss), (Pages{2, 3}));
    for (const char* path : {"/", "/a", "/a/b"}) {
        const db::File* directory = file_of(*trace, path);
        ASSERT_NE(directory, nullptr) << path;
        EXPECT_EQ(directory->kind, db::FileKind::kDirectory) << path;
    }
    const db::File* file = file_of(*trace, "/a/b/file");
    ASSERT_NE(file, nullptr);
    EXPECT_FALSE(file->deleted);
    EXPECT_EQ(file->size, 40U * 4096);
    ASSERT_EQ(trace->devices.size(), 1U);
    EXPECT_FALSE(trace->devices[0].fs_uuid.empty());
    EXPECT_FALSE(trace->boot.limits.empty()) << "files that were only looked up are not seen";
}

INSTANTIATE_TEST_SUITE_P(Kinds, OtherFileSystem,
                         testing::Values(disk::FileSystem::kXfs, disk::FileSystem::kBtrfs),
                         [](const auto& each) {
                             return each.param == disk::FileSystem::kXfs ? "xfs" : "btrfs";
                         });

}  // namespace
}  // namespace lull::collector
