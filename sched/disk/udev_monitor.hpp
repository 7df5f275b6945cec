// SPDX-License-Identifier: MIT
// Tells when block devices come, change and go, in an event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <sys/types.h>

#include "base/result.hpp"
#include "sched/disk/block_device.hpp"

namespace lull::sched {

struct BlockEvent {
    enum class Kind : std::uint8_t {
        kAdded,
        kChanged,  ///< e.g. a medium, a loop device's file, the targets of a mapper device
        kRemoved,
        kLost,  ///< events were lost: look at all devices again. The rest is empty.
    };
    Kind kind = Kind::kChanged;
    dev_t number = 0;
    std::string name;  ///< as BlockDevice::name()
    bool partition = false;
};

class UdevMonitor {
  public:
    enum class Source : std::uint8_t {
        /// What udevd passes on when its rules are done: the node is there, the scheduler is set.
        kUdev,
        /// The kernel's own messages: where no udevd runs, and before it does.
        kKernel,
    };
    using Handler = std::function<void(const BlockEvent&)>;

    struct Options {
        std::optional<Source> source;  ///< default: kUdev where udevd runs
        /// Of the socket, bytes. A disk with many partitions that comes up makes tens of messages
        /// of a few hundred bytes. More than the system's limit takes root.
        int receive_buffer = 1 << 20;
        SystemRoots roots;  ///< of which `run` tells whether udevd runs
    };

    /// Listens from here on, so that what is read in sysfs afterwards misses nothing. Events wait
    /// in the socket until start().
    static Result<UdevMonitor> open(boost::asio::io_context& io, const Options& options);
    static Result<UdevMonitor> open(boost::asio::io_context& io) { return open(io, Options{}); }
    /// No call of the handler after that.
    ~UdevMonitor();
    UdevMonitor(const UdevMonitor&) = delete;
    UdevMonitor& operator=(const UdevMonitor&) = delete;
    UdevMonitor(UdevMonitor&&) noexcept;
    UdevMonitor& operator=(UdevMonitor&&) noexcept;

    [[nodiscard]] Source source() const;
    /// `handler` gets each event, in the loop. To be called once.
    void start(Handler handler);

  private:
    struct State;
    explicit UdevMonitor(std::shared_ptr<State> state);

    std::shared_ptr<State> state_;
};

[[nodiscard]] std::string_view to_string(UdevMonitor::Source source);

}  // namespace lull::sched
