// SPDX-License-Identifier: MIT
// The ring is used directly and not through Boost.Asio's files, because those let only one read of
// a file object be under way (the disk itself, with all the metadata, is one file), give no say
// over the size and flags of the ring, and have to be switched on for the whole program. Its
// completions arrive in the Asio loop through an eventfd all the same.
#include <utility>

#include <liburing.h>
#include <sys/eventfd.h>

#include "base/fd.hpp"
#include "replayer/engine.hpp"

namespace lull::replayer {
namespace {

class UringEngine final : public Engine {
  public:
    UringEngine(std::uint32_t longest, Result<IoClass> read_class)
        : scratch_(longest), class_(std::move(read_class)) {}
    ~UringEngine() override {
        if (ready_) {
            ::io_uring_queue_exit(&ring_);
        }
    }
    UringEngine(const UringEngine&) = delete;
    UringEngine& operator=(const UringEngine&) = delete;
    UringEngine(UringEngine&&) = delete;
    UringEngine& operator=(UringEngine&&) = delete;

    Result<void> start(std::uint32_t depth);

    Submitted submit(const std::vector<ReadRequest>& requests) override;
    std::vector<ReadDone> reap() override;
    [[nodiscard]] int event_fd() const override { return event_.get(); }
    [[nodiscard]] std::string_view name() const override { return "io_uring"; }
    [[nodiscard]] Result<IoClass> read_class() const override { return class_; }

  private:
    /// Every read lands in the same bytes: nobody looks at them, and so they stay in the CPU's
    /// cache.
    std::vector<char> scratch_;
    Result<IoClass> class_;
    Fd event_;
    io_uring ring_{};
    bool ready_ = false;
};

Result<void> UringEngine::start(std::uint32_t depth) {
    // Without SUBMIT_ALL one request that the kernel refuses would hold back those behind it.
    const int error = ::io_uring_queue_init(depth, &ring_, IORING_SETUP_SUBMIT_ALL);
    if (error != 0) {
        return Error{-error, "io_uring_setup"};
    }
    ready_ = true;
    event_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event_) {
        return last_error("eventfd");
    }
    const int registered = ::io_uring_register_eventfd(&ring_, event_.get());
    if (registered != 0) {
        return Error{-registered, "io_uring_register_eventfd"};
    }
    return {};
}

Submitted UringEngine::submit(const std::vector<ReadRequest>& requests) {
    std::size_t queued = 0;
    for (const ReadRequest& request : requests) {
        io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
        if (sqe == nullptr) {
            break;
        }
        ::io_uring_prep_read(sqe, request.fd, scratch_.data(), request.length, request.offset);
        ::io_uring_sqe_set_data64(sqe, request.id);
        ++queued;
    }
    while (::io_uring_sq_ready(&ring_) > 0) {
        const int submitted = ::io_uring_submit(&ring_);
        if (submitted < 0 && submitted != -EINTR) {
            return {queued - ::io_uring_sq_ready(&ring_), Error{-submitted, "io_uring_enter"}};
        }
    }
    if (queued < requests.size()) {
        return {queued, Error{EBUSY, "more reads than the ring holds"}};
    }
    return {queued, std::nullopt};
}

std::vector<ReadDone> UringEngine::reap() {
    std::vector<ReadDone> done;
    io_uring_cqe* cqe = nullptr;
    while (::io_uring_peek_cqe(&ring_, &cqe) == 0) {
        done.push_back({::io_uring_cqe_get_data64(cqe), cqe->res});
        ::io_uring_cqe_seen(&ring_, cqe);
    }
    return done;
}

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions& options) {
    auto engine = std::make_unique<UringEngine>(options.longest, set_io_class(options.io_class));
    if (auto started = engine->start(options.depth); !started) {
        return started.error();
    }
    return std::unique_ptr<Engine>(std::move(engine));
}

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
    if (options.kind != EngineKind::kThread) {
        auto ring = make_uring_engine(options);
        if (ring || options.kind == EngineKind::kUring) {
            return ring;
        }
    }
    return make_thread_engine(options);
}

}  // namespace lull::replayer
