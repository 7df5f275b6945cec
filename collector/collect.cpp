// SPDX-License-Identifier: MIT
#include "collector/collect.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <sys/utsname.h>
#include <time.h>

#include "collector/assemble.hpp"
#include "collector/child.hpp"
#include "collector/rung.hpp"
#include "db/database.hpp"
#include "fs/mounts.hpp"
#include "sched/ioprio_target.hpp"

namespace lull::collector {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitNothingRecorded = 2;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
/// Kept of a command line, which may be megabytes: enough for a person to know it again.
constexpr std::size_t kMostCommandBytes = 4096;

std::int64_t now_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

db::Boot describe_run(const std::vector<std::string>& command) {
    db::Boot boot;
    utsname system{};
    ::uname(&system);
    boot.kernel = system.release;
    boot.machine = system.machine;
    boot.boot_id = first_line("/proc/sys/kernel/random/boot_id");
    boot.kernel_cmdline = first_line("/proc/cmdline");
    boot.command = fmt::format("{}", fmt::join(command, " "));
    boot.command.resize(std::min(boot.command.size(), kMostCommandBytes));
    boot.started_ns = now_ns(CLOCK_REALTIME);
    return boot;
}

/// The mount on which `path` lies.
Result<const fs::Mount*> mount_of(const std::vector<fs::Mount>& mounts, const std::string& path) {
    std::error_code code;
    const std::string real = std::filesystem::canonical(path, code).string();
    if (code) {
        return Error{code.value(), path};
    }
    if (const fs::Mount* mount = fs::mount_of(mounts, real)) {
        return mount;
    }
    return Error{ENODEV, path + " is on no mounted file system"};
}

Result<Scope> scope_of(const CollectOptions& options, const std::vector<fs::Mount>& mounts) {
    Scope scope;
    scope.max_blocks = options.max_blocks;
    for (const std::string& path : options.mounts) {
        const auto mount = mount_of(mounts, path);
        if (!mount) {
            return mount.error();
        }
        scope.devices.push_back(kernel_device((*mount)->major, (*mount)->minor));
    }
    return scope;
}

/// One recording: the rung, the command and what ends it, in one event loop.
class Recording {
  public:
    Recording(const CollectOptions& options, std::ostream& err)
        : options_(options),
          err_(err),
          signals_(io_, SIGINT, SIGTERM),
          ended_(io_, SIGCHLD),
          time_over_(io_) {}

    /// Starts the best rung that works.
    Result<void> start_rung(const Scope& scope);
    /// Runs until the end of the recording.
    Result<void> run();
    Result<RawTrace> finish() { return rung_->finish(); }
    [[nodiscard]] std::optional<int> exit_status() const {
        return child_ ? child_->exit_status() : std::nullopt;
    }

  private:
    void wait_for_signals();
    void wait_for_children();
    void stop();

    const CollectOptions& options_;
    std::ostream& err_;
    boost::asio::io_context io_;
    boost::asio::signal_set signals_;
    boost::asio::signal_set ended_;
    boost::asio::steady_timer time_over_;
    std::unique_ptr<Rung> rung_;
    std::optional<Child> child_;
};

Result<void> Recording::start_rung(const Scope& scope) {
    const auto& ladder = rung_names();
    const std::vector<std::string> wanted =
        options_.rung.empty() ? ladder : std::vector<std::string>{options_.rung};
    Error last{EINVAL, "no rung"};
    for (const std::string& name : wanted) {
        auto rung = make_rung(name);
        auto started = rung->start(scope, io_);
        if (started) {
            rung_ = std::move(rung);
            err_ << fmt::format("lull: recording by rung {}\n", name);
            return {};
        }
        last = started.error().in("rung " + name);
        if (options_.rung.empty()) {
            err_ << fmt::format("lull: {}; trying the next rung\n", last.message());
        }
    }
    return last;
}

void Recording::stop() {
    io_.stop();
}

void Recording::wait_for_signals() {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
        if (error) {
            return;
        }
        // A terminal sends its SIGINT to the command as well.
        if (child_ && number == SIGTERM) {
            child_->signal(number);
        }
        stop();
    });
}

