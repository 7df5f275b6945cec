// SPDX-License-Identifier: MIT
// One regular file served through FUSE. The mount that carries it has the file as its root and no
// place in any directory tree: who holds its descriptor opens the file, and when the last user and
// the server are gone nothing remains to be cleaned up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

struct fuse_req;
struct fuse_session;

namespace lull::disk {

class FuseFile {
  public:
    using Call = fuse_req*;  ///< one call of the kernel, to be answered exactly once

    /// Gets the calls; answers them whenever it likes.
    class Handler {
      public:
        virtual ~Handler() = default;
        /// `bytes` from `offset` on, cut to the size of the file; never 0.
        virtual void on_read(Call call, std::uint64_t offset, std::size_t bytes) = 0;
        /// `data` is gone when the call returns. Lies inside the file; never empty.
        virtual void on_write(Call call, std::uint64_t offset, std::span<const std::byte> data) = 0;
        /// To read as zeros from now on. Lies inside the file; never empty.
        virtual void on_zero(Call call, std::uint64_t offset, std::uint64_t bytes) = 0;
        virtual void on_sync(Call call) = 0;
    };

    /// Needs CAP_SYS_ADMIN and Linux 5.2 (fsopen).
    static Result<std::unique_ptr<FuseFile>> make(std::uint64_t bytes, Handler& handler);
    /// Aborts the connection: calls that are not answered fail with ECONNABORTED.
    ~FuseFile();
    FuseFile(const FuseFile&) = delete;
    FuseFile& operator=(const FuseFile&) = delete;
    FuseFile(FuseFile&&) = delete;
    FuseFile& operator=(FuseFile&&) = delete;

    /// Readable when receive() has something to do.
    [[nodiscard]] int device() const;
    /// O_PATH descriptor of the file. It opens through /proc/self/fd/N, in any process it is sent
    /// to, once the server is receiving.
    [[nodiscard]] int mount() const { return mount_.get(); }
    /// Shows the file in place of the file at `path`; mount() is -1 from then on.
    Result<void> attach(const std::filesystem::path& path);

    /// Hands every waiting call to the handler. False when the file has no user left.
    [[nodiscard]] bool receive();

    static void answer_data(Call call, std::span<const std::byte> data);
    static void answer_written(Call call, std::size_t bytes);
    static void answer_error(Call call, int code);  ///< 0: done

  private:
    friend struct FuseCallbacks;
    FuseFile(std::uint64_t bytes, Handler& handler) : bytes_(bytes), handler_(handler) {}

    std::uint64_t bytes_;
    Handler& handler_;
    Fd mount_;
    fuse_session* session_ = nullptr;
    std::vector<std::byte> buffer_;
};

}  // namespace lull::disk
