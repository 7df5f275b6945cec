// SPDX-License-Identifier: MIT
#include "tests/sched/disk/fake_system.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace lull::sched {
namespace {

namespace stdfs = std::filesystem;

void write(const stdfs::path& file, const std::string& text) {
    stdfs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
}

}  // namespace

FakeSystem::FakeSystem() {
    std::string directory = testing::TempDir() + "fake-system-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) {
        throw std::runtime_error(directory);
    }
    root_ = stdfs::canonical(directory);
    roots_ = {root_ / "sys", root_ / "dev", root_ / "run", root_ / "mountinfo"};
    for (const char* made : {"sys/block", "sys/class/block", "sys/dev/block", "dev", "run"}) {
        stdfs::create_directories(root_ / made);
    }
    std::ofstream(roots_.mountinfo).flush();
}

FakeSystem::~FakeSystem() {
    std::error_code ignored;
    stdfs::remove_all(root_, ignored);
}

void FakeSystem::add(const stdfs::path& directory, const std::string& number,
                     const Values& values) {
    stdfs::create_directories(directory);
    write(directory / "dev", number);
    write(directory / "size", "2097152");
    write(directory / "ro", "0");
    for (const auto& [file, value] : values) {
        write(directory / file, value);
    }
    stdfs::create_directory_symlink(directory, roots_.sys / "class/block" / directory.filename());
    stdfs::create_directory_symlink(directory, roots_.sys / "dev/block" / number);
}

void FakeSystem::disk(const std::string& name, const std::string& number, const Values& values,
                      const std::string& parent) {
    const auto directory = roots_.sys / "devices" / parent / "block" / name;
    stdfs::create_directories(directory / "slaves");
    add(directory, number, values);
    stdfs::create_directory_symlink(directory, roots_.sys / "block" / name);
}

void FakeSystem::partition(const std::string& disk, const std::string& name,
                           const std::string& number) {
    add(directory(disk) / name, number, {{"partition", "1"}, {"start", "2048"}});
}

void FakeSystem::put_on(const std::string& upper, std::initializer_list<std::string> lower) {
    for (const std::string& name : lower) {
        stdfs::create_directory_symlink(directory(name), directory(upper) / "slaves" / name);
    }
}

void FakeSystem::mapper(const std::string& name, const std::string& number,
                        const std::string& dm_name, const std::string& uuid,
                        std::initializer_list<std::string> lower) {
    disk(name, number, {{"dm/name", dm_name}, {"dm/uuid", uuid}});
    put_on(name, lower);
}

void FakeSystem::btrfs(const std::string& uuid, std::initializer_list<std::string> devices) {
    const auto members = roots_.sys / "fs/btrfs" / uuid / "devices";
    stdfs::create_directories(members);
    // It has neighbours that are no file system.
    stdfs::create_directories(roots_.sys / "fs/btrfs/features");
    for (const std::string& name : devices) {
        stdfs::create_directory_symlink(directory(name), members / name);
    }
}

void FakeSystem::mount(const std::string& number, const std::string& point, const std::string& type,
                       const std::string& source) {
    std::ofstream(roots_.mountinfo, std::ios::app)
        << mounts_++ << " 1 " << number << " / " << point << " rw,relatime shared:1 - " << type
        << ' ' << source << " rw\n";
}

void FakeSystem::remove(const std::string& name) {
    const auto gone = directory(name);
    stdfs::remove(roots_.sys / "class/block" / name);
    stdfs::remove(roots_.sys / "block" / name);
    stdfs::remove_all(gone);
}

stdfs::path FakeSystem::directory(const std::string& name) const {
    return stdfs::canonical(roots_.sys / "class/block" / name);
}

}  // namespace lull::sched
