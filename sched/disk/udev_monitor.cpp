// SPDX-License-Identifier: MIT
#include "sched/disk/udev_monitor.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <libudev.h>

#include "base/fd.hpp"

namespace lull::sched {
namespace {

using boost::asio::posix::stream_descriptor;

struct Release {
    void operator()(udev* context) const { udev_unref(context); }
    void operator()(udev_monitor* monitor) const { udev_monitor_unref(monitor); }
    void operator()(udev_device* device) const { udev_device_unref(device); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release>;

std::string_view text_or_empty(const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text);
}

BlockEvent event_of(udev_device& device) {
    BlockEvent event;
    event.number = udev_device_get_devnum(&device);
    event.name = text_or_empty(udev_device_get_sysname(&device));
    std::replace(event.name.begin(), event.name.end(), '!', '/');
    event.partition = text_or_empty(udev_device_get_devtype(&device)) == "partition";
    const auto action = text_or_empty(udev_device_get_action(&device));
    if (action == "add" || action == "online") {
        event.kind = BlockEvent::Kind::kAdded;
    } else if (action == "remove" || action == "offline") {
        event.kind = BlockEvent::Kind::kRemoved;
    }
    return event;
}

/// As libudev itself finds out: the socket on which udevd takes orders.
UdevMonitor::Source present_source(const SystemRoots& roots) {
    std::error_code ignored;
    return std::filesystem::exists(roots.run / "udev/control", ignored)
               ? UdevMonitor::Source::kUdev
               : UdevMonitor::Source::kKernel;
}

Error failed(const char* step) {
    auto error = last_error(std::string("device events: ") + step);
    return error.code == 0 ? Error{EIO, std::move(error.what)} : error;
}

}  // namespace

// Shared with the handler that waits in the loop: it keeps the state alive while it runs, and finds
// `closed` when the monitor is gone.
struct UdevMonitor::State {
    State(boost::asio::io_context& io, Source from, Owned<udev_monitor> opened, Fd fd)
        : monitor(std::move(opened)), source(from), readable(io, fd.release()) {}

    static void wait(const std::shared_ptr<State>& state) {
        state->readable.async_wait(
            stream_descriptor::wait_read,
            [weak = std::weak_ptr(state)](const boost::system::error_code& code) {
                const auto self = weak.lock();
                if (self && !code && self->receive()) {
                    wait(self);
                }
            });
    }

    /// All that is there. False once the handler has done away with the monitor.
    bool receive() {
        while (!closed) {
            errno = 0;
            const Owned<udev_device> device(udev_monitor_receive_device(monitor.get()));
            if (device) {
                handler(event_of(*device));
            } else if (errno == ENOBUFS) {
                handler({BlockEvent::Kind::kLost, 0, {}, false});
            } else {
                return true;  // no more, or a message that is not from the kernel or udevd
            }
        }
        return false;
    }

    Owned<udev_monitor> monitor;
    Source source;
    stream_descriptor readable;
    Handler handler;
    bool closed = false;
};

UdevMonitor::UdevMonitor(std::shared_ptr<State> state) : state_(std::move(state)) {}
UdevMonitor::UdevMonitor(UdevMonitor&&) noexcept = default;

UdevMonitor& UdevMonitor::operator=(UdevMonitor&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

UdevMonitor::~UdevMonitor() {
    if (state_) {
        state_->closed = true;
    }
}

Result<UdevMonitor> UdevMonitor::open(boost::asio::io_context& io, const Options& options) {
    const Source source = options.source.value_or(present_source(options.roots));
    const Owned<udev> context(udev_new());
    if (!context) {
        return failed("no context");
    }
    Owned<udev_monitor> monitor(
        udev_monitor_new_from_netlink(context.get(), source == Source::kUdev ? "udev" : "kernel"));
    if (!monitor) {
        return failed("no socket");
    }
    // libudev gives errors as negative errno values, and keeps the system's limit without root.
    int code = udev_monitor_filter_add_match_subsystem_devtype(monitor.get(), "block", nullptr);
    static_cast<void>(udev_monitor_set_receive_buffer_size(monitor.get(), options.receive_buffer));
    if (code >= 0) {
        code = udev_monitor_enable_receiving(monitor.get());
    }
    if (code < 0) {
        return Error{-code, "device events: listening"};
    }
    // The loop closes its descriptor, libudev its own.
    Fd fd(::fcntl(udev_monitor_get_fd(monitor.get()), F_DUPFD_CLOEXEC, 0));
    if (!fd) {
        return failed("no descriptor");
    }
    return UdevMonitor(std::make_shared<State>(io, source, std::move(monitor), std::move(fd)));
}

UdevMonitor::Source UdevMonitor::source() const {
    return state_->source;
}

void UdevMonitor::start(Handler handler) {
    state_->handler = std::move(handler);
    State::wait(state_);
}

std::string_view to_string(UdevMonitor::Source source) {
    return source == UdevMonitor::Source::kUdev ? "udev" : "kernel";
}

}  // namespace lull::sched
