// SPDX-License-Identifier: MIT
#define FUSE_USE_VERSION 314
#include "tests/disk/fuse_file.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/mount.h>
#include <unistd.h>

namespace lull::disk {
namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 20;  // the kernel's own limit, 256 pages
constexpr std::size_t kHeaderSpace = 4096;
constexpr unsigned kMaxBackground = 512;  // above the 128 tags of a loop device, also when split
constexpr double kForever = 1e9;          // seconds: nobody changes the attributes but us

struct stat attributes(std::uint64_t bytes) {
    struct stat facts {};
    facts.st_ino = FUSE_ROOT_ID;
    facts.st_mode = S_IFREG | 0600;
    facts.st_nlink = 1;
    facts.st_size = static_cast<off_t>(bytes);
    facts.st_blksize = 4096;
    return facts;
}

/// The mount of a FUSE file system whose root is a regular file, attached nowhere.
Result<Fd> make_mount(int device) {
    const Fd context(::fsopen("fuse", FSOPEN_CLOEXEC));
    if (!context) {
        return last_error("fsopen fuse");
    }
    const std::array<std::pair<const char*, std::string>, 6> settings{{
        {"source", "lull-disk"},
        {"fd", std::to_string(device)},
        {"rootmode", "100000"},
        {"user_id", "0"},
        {"group_id", "0"},
        {"max_read", std::to_string(kMaxTransfer)},
    }};
    for (const auto& [key, value] : settings) {
        if (::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) != 0) {
            return last_error(std::string("fuse option ") + key);
        }
    }
    if (::fsconfig(context.get(), FSCONFIG_SET_FLAG, "allow_other", nullptr, 0) != 0 ||
        ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return last_error("creating the fuse file system");
    }
    Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!mount) {
        return last_error("fsmount fuse");
    }
    return mount;
}

}  // namespace

/// What libfuse calls; each finds its FuseFile in the user data of the session.
struct FuseCallbacks {
    static FuseFile& file(fuse_req_t call) {
        return *static_cast<FuseFile*>(::fuse_req_userdata(call));
    }

    static void init(void* /*user*/, fuse_conn_info* connection) {
        connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                                   FUSE_CAP_SPLICE_MOVE);
        connection->want |= connection->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
        connection->max_read = kMaxTransfer;
        connection->max_write = kMaxTransfer;
        connection->max_background = kMaxBackground;
        connection->congestion_threshold = kMaxBackground;
    }

    static void getattr(fuse_req_t call, fuse_ino_t /*inode*/, fuse_file_info* /*info*/) {
        const auto facts = attributes(file(call).bytes_);
        ::fuse_reply_attr(call, &facts, kForever);
    }

    static void open(fuse_req_t call, fuse_ino_t /*inode*/, fuse_file_info* info) {
        info->direct_io = 1;
        ::fuse_reply_open(call, info);
    }

    static void read(fuse_req_t call, fuse_ino_t /*inode*/, std::size_t bytes, off_t offset,
                     fuse_file_info* /*info*/) {
        auto& self = file(call);
        const auto from = static_cast<std::uint64_t>(offset);
        if (bytes == 0 || from >= self.bytes_) {
            FuseFile::answer_data(call, {});
            return;
        }
        self.handler_.on_read(call, from, std::min<std::uint64_t>(bytes, self.bytes_ - from));
    }

    static void write(fuse_req_t call, fuse_ino_t /*inode*/, const char* data, std::size_t bytes,
                      off_t offset, fuse_file_info* /*info*/) {
        auto& self = file(call);
        const auto from = static_cast<std::uint64_t>(offset);
        if (from > self.bytes_ || bytes > self.bytes_ - from) {
            FuseFile::answer_error(call, ENOSPC);
        } else if (bytes == 0) {
            FuseFile::answer_written(call, 0);
        } else {
            self.handler_.on_write(call, from, std::as_bytes(std::span(data, bytes)));
        }
    }

    static void fallocate(fuse_req_t call, fuse_ino_t /*inode*/, int mode, off_t offset,
                          off_t bytes, fuse_file_info* /*info*/) {
        auto& self = file(call);
        const auto from = static_cast<std::uint64_t>(offset);
        const auto length = static_cast<std::uint64_t>(bytes);
        if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) {
            FuseFile::answer_error(call, EOPNOTSUPP);
        } else if (from > self.bytes_ || length > self.bytes_ - from || length == 0) {
            FuseFile::answer_error(call, EINVAL);
        } else {
            self.handler_.on_zero(call, from, length);
        }
    }

    static void fsync(fuse_req_t call, fuse_ino_t /*inode*/, int /*datasync*/,
                      fuse_file_info* /*info*/) {
        file(call).handler_.on_sync(call);
    }
};

