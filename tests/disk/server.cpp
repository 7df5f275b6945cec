// SPDX-License-Identifier: MIT
#include "tests/disk/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace lull::disk {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
// Above every ordinary task, below the kernel's own real-time threads.
constexpr int kPriority = 10;

Nanoseconds now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

Server::Server(Image image, std::unique_ptr<Model> model, StatusPage page, Fd poller)
    : image_(std::move(image)),
      drive_(std::move(model)),
      page_(std::move(page)),
      poller_(std::move(poller)) {}

Result<std::unique_ptr<Server>> Server::make(Image image, std::unique_ptr<Model> model) {
    auto page = StatusPage::create();
    if (!page) {
        return page.error();
    }
    Fd poller(::epoll_create1(EPOLL_CLOEXEC));
    if (!poller) {
        return last_error("epoll_create1");
    }
    std::unique_ptr<Server> server(new Server(  // NOLINT: private constructor
        std::move(image), std::move(model), *std::move(page), std::move(poller)));
    auto file = FuseFile::make(server->image_.bytes(), *server);
    if (!file) {
        return file.error();
    }
    server->file_ = *std::move(file);
    auto watched = server->watch(server->file_->device(), [self = server.get()] {
        if (!self->file_->receive()) {
            self->stop();
        }
    });
    if (!watched) {
        return watched.error();
    }
    return server;
}

Result<void> Server::watch(int fd, std::function<void()> ready) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = watchers_.size();
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        return last_error("epoll_ctl");
    }
    watchers_.push_back(std::move(ready));
    return {};
}

Result<void> Server::run() {
    publish();
    while (running_) {
        if (auto waited = wait(); !waited) {
            return waited;
        }
    }
    return {};
}

Result<void> Server::wait() {
    timespec timeout{};
    const auto next = drive_.next_completion();
    if (next) {
        const auto left = std::max<Nanoseconds>(*next - now(), 0);
        timeout = {left / kSecond, left % kSecond};
    }
    std::array<epoll_event, 8> events{};
    const int ready = ::epoll_pwait2(poller_.get(), events.data(), static_cast<int>(events.size()),
                                     next ? &timeout : nullptr, nullptr);
    if (ready < 0 && errno != EINTR) {
        return last_error("epoll_pwait2");
    }
    finish(drive_.advance(now()));
    for (int index = 0; index < ready && running_; ++index) {
        watchers_[events[static_cast<std::size_t>(index)].data.u64]();
    }
    return {};
}

void Server::finish(const std::vector<Completion>& done) {
    if (done.empty()) {
        return;
    }
    // Before the answers: who gets one finds it counted.
    publish();
    for (const auto& completion : done) {
        answer(slots_[completion.id]);
        free_slots_.push_back(completion.id);
        drive_.add_lateness(now() - completion.at);
    }
}

void Server::answer(Pending& pending) {
    if (file_ == nullptr) {
        return;
    }
    switch (pending.answer) {
        case Answer::kData:
            FuseFile::answer_data(pending.call, {pending.data.get(), pending.bytes});
            break;
        case Answer::kWritten:
            FuseFile::answer_written(pending.call, pending.bytes);
            break;
        case Answer::kDone:
            FuseFile::answer_error(pending.call, 0);
            break;
    }
}

std::size_t Server::take_slot() {
    if (free_slots_.empty()) {
        slots_.emplace_back();
        return slots_.size() - 1;
    }
    const auto slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
}

void Server::enter(std::size_t slot, Operation operation, std::uint64_t offset,
                   std::uint64_t bytes) {
    Request request;
    request.id = slot;
    request.operation = operation;
    request.sector = offset / kSectorSize;
    const auto end = (offset + bytes + kSectorSize - 1) / kSectorSize;
    request.sectors = static_cast<std::uint32_t>(end - request.sector);
    if (!drive_.submit(request, now())) {
        answer(slots_[slot]);
        free_slots_.push_back(slot);
    }
    publish();
}

void Server::enter_dataless(FuseFile::Call call, Answer answer, Operation operation,
                            std::uint64_t offset, std::uint64_t bytes) {
    const auto slot = take_slot();
    auto& pending = slots_[slot];
    pending.call = call;
    pending.answer = answer;
    pending.bytes = bytes;
    enter(slot, operation, offset, bytes);
}

void Server::on_read(FuseFile::Call call, std::uint64_t offset, std::size_t bytes) {
    const auto slot = take_slot();
    auto& pending = slots_[slot];
    if (pending.capacity < bytes) {
        pending.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
        pending.capacity = bytes;
    }
    if (auto got = image_.read({pending.data.get(), bytes}, offset); !got) {
        FuseFile::answer_error(call, got.error().code);
        free_slots_.push_back(slot);
        return;
    }
    pending.call = call;
    pending.answer = Answer::kData;
    pending.bytes = bytes;
    enter(slot, Operation::kRead, offset, bytes);
}

void Server::on_write(FuseFile::Call call, std::uint64_t offset, std::span<const std::byte> data) {
    if (auto put = image_.write(data, offset); !put) {
        FuseFile::answer_error(call, put.error().code);
        return;
    }
    enter_dataless(call, Answer::kWritten, Operation::kWrite, offset, data.size());
}

// A real disk writes zeros when it is told to make zeros; it has no faster way.
void Server::on_zero(FuseFile::Call call, std::uint64_t offset, std::uint64_t bytes) {
    if (auto made = image_.zero(offset, bytes); !made) {
        FuseFile::answer_error(call, made.error().code);
        return;
    }
    enter_dataless(call, Answer::kDone, Operation::kWrite, offset, bytes);
}

// The data is safe from a crash of any process once it is written to the image, and the image need
// not outlive the machine: a flush costs its time and nothing else.
void Server::on_sync(FuseFile::Call call) {
    enter_dataless(call, Answer::kDone, Operation::kFlush, 0, 0);
}

void Server::set_timing(bool on) {
    drive_.set_timing(on);
    publish();
}

void Server::set_model(std::unique_ptr<Model> model) {
    finish(drive_.replace(std::move(model)));
    publish();
}

std::vector<Error> become_punctual() {
    std::vector<Error> missing;
    const auto expect = [&missing](int result, const char* what) {
        if (result != 0) {
            missing.push_back(last_error(what));
        }
    };
    sched_param priority{};
    priority.sched_priority = kPriority;
    expect(::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority),
           "real-time priority");
    expect(::mlockall(MCL_CURRENT | MCL_FUTURE), "locked memory");
    expect(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL), "timers without slack");
    expect(::prctl(PR_SET_IO_FLUSHER, 1UL, 0UL, 0UL, 0UL), "memory reclaim without own disk");
    return missing;
}

}  // namespace lull::disk
