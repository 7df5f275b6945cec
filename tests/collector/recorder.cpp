// SPDX-License-Identifier: MIT
#include "tests/collector/recorder.hpp"

#include <array>
#include <climits>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/assemble.hpp"
#include "fs/mounts.hpp"

namespace lull::collector {
namespace {

std::string beside_this_program(const std::string& name) {
    std::string path(PATH_MAX, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace

Result<std::unique_ptr<PageReader>> PageReader::start(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return last_error("pipe");
    }
    const Fd input(ends[0]);
    Fd go(ends[1]);
    std::vector<std::string> copy = arguments;
    const std::string program = beside_this_program("page_reader");
    copy.insert(copy.begin(), program);
    std::vector<char*> argv;
    argv.reserve(copy.size() + 1);
    for (std::string& argument : copy) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) {
        return last_error("fork");
    }
    if (pid == 0) {
        ::dup2(input.get(), STDIN_FILENO);
        ::execv(program.c_str(), argv.data());
        ::_exit(127);
    }
    return std::unique_ptr<PageReader>(new PageReader(pid, std::move(go)));
}

PageReader::~PageReader() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

void PageReader::proceed() const {
    const char byte = 'g';
    EXPECT_EQ(::write(go_.get(), &byte, 1), 1);
}

bool PageReader::join() {
    int status = 0;
    const bool reaped = ::waitpid(pid_, &status, 0) == pid_;
    pid_ = -1;
    return reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<std::unique_ptr<Recorder>> Recorder::start(const std::string& rung,
                                                  const std::string& directory,
                                                  std::uint32_t max_blocks) {
    const auto mounts = fs::read_mounts();
    if (!mounts) {
        return mounts.error();
    }
    // Not by stat: the device number of a btrfs subvolume is not that of the file system.
    Scope scope;
    for (const fs::Mount& mount : *mounts) {
        if (mount.mount_point == directory) {
            scope.devices = {kernel_device(mount.major, mount.minor)};
        }
    }
    if (scope.devices.empty()) {
        return Error{ENODEV, directory + " is no mount point"};
    }
    scope.max_blocks = max_blocks;
    std::unique_ptr<Recorder> recorder(new Recorder);
    recorder->rung_ = make_rung(rung);
    if (auto started = recorder->rung_->start(scope, recorder->io_); !started) {
        return started.error();
    }
    return recorder;
}

Result<db::Trace> Recorder::finish() {
    io_.poll();
    auto raw = rung_->finish();
    if (!raw) {
        return raw.error();
    }
    const auto mounts = fs::read_mounts();
    if (!mounts) {
        return mounts.error();
    }
    return assemble(*std::move(raw), *mounts, {}, 0);
}

std::set<std::uint64_t> pages_of(const db::Trace& trace, const std::string& path, db::Use use) {
    std::set<std::uint64_t> found;
    for (const db::Read& read : trace.reads) {
        if (trace.files[read.file].path == path && read.use == use) {
            found.merge(pages(read.first_page, read.first_page + read.pages));
        }
    }
    return found;
}

std::set<std::uint64_t> pages_of(const db::Trace& trace, const std::string& path, db::Use use,
                                 db::Source source) {
    std::set<std::uint64_t> found;
    for (const db::Read& read : trace.reads) {
        if (trace.files[read.file].path == path && read.use == use && read.source == source) {
            found.merge(pages(read.first_page, read.first_page + read.pages));
        }
    }
    return found;
}

const db::File* file_of(const db::Trace& trace, const std::string& path) {
    const db::File* found = nullptr;
    for (const db::File& file : trace.files) {
        if (file.path == path) {
            if (found != nullptr) {
                return nullptr;
            }
            found = &file;
        }
    }
    return found;
}

std::set<std::uint64_t> pages(std::uint64_t first, std::uint64_t end) {
    std::set<std::uint64_t> set;
    for (std::uint64_t page = first; page < end; ++page) {
        set.insert(page);
    }
    return set;
}

}  // namespace lull::collector
