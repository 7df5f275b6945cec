// SPDX-License-Identifier: MIT
#include "tests/disk/image.hpp"

#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/disk/model.hpp"

namespace lull::disk {

Result<Image> Image::open(const std::filesystem::path& path) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat facts {};
    if (!fd || ::fstat(fd.get(), &facts) != 0) {
        return last_error("image " + path.string());
    }
    if (!S_ISREG(facts.st_mode) || facts.st_size < static_cast<off_t>(kSectorSize)) {
        return Error{EINVAL, "image " + path.string() + " is no regular file of a sector or more"};
    }
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    return Image(std::move(fd), bytes - bytes % kSectorSize);
}

Result<Image> Image::create_unnamed(const std::filesystem::path& directory, std::uint64_t bytes) {
    Fd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!fd && errno == EOPNOTSUPP) {
        std::string name = directory / "lull-image-XXXXXX";
        fd.reset(::mkostemp(name.data(), O_CLOEXEC));
        if (fd) {
            ::unlink(name.c_str());
        }
    }
    if (!fd) {
        return last_error("image in " + directory.string());
    }
    return sized(std::move(fd), bytes);
}

Result<Image> Image::create(const std::filesystem::path& path, std::uint64_t bytes) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) {
        return last_error("image " + path.string());
    }
    return sized(std::move(fd), bytes);
}

Result<Image> Image::sized(Fd fd, std::uint64_t bytes) {
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        return last_error("size of the image");
    }
    return Image(std::move(fd), bytes);
}

Result<void> Image::read(std::span<std::byte> into, std::uint64_t offset) const {
    while (!into.empty()) {
        const auto got = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
        if (got <= 0) {
            return got == 0 ? Error{EIO, "image became shorter"} : last_error("reading the image");
        }
        into = into.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return {};
}

Result<void> Image::write(std::span<const std::byte> from, std::uint64_t offset) {
    while (!from.empty()) {
        const auto put = ::pwrite(fd_.get(), from.data(), from.size(), static_cast<off_t>(offset));
        if (put < 0) {
            return last_error("writing the image");
        }
        from = from.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
    return {};
}

Result<void> Image::zero(std::uint64_t offset, std::uint64_t bytes) {
    if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
        return last_error("making a hole in the image");
    }
    return {};
}

}  // namespace lull::disk
