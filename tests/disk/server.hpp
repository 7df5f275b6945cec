// SPDX-License-Identifier: MIT
// Serves one image file through FUSE with the timing of a model, in real time. One thread, one
// event loop: a request is given to the model when it comes in, its data is moved at once, and it
// is answered when the model says that it is done. Any number may be inside.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "tests/disk/drive.hpp"
#include "tests/disk/fuse_file.hpp"
#include "tests/disk/image.hpp"
#include "tests/disk/model.hpp"
#include "tests/disk/status.hpp"

namespace lull::disk {

class Server : private FuseFile::Handler {
  public:
    static Result<std::unique_ptr<Server>> make(Image image, std::unique_ptr<Model> model);

    /// Calls `ready` from within run() whenever `fd` is readable. The caller keeps it open.
    Result<void> watch(int fd, std::function<void()> ready);
    /// Serves until stop() is called or the file has no user and no mount left.
    Result<void> run();
    void stop() { running_ = false; }
    /// Takes the disk away from its users: whatever is inside or comes later fails. Whoever waits
    /// for this process is freed by that, so it comes before everything that could block.
    void abort() { file_.reset(); }

    void set_timing(bool on);
    void set_model(std::unique_ptr<Model> model);

    [[nodiscard]] FuseFile& file() { return *file_; }
    [[nodiscard]] const StatusPage& status_page() const { return page_; }
    [[nodiscard]] std::uint64_t sectors() const { return image_.bytes() / kSectorSize; }

  private:
    enum class Answer : std::uint8_t { kData, kWritten, kDone };
    struct Pending {
        FuseFile::Call call = nullptr;
        Answer answer = Answer::kDone;
        std::size_t bytes = 0;
        std::size_t capacity = 0;
        std::unique_ptr<std::byte[]> data;  // stays for the next request of this slot
    };

    Server(Image image, std::unique_ptr<Model> model, StatusPage page, Fd poller);

    void on_read(FuseFile::Call call, std::uint64_t offset, std::size_t bytes) override;
    void on_write(FuseFile::Call call, std::uint64_t offset,
                  std::span<const std::byte> data) override;
    void on_zero(FuseFile::Call call, std::uint64_t offset, std::uint64_t bytes) override;
    void on_sync(FuseFile::Call call) override;

    std::size_t take_slot();
    void enter(std::size_t slot, Operation operation, std::uint64_t offset, std::uint64_t bytes);
    void enter_dataless(FuseFile::Call call, Answer answer, Operation operation,
                        std::uint64_t offset, std::uint64_t bytes);
    void answer(Pending& pending);
    void finish(const std::vector<Completion>& done);
    void publish() { page_.publish(drive_.status()); }
    Result<void> wait();

    Image image_;
    Drive drive_;
    StatusPage page_;
    Fd poller_;
    std::unique_ptr<FuseFile> file_;
    std::vector<std::function<void()>> watchers_;
    std::vector<Pending> slots_;
    std::vector<std::size_t> free_slots_;
    bool running_ = true;
};

/// Lets this thread keep its times on a busy machine: real-time priority, all memory locked, timers
/// without slack; and keeps memory reclaim from waiting for the disk that this process serves.
/// Returns what could not be had, for a warning.
[[nodiscard]] std::vector<Error> become_punctual();

}  // namespace lull::disk
