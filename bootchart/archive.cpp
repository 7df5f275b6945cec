// SPDX-License-Identifier: MIT
#include "bootchart/archive.hpp"

#include <array>
#include <cstring>
#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "bootchart/classic.hpp"

namespace lull::bootchart {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;

struct FreeArchive {
    void operator()(archive* one) const { ::archive_read_free(one); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

Error archive_error(archive* one, int code, const char* doing) {
    const char* text = ::archive_error_string(one);
    return {code, fmt::format("{}: {}", doing, text == nullptr ? "unknown" : text)};
}

Error too_large(const Limits& limits) {
    return {EFBIG, fmt::format("the chart unpacks to more than {} MiB in {} files",
                               limits.bytes >> 20, limits.members)};
}

Archive new_reader() {
    Archive reader(::archive_read_new());
    ::archive_read_support_filter_gzip(reader.get());
    ::archive_read_support_filter_bzip2(reader.get());
    ::archive_read_support_filter_xz(reader.get());
    ::archive_read_support_filter_zstd(reader.get());
    ::archive_read_support_format_tar(reader.get());
    ::archive_read_support_format_zip(reader.get());
    return reader;
}

std::string_view base_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Reads the members of an archive into a chart.
class Unpacker {
  public:
    Unpacker(archive* reader, const Limits& limits)
        : reader_(reader), limits_(limits), chart_(limits) {}

    Result<Boot> run();

  private:
    Result<void> entry(archive_entry* entry);
    /// Hands the data of the present entry to `member`; what is left unread the library skips, and
    /// that is counted too.
    Result<void> data(Member* member);

    archive* reader_;
    const Limits& limits_;
    ClassicChart chart_;
    std::uint64_t bytes_ = 0;
    std::size_t members_ = 0;
};

Result<void> Unpacker::data(Member* member) {
    for (;;) {
        const void* piece = nullptr;
        std::size_t size = 0;
        la_int64_t offset = 0;
        const int status = ::archive_read_data_block(reader_, &piece, &size, &offset);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status == ARCHIVE_RETRY) {
            continue;
        }
        bytes_ += size;
        if (bytes_ > limits_.bytes) {
            return too_large(limits_);
        }
        if (member != nullptr && size > 0) {
            member->feed({static_cast<const char*>(piece), size});
        }
        if (status < ARCHIVE_WARN) {
            if (member != nullptr) {
                member->finish();
            }
            return archive_error(reader_, EUCLEAN, "unpacking");
        }
    }
    if (member != nullptr) {
        member->finish();
    }
    return {};
}

Result<void> Unpacker::entry(archive_entry* entry) {
    if (++members_ > limits_.members) {
        return too_large(limits_);
    }
    const char* path = ::archive_entry_pathname(entry);
    if (path == nullptr) {
        return data(nullptr);
    }
    if (::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr) {
        return data(nullptr);
    }
    return data(chart_.member(base_name(path)));
}

Result<Boot> Unpacker::run() {
    for (;;) {
        archive_entry* next = nullptr;
        const int status = ::archive_read_next_header(reader_, &next);
        if (status == ARCHIVE_EOF) {
            break;
        }
        if (status == ARCHIVE_RETRY) {
            continue;
        }
        const auto read = status < ARCHIVE_WARN
                              ? Result<void>(archive_error(reader_, EUCLEAN, "reading the archive"))
                              : entry(next);
        if (!read && read.error().code == EFBIG) {
            return read.error();
        }
        if (!read) {
            // A copy that broke off is worth what it holds.
            if (members_ == 0) {
                return read.error();
            }
            chart_.warn("the archive is damaged or cut short; " + read.error().what);
            auto boot = chart_.finish();
            return boot ? std::move(boot) : Result<Boot>(read.error());
        }
    }
    return chart_.finish();
}

Result<Boot> read_opened(const Archive& reader, int status, const Limits& limits) {
    if (status < ARCHIVE_WARN) {
        return archive_error(reader.get(), EMEDIUMTYPE,
                             "neither a boot chart nor an archive of one");
    }
    return Unpacker(reader.get(), limits).run();
}

Result<std::uint64_t> feed_file(const Fd& file, Member& member, std::uint64_t most) {
    std::array<char, kBlock> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
    std::uint64_t bytes = 0;
    for (;;) {
        const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return last_error("read");
        }
        if (size == 0) {
            return bytes;
        }
        bytes += static_cast<std::uint64_t>(size);
        if (bytes > most) {
            return Error{EFBIG, "too large"};
        }
        member.feed({buffer.data(), static_cast<std::size_t>(size)});
    }
}

struct CloseDirectory {
    void operator()(DIR* one) const { ::closedir(one); }
};

}  // namespace

Result<Boot> read_archive(const Fd& file, const Limits& limits) {
    const Archive reader = new_reader();
    return read_opened(reader, ::archive_read_open_fd(reader.get(), file.get(), kBlock), limits);
}

Result<Boot> read_archive(std::string_view bytes, const Limits& limits) {
    const Archive reader = new_reader();
    return read_opened(reader, ::archive_read_open_memory(reader.get(), bytes.data(), bytes.size()),
                       limits);
}

Result<Boot> read_directory(const Fd& directory, const Limits& limits) {
    const int copy = ::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
    std::unique_ptr<DIR, CloseDirectory> list(copy < 0 ? nullptr : ::fdopendir(copy));
    if (!list) {
        return last_error("listing the directory");
    }
    ::rewinddir(list.get());
    ClassicChart chart(limits);
    std::uint64_t left = limits.bytes;
    while (const dirent* entry = ::readdir(list.get())) {
        const std::string name = entry->d_name;
        if (!chart.knows(name)) {
            continue;  // to open a device can act on it
        }
        // A pipe would wait for its writer.
        const Fd file(::openat(directory.get(), name.c_str(),
                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
        struct stat status {};
        if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            continue;
        }
        Member* member = chart.member(name);
        if (member == nullptr) {
            continue;
        }
        const auto bytes = feed_file(file, *member, left);
        if (!bytes && bytes.error().code == EFBIG) {
            return too_large(limits);
        }
        if (!bytes) {
            return bytes.error().in(name);
        }
        member->finish();
        left -= *bytes;
    }
    return chart.finish();
}

}  // namespace lull::bootchart