void Recording::wait_for_children() {
    ended_.async_wait([this](const boost::system::error_code& error, int /*number*/) {
        if (error) {
            return;
        }
        if (child_->reap()) {
            stop();
        } else {
            wait_for_children();
        }
    });
}

Result<void> Recording::run() {
    wait_for_signals();
    if (!options_.command.empty()) {
        auto child = Child::start(options_.command);
        if (!child) {
            return child.error();
        }
        child_ = *std::move(child);
        if (child_->reap()) {
            return {};
        }
        wait_for_children();
    }
    if (options_.duration) {
        time_over_.expires_after(*options_.duration);
        time_over_.async_wait([this](const boost::system::error_code& error) {
            if (!error) {
                stop();
            }
        });
    }
    io_.run();
    return {};
}

void tell(const db::Trace& trace, const std::string& database, std::ostream& err) {
    std::uint64_t pages = 0;
    for (const db::Read& read : trace.reads) {
        pages += read.pages;
    }
    constexpr double kMegabyte = 1e6;
    err << fmt::format(
        "lull: {} ranges of {} files, {:.1f} MB, by {} programs in {:.2f} s -> {}\n",
        trace.reads.size(), trace.files.size(),
        static_cast<double>(pages * db::kPageSize) / kMegabyte, trace.processes.size(),
        static_cast<double>(trace.boot.duration_ns) / static_cast<double>(kNanosecondsPerSecond),
        database);
    for (const std::string& limit : trace.boot.limits) {
        err << fmt::format("lull: note: {}\n", limit);
    }
    const db::Losses& losses = trace.boot.losses;
    if (losses.any()) {
        err << fmt::format(
            "lull: the trace is incomplete: lost {} blocks, {} names, {} processes, {} opens, {} "
            "probes\n",
            losses.blocks, losses.names, losses.processes, losses.opens, losses.probes);
    }
}

int failed(std::ostream& err, const Error& error, int status) {
    err << fmt::format("lull: {}\n", error.message());
    return status;
}

}  // namespace

const std::vector<std::string>& rung_names() {
    static const std::vector<std::string> kNames{"events", "fentry", "add", "residency"};
    return kNames;
}

int collect(const CollectOptions& options, std::ostream& err) {
    const auto mounts = fs::read_mounts();
    if (!mounts) {
        return failed(err, mounts.error(), kExitNothingRecorded);
    }
    const auto scope = scope_of(options, *mounts);
    if (!scope) {
        return failed(err, scope.error(), kExitNothingRecorded);
    }
    Recording recording(options, err);
    if (auto started = recording.start_rung(*scope); !started) {
        return failed(err, started.error(), kExitNothingRecorded);
    }
    db::Boot boot = describe_run(options.command);
    const auto start_ns = static_cast<std::uint64_t>(now_ns(CLOCK_MONOTONIC));
    if (auto run = recording.run(); !run) {
        return failed(err, run.error(), kExitNothingRecorded);
    }
    boot.duration_ns = static_cast<std::uint64_t>(now_ns(CLOCK_MONOTONIC)) - start_ns;
    auto raw = recording.finish();
    if (!raw) {
        return failed(err, raw.error(), kExitNothingRecorded);
    }
    // What follows looks at every recorded file and writes: others go first.
    if (auto idle = sched::set_io_class(sched::IoClass::kIdle); !idle) {
        err << fmt::format("lull: {}; writing in the normal class\n", idle.error().message());
    }
    // Mounts as they are now: a boot mounts most of its file systems while it is recorded.
    const auto mounts_now = fs::read_mounts();
    const db::Trace trace =
        assemble(*std::move(raw), mounts_now ? *mounts_now : *mounts, std::move(boot), start_ns);
    std::string warning;
    const auto stored = db::store(options.database, trace, options.keep_boots, &warning);
    if (!warning.empty()) {
        err << fmt::format("lull: {}\n", warning);
    }
    if (!stored) {
        return failed(err, stored.error(), kExitFailed);
    }
    tell(trace, options.database, err);
    return recording.exit_status().value_or(0);
}

}  // namespace lull::collector
