// SPDX-License-Identifier: MIT
#include "tests/replayer/kernel_fixture.hpp"

#include <filesystem>
#include <numeric>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fs/mounts.hpp"
#include "fs/residency.hpp"

namespace lull::replayer::testing {
namespace {

constexpr std::uint64_t kMostPages = 65536;

}  // namespace

void KernelTest::SetUp() {
    LULL_NEEDS_ROOT();
    auto made = test::LoopMount::make();
    ASSERT_TRUE(made) << made.error().message();
    mount_ = *std::move(made);
}

void KernelTest::TearDown() {
    mount_.reset();
}

db::Trace KernelTest::new_trace() const {
    db::Trace trace;
    const auto mounts = fs::read_mounts();
    EXPECT_TRUE(mounts);
    for (const fs::Mount& mount : *mounts) {
        if (mount.mount_point == mount_->directory()) {
            const auto uuid = fs::file_system_uuid(mount);
            EXPECT_TRUE(uuid) << uuid.error().message();
            trace.devices = {
                {*uuid, mount.fs_type, mount.mount_point, mount.source, mount.major, mount.minor}};
        }
    }
    EXPECT_EQ(trace.devices.size(), 1U);
    return trace;
}

void KernelTest::make_file(const std::string& name, std::uint64_t pages) {
    const std::string path = mount_->path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(test::write_pages(path, 0, pages));
    const auto evicted = test::evict(path);
    ASSERT_TRUE(evicted) << evicted.error().message();
}

std::uint32_t KernelTest::record(db::Trace& trace, const std::string& name,
                                 db::FileKind kind) const {
    struct stat status {};
    EXPECT_EQ(::lstat(mount_->path(name).c_str(), &status), 0) << name;
    db::File file;
    file.kind = kind;
    file.path = "/" + name;
    file.inode = status.st_ino;
    file.size = static_cast<std::uint64_t>(status.st_size);
    file.mtime_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    trace.files.push_back(file);
    return static_cast<std::uint32_t>(trace.files.size() - 1);
}

std::uint32_t KernelTest::record_disk(db::Trace& trace) const {
    db::File file;
    file.kind = db::FileKind::kDevice;
    trace.files.push_back(file);
    return static_cast<std::uint32_t>(trace.files.size() - 1);
}

std::vector<std::uint64_t> KernelTest::resident(const std::string& path) const {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC));
    EXPECT_TRUE(fd) << path;
    std::vector<std::uint64_t> numbers;
    const auto pages = fs::resident_pages(fd.get(), 0, kMostPages);
    EXPECT_TRUE(pages) << pages.error().message();
    for (std::uint64_t page = 0; page < pages->size(); ++page) {
        if ((*pages)[page]) {
            numbers.push_back(page);
        }
    }
    return numbers;
}

Target KernelTest::target() const {
    auto finder = TargetFinder::open({});
    EXPECT_TRUE(finder) << finder.error().message();
    auto found = finder->find(new_trace().devices[0]);
    EXPECT_TRUE(found) << found.error().message();
    return *std::move(found);
}

std::vector<std::uint64_t> run_of(std::uint64_t first, std::uint64_t count,
                                  std::vector<std::uint64_t> pages) {
    pages.resize(pages.size() + count);
    std::iota(pages.end() - static_cast<std::ptrdiff_t>(count), pages.end(), first);
    return pages;
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace lull::replayer::testing
