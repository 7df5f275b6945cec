// SPDX-License-Identifier: MIT
// Buffered reads with completions. What is read goes nowhere: the page cache is what is wanted.
//
// Never readahead(2) or POSIX_FADV_WILLNEED: one such call stops at a limit of the device and does
// not tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sched/ioprio_target.hpp"

namespace lull::replayer {

using sched::io_class;
using sched::IoClass;
using sched::set_io_class;

struct ReadRequest {
    std::uint64_t id = 0;  ///< the caller's; handed back at completion
    int fd = -1;           ///< stays open until the completion
    std::uint64_t offset = 0;
    std::uint32_t length = 0;  ///< bytes, at most EngineOptions::longest
};

struct ReadDone {
    std::uint64_t id = 0;
    std::int32_t result = 0;  ///< bytes read, 0 at the end of the file, -errno
};

/// How many of the requests were taken, from the front; fewer than all only with an error.
struct Submitted {
    std::size_t taken = 0;
    std::optional<Error> error;
};

class Engine {
  public:
    virtual ~Engine() = default;

    /// Starts the reads, in this order. At most EngineOptions::depth may be under way.
    virtual Submitted submit(const std::vector<ReadRequest>& requests) = 0;
    /// What has completed since the last call; never waits.
    virtual std::vector<ReadDone> reap() = 0;
    /// An eventfd that is readable when something has completed. Read it before reap().
    [[nodiscard]] virtual int event_fd() const = 0;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// The class of the threads that read, as the kernel gives it back.
    [[nodiscard]] virtual Result<IoClass> read_class() const = 0;
};

enum class EngineKind : std::uint8_t {
    kAuto,    ///< io_uring, else threads
    kUring,   ///< io_uring or an error
    kThread,  ///< preadv(2) in threads
};

struct EngineOptions {
    EngineKind kind = EngineKind::kAuto;
    std::uint32_t depth = 32;            ///< reads under way at once; >= 1
    std::uint32_t longest = 512 * 1024;  ///< bytes of the longest read
    IoClass io_class = IoClass::kIdle;   ///< set in each thread that reads
};

/// Makes an engine and sets the class in the calling thread, which has to be the one that submits:
/// the kernel issues a buffered read of an io_uring in the class of the thread that submitted it.
/// ENOSYS, EPERM (io_uring off or filtered) and the like only with kUring.
Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options);

/// The two behind it.
Result<std::unique_ptr<Engine>> make_uring_engine(const EngineOptions& options);
Result<std::unique_ptr<Engine>> make_thread_engine(const EngineOptions& options);

}  // namespace lull::replayer