Result<std::unique_ptr<FuseFile>> FuseFile::make(std::uint64_t bytes, Handler& handler) {
    Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!device) {
        return last_error("/dev/fuse");
    }
    auto mount = make_mount(device.get());
    if (!mount) {
        return mount.error();
    }
    std::unique_ptr<FuseFile> file(new FuseFile(bytes, handler));  // NOLINT: private constructor
    file->mount_ = *std::move(mount);
    file->buffer_.resize(kMaxTransfer + kHeaderSpace);

    fuse_lowlevel_ops operations{};
    operations.init = FuseCallbacks::init;
    operations.getattr = FuseCallbacks::getattr;
    operations.open = FuseCallbacks::open;
    operations.read = FuseCallbacks::read;
    operations.write = FuseCallbacks::write;
    operations.fallocate = FuseCallbacks::fallocate;
    operations.fsync = FuseCallbacks::fsync;
    std::string name = "lull-disk";
    std::string max_read = "-omax_read=" + std::to_string(kMaxTransfer);
    std::array<char*, 2> words{name.data(), max_read.data()};
    fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(words.size()), words.data());
    file->session_ = ::fuse_session_new(&arguments, &operations, sizeof(operations), file.get());
    ::fuse_opt_free_args(&arguments);
    if (file->session_ == nullptr) {
        return Error{EINVAL, "libfuse refuses a session"};
    }
    // libfuse takes a descriptor that is mounted already under this name, and owns it from then on.
    const std::string mounted = "/dev/fd/" + std::to_string(device.get());
    if (::fuse_session_mount(file->session_, mounted.c_str()) != 0) {
        return Error{EINVAL, "libfuse refuses " + mounted};
    }
    static_cast<void>(device.release());
    return file;
}

FuseFile::~FuseFile() {
    if (session_ != nullptr) {
        ::fuse_session_destroy(session_);
    }
}

int FuseFile::device() const {
    return ::fuse_session_fd(session_);
}

Result<void> FuseFile::attach(const std::filesystem::path& path) {
    if (::move_mount(mount_.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
        return last_error("mounting over " + path.string());
    }
    // Else the mount would be busy with us for ever.
    mount_.reset();
    return {};
}

bool FuseFile::receive() {
    while (::fuse_session_exited(session_) == 0) {
        const auto got = ::read(device(), buffer_.data(), buffer_.size());
        if (got < 0) {
            // ENOENT: the call was interrupted before it was read. ENODEV: the last user is gone.
            if (errno == EINTR || errno == ENOENT) {
                continue;
            }
            return errno == EAGAIN;
        }
        fuse_buf message{};
        message.mem = buffer_.data();
        message.size = static_cast<std::size_t>(got);
        ::fuse_session_process_buf(session_, &message);
    }
    return false;
}

void FuseFile::answer_data(Call call, std::span<const std::byte> data) {
    ::fuse_reply_buf(call, reinterpret_cast<const char*>(data.data()), data.size());
}

void FuseFile::answer_written(Call call, std::size_t bytes) {
    ::fuse_reply_write(call, bytes);
}

void FuseFile::answer_error(Call call, int code) {
    ::fuse_reply_err(call, code);
}

}  // namespace lull::disk
