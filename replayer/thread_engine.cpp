// SPDX-License-Identifier: MIT
// Where there is no io_uring: one thread for each read that may be under way.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/eventfd.h>
#include <sys/uio.h>

#include "base/fd.hpp"
#include "replayer/engine.hpp"

namespace lull::replayer {
namespace {

/// Each thread's scratch space; a read lands in it again and again.
constexpr std::size_t kScratchBytes = std::size_t{64} * 1024;
constexpr std::size_t kVectors = 64;

/// Reads and forgets up to `length` bytes; bytes read or -errno.
std::int32_t read_away(const ReadRequest& request, std::vector<char>& scratch) {
    std::uint32_t total = 0;
    while (total < request.length) {
        std::array<iovec, kVectors> vectors{};
        std::size_t used = 0;
        for (std::uint64_t asked = total; asked < request.length && used < kVectors; ++used) {
            vectors[used] = {scratch.data(),
                             std::min<std::uint64_t>(scratch.size(), request.length - asked)};
            asked += vectors[used].iov_len;
        }
        const ssize_t got = ::preadv(request.fd, vectors.data(), static_cast<int>(used),
                                     static_cast<off_t>(request.offset + total));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && total == 0) {
            return -errno;
        }
        if (got <= 0) {
            break;
        }
        total += static_cast<std::uint32_t>(got);
    }
    return static_cast<std::int32_t>(total);
}

class ThreadEngine final : public Engine {
  public:
    explicit ThreadEngine(Fd event) : event_(std::move(event)) {}
    ~ThreadEngine() override = default;
    ThreadEngine(const ThreadEngine&) = delete;
    ThreadEngine& operator=(const ThreadEngine&) = delete;
    ThreadEngine(ThreadEngine&&) = delete;
    ThreadEngine& operator=(ThreadEngine&&) = delete;

    void start(const EngineOptions& options);

    Submitted submit(const std::vector<ReadRequest>& requests) override;
    std::vector<ReadDone> reap() override;
    [[nodiscard]] int event_fd() const override { return event_.get(); }
    [[nodiscard]] std::string_view name() const override { return "threads"; }
    [[nodiscard]] Result<IoClass> read_class() const override { return class_; }

  private:
    void work(const std::stop_token& stop, IoClass wanted);
    void report_class(Result<IoClass> read_class);

    Fd event_;
    Result<IoClass> class_ = IoClass::kNone;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::condition_variable_any ready_;
    std::size_t classes_reported_ = 0;
    std::deque<ReadRequest> waiting_;
    std::vector<ReadDone> done_;
    std::vector<std::jthread> threads_;  ///< last: ends before what the threads use
};

void ThreadEngine::report_class(Result<IoClass> read_class) {
    const std::lock_guard lock(mutex_);
    // One thread that is not like the first decides what is reported.
    if (class_ && (!read_class || *read_class != *class_)) {
        class_ = std::move(read_class);
    }
    ++classes_reported_;
    ready_.notify_all();
}

void ThreadEngine::work(const std::stop_token& stop, IoClass wanted) {
    report_class(set_io_class(wanted));
    std::vector<char> scratch(kScratchBytes);
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
        const ReadRequest request = waiting_.front();
        waiting_.pop_front();
        lock.unlock();
        const std::int32_t result = read_away(request, scratch);
        lock.lock();
        done_.push_back({request.id, result});
        ::eventfd_write(event_.get(), 1);
    }
}

void ThreadEngine::start(const EngineOptions& options) {
    // The calling thread opens files, which reads metadata: that is ours as well.
    class_ = set_io_class(options.io_class);
    for (std::uint32_t i = 0; i < options.depth; ++i) {
        threads_.emplace_back(
            [this, wanted = options.io_class](const std::stop_token& stop) { work(stop, wanted); });
    }
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return classes_reported_ == threads_.size(); });
}

Submitted ThreadEngine::submit(const std::vector<ReadRequest>& requests) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), requests.begin(), requests.end());
    wake_.notify_all();
    return {requests.size(), std::nullopt};
}

std::vector<ReadDone> ThreadEngine::reap() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
}

}  // namespace

Result<std::unique_ptr<Engine>> make_thread_engine(const EngineOptions& options) {
    Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) {
        return last_error("eventfd");
    }
    auto engine = std::make_unique<ThreadEngine>(std::move(event));
    try {
        engine->start(options);
    } catch (const std::system_error& error) {
        return Error{error.code().value(), "start a thread that reads"};
    }
    return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace lull::replayer
