// SPDX-License-Identifier: MIT
#include "db/target.hpp"

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace lull::db {
namespace {

constexpr mode_t kMode = 0644;

bool has_no_tmpfile(int code) {
    // EISDIR and ENOENT: kernels or file systems that read the flag as plain O_DIRECTORY.
    return code == EOPNOTSUPP || code == EISDIR || code == ENOENT || code == EINVAL;
}

}  // namespace

Target::Target(Fd directory, std::string path, std::string name)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      name_(std::move(name)),
      temporary_("." + name_ + ".lull-new") {}

Error Target::failed(const char* step) const {
    return last_error(fmt::format("{}: cannot {}", path_, step));
}

Result<Target> Target::lock(const std::string& path) {
    std::error_code code;
    std::filesystem::path place = std::filesystem::weakly_canonical(path, code);
    if (code) {
        return Error{code.value(), path};
    }
    place = std::filesystem::absolute(place);
    if (!place.has_filename()) {
        return Error{EISDIR, path + ": the name of a file is needed"};
    }
    const std::string parent = place.parent_path();
    Fd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) {
        return last_error(parent);
    }
    while (::flock(directory.get(), LOCK_EX) != 0) {
        if (errno != EINTR) {
            return last_error(parent + ": cannot lock the directory");
        }
    }
    Target target(std::move(directory), place, place.filename());
    // What cannot be removed here (a read-only file system) will fail the write with its reason.
    ::unlinkat(target.directory_.get(), target.temporary_.c_str(), 0);
    return target;
}

Result<void> Target::fill(const Fd& file, std::span<const std::byte> content) const {
    struct stat old {};
    if (::fstatat(directory_.get(), name_.c_str(), &old, 0) == 0) {
        // Giving a file away needs privilege; without it the new file is the caller's own.
        if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) {
            static_cast<void>(::fchown(file.get(), old.st_uid, old.st_gid) == 0);
        }
        if (::fchmod(file.get(), old.st_mode & 0777) != 0) {
            return failed("set the mode of the new file");
        }
    }
    while (!content.empty()) {
        const auto put = ::write(file.get(), content.data(), content.size());
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return failed("write");
        }
        content = content.subspan(static_cast<std::size_t>(put));
    }
    if (::fsync(file.get()) != 0) {
        return failed("sync");
    }
    return {};
}

Result<Fd> Target::write_unnamed(std::span<const std::byte> content) const {
    Fd file(::openat(directory_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode));
    if (!file) {
        return failed("write in its directory");
    }
    if (auto filled = fill(file, content); !filled) {
        return filled.error();
    }
    return file;
}

Result<Fd> Target::write_named(std::span<const std::byte> content) const {
    Fd file(::openat(directory_.get(), temporary_.c_str(),
                     O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, kMode));
    if (!file) {
        return failed("write in its directory");
    }
    if (auto filled = fill(file, content); !filled) {
        ::unlinkat(directory_.get(), temporary_.c_str(), 0);
        return filled.error();
    }
    return file;
}

bool Target::link_to(const Fd& file, const std::string& name) const {
    // By descriptor needs CAP_DAC_READ_SEARCH before 6.10; by /proc needs /proc.
    return ::linkat(file.get(), "", directory_.get(), name.c_str(), AT_EMPTY_PATH) == 0 ||
           (errno == ENOENT &&
            ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", file.get()).c_str(),
                     directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0);
}

Result<void> Target::give_name(const Fd& file) const {
    if (link_to(file, name_)) {
        return {};
    }
    if (errno != EEXIST) {
        return failed("name the new file");
    }
    if (!link_to(file, temporary_)) {
        return failed("name the new file");
    }
    return rename_over();
}

Result<void> Target::rename_over() const {
    if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str()) != 0) {
        auto error = failed("put the new file in its place");
        ::unlinkat(directory_.get(), temporary_.c_str(), 0);
        return error;
    }
    return {};
}

Result<void> Target::sync_directory() const {
    if (::fsync(directory_.get()) != 0) {
        return failed("sync its directory");
    }
    return {};
}

Result<void> Target::replace(std::span<const std::byte> content, Temporary temporary) const {
    if (temporary == Temporary::kUnnamed) {
        const auto file = write_unnamed(content);
        if (file) {
            const auto named = give_name(*file);
            return named ? sync_directory() : named;
        }
        if (!has_no_tmpfile(file.error().code)) {
            return file.error();
        }
    }
    if (const auto file = write_named(content); !file) {
        return file.error();
    }
    const auto renamed = rename_over();
    return renamed ? sync_directory() : renamed;
}

Result<void> Target::set_aside(const std::string& suffix) const {
    if (::renameat(directory_.get(), name_.c_str(), directory_.get(), (name_ + suffix).c_str()) !=
        0) {
        return failed("rename it");
    }
    return sync_directory();
}

}  // namespace lull::db
