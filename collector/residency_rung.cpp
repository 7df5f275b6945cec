// SPDX-License-Identifier: MIT
#include "collector/residency_rung.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/mount_table.hpp"
#include "collector/open_watch.hpp"
#include "collector/proc_scan.hpp"
#include "collector/process_table.hpp"
#include "collector/resident_blocks.hpp"
#include "collector/seen_files.hpp"
#include "fs/residency.hpp"

namespace lull::collector {
namespace {

using boost::asio::posix::stream_descriptor;

std::uint64_t monotonic_ns() {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// ext2, ext3, ext4 keep their metadata in the page cache of the device. Only cachestat sees it
/// there: mincore leaves out pages that are not up to date as a whole, and reading a buffer makes
/// just the buffer so. Without cachestat the directories that are opened have to do.
bool metadata_on_device(const fs::Mount& mount) {
    return mount.fs_type.starts_with("ext") && fs::counts_cheaply();
}

KernelDevice device_of_mount(const fs::Mount& mount) {
    return kernel_device(mount.major, mount.minor);
}

/// All that is known while recording. Handlers that outlive it find it gone.
class Recorder : public std::enable_shared_from_this<Recorder> {
  public:
    Recorder(const ResidencyOptions& options, const Scope& scope)
        : options_(options),
          most_blocks_(scope.max_blocks),
          mounts_(options.mountinfo, scope.devices),
          processes_(options.proc_root, mounts_),
          files_(scope.max_blocks) {}

    Result<void> start(boost::asio::io_context& io);
    RawTrace finish();

  private:
    void take_new_mounts();
    void mark(const fs::Mount& mount);
    void scan_device(const fs::Mount& mount, std::vector<BlockMask>& blocks);
    void scan_open_files(bool at_start);
    void wait_for_opens();
    void wait_for_mounts();
    void on_open(OpenWatch::Event event);
    void on_held(std::uint32_t pid, int fd, bool at_start);
    void add_limit(std::string sentence);

    ResidencyOptions options_;
    std::uint32_t most_blocks_;
    MountTable mounts_;
    ProcessTable processes_;
    SeenFiles files_;
    std::optional<OpenWatch> watch_;
    std::optional<stream_descriptor> opens_;
    std::optional<stream_descriptor> mount_changes_;
    std::set<KernelDevice> known_;  ///< file systems that were marked, or could not be
    std::map<KernelDevice, std::vector<BlockMask>> metadata_before_;
    std::uint64_t started_ns_ = 0;
    std::uint64_t unmarked_ = 0;
    std::vector<std::string> limits_;
};

void Recorder::add_limit(std::string sentence) {
    if (std::find(limits_.begin(), limits_.end(), sentence) == limits_.end()) {
        limits_.push_back(std::move(sentence));
    }
}

Result<void> Recorder::start(boost::asio::io_context& io) {
    if (auto mounts = mounts_.refresh(); !mounts) {
        return mounts;
    }
    started_ns_ = monotonic_ns();
    if (auto watch = OpenWatch::create(options_.unlimited_queue)) {
        watch_ = *std::move(watch);
    } else {
        ++unmarked_;
        add_limit(
            fmt::format("Files that were opened and closed between two looks at /proc are "
                        "missing, since opens could not be watched ({}).",
                        watch.error().message()));
    }
    take_new_mounts();
    scan_open_files(true);
    processes_.all_are_old();
    if (watch_) {
        // Its own descriptor for the loop, which closes what it is given.
        opens_.emplace(io, ::fcntl(watch_->fd(), F_DUPFD_CLOEXEC, 0));
        wait_for_opens();
    }
    const Fd table(::open(options_.mountinfo.c_str(), O_RDONLY | O_CLOEXEC));
    struct statfs kind {};
    // Only the kernel's own table tells of its changes.
    if (table && ::fstatfs(table.get(), &kind) == 0 && kind.f_type == PROC_SUPER_MAGIC) {
        mount_changes_.emplace(io, ::fcntl(table.get(), F_DUPFD_CLOEXEC, 0));
        wait_for_mounts();
    }
    return {};
}

void Recorder::take_new_mounts() {
    for (const fs::Mount* mount : mounts_.recorded()) {
        const KernelDevice device = device_of_mount(*mount);
        if (!known_.insert(device).second) {
            continue;
        }
        if (watch_) {
            mark(*mount);
        }
        if (metadata_on_device(*mount)) {
            scan_device(*mount, metadata_before_[device]);
        }
    }
    const auto& all = mounts_.mounts();
    if (std::any_of(all.begin(), all.end(),
                    [](const fs::Mount& mount) { return mount.fs_type == "overlay"; })) {
        add_limit("Opens through an overlay file system are not told for the files below it.");
    }
}

void Recorder::mark(const fs::Mount& mount) {
    const auto marked = watch_->mark(mounts_.mounts(), mount, !metadata_on_device(mount));
    if (!marked) {
        ++unmarked_;
        add_limit(fmt::format("Opens on {} could not be watched ({}).", mount.mount_point,
                              marked.error().message()));
    } else if (*marked == OpenWatch::Marked::kMounts) {
        add_limit(fmt::format("On {} only opens through the mounts that were there are told.",
                              mount.mount_point));
    }
}

void Recorder::scan_device(const fs::Mount& mount, std::vector<BlockMask>& blocks) {
    const std::string node = fs::device_node(mount);
    const Fd device(::open(node.c_str(), O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC));
    struct stat facts {};
    std::uint64_t size = 0;
    if (!device || ::fstat(device.get(), &facts) != 0 || !S_ISBLK(facts.st_mode) ||
        facts.st_rdev != ::makedev(mount.major, mount.minor) ||
        ::ioctl(device.get(), BLKGETSIZE64, &size) != 0) {
        add_limit("Metadata of " + mount.mount_point + " is missing: no way to its device.");
        return;
    }
    if (auto found = resident_blocks(device.get(), size / db::kPageSize)) {
        blocks = *std::move(found);
    }
}

void Recorder::scan_open_files(bool at_start) {
    scan_processes(
        options_.proc_root,
        [this](std::uint32_t major, std::uint32_t minor) {
            return known_.contains(kernel_device(major, minor));
        },
        [this, at_start](std::uint32_t pid, int fd) { on_held(pid, fd, at_start); });
}

void Recorder::wait_for_opens() {
    opens_->async_wait(stream_descriptor::wait_read,
                       [weak = weak_from_this()](const boost::system::error_code& failed) {
                           const auto self = weak.lock();
                           if (failed || !self || !self->opens_) {
                               return;
                           }
                           // In turns, so that a storm of opens does not keep out the rest.
                           constexpr int kReadsPerTurn = 32;
                           for (int i = 0; i < kReadsPerTurn; ++i) {
                               if (!self->watch_->read([&](OpenWatch::Event event) {
                                       self->on_open(std::move(event));
                                   })) {
                                   break;
                               }
                           }
                           self->wait_for_opens();
                       });
}

void Recorder::wait_for_mounts() {
    mount_changes_->async_wait(stream_descriptor::wait_error,
                               [weak = weak_from_this()](const boost::system::error_code& failed) {
                                   const auto self = weak.lock();
                                   if (failed || !self || !self->mount_changes_) {
                                       return;
                                   }
                                   if (self->mounts_.refresh()) {
                                       self->take_new_mounts();
                                   }
                                   self->wait_for_mounts();
                               });
}

void Recorder::on_open(OpenWatch::Event event) {
    struct statx facts {};
    if (event.pid == static_cast<std::uint32_t>(::getpid()) ||
        ::statx(event.file.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &facts) !=
            0 ||
        (!S_ISREG(facts.stx_mode) && !S_ISDIR(facts.stx_mode))) {
        return;
    }
    const auto device = mounts_.device_of(facts);
    SeenFile* file = device ? files_.find(*device, facts.stx_ino) : nullptr;
    if (!device || (file != nullptr && file->opened)) {
        return;
    }
    const std::uint64_t now = monotonic_ns();
    const ProcessTable::Who who = processes_.identify(event.pid, now);
    // A child of ours that is about to become another program is ours up to that moment.
    if (who.own && !event.executed) {
        return;
    }
    if (file == nullptr) {
        file = files_.add(*device, facts, event.file.get(), mounts_);
    }
    if (file != nullptr) {
        file->opened = true;
        file->first_use_ns = now;
        file->user = user_of(who.pid, who.own ? who.exec_id + 1 : who.exec_id);
    }
}

void Recorder::on_held(std::uint32_t pid, int fd, bool at_start) {
    struct statx facts {};
    if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &facts) != 0) {
        return;
    }
    const auto device = mounts_.device_of(facts);
    SeenFile* file = device ? files_.find(*device, facts.stx_ino) : nullptr;
    if (!device || (file != nullptr && (file->opened || at_start))) {
        return;
    }
    const std::uint64_t now = at_start ? started_ns_ : monotonic_ns();
    const ProcessTable::Who who = processes_.identify(pid, now);
    // A program that was there before may have had the file open all the time.
    if (who.own || (file != nullptr && who.old)) {
        return;
    }
    if (file == nullptr) {
        file = files_.add(*device, facts, fd, mounts_);
    }
    if (file != nullptr) {
        file->opened = !at_start;
        file->first_use_ns = now;
        file->user = user_of(who.pid, who.exec_id);
    }
}

RawTrace Recorder::finish() {
    mount_changes_.reset();
    opens_.reset();
    if (watch_) {
        watch_->unmark();
        while (watch_->read([this](OpenWatch::Event event) { on_open(std::move(event)); })) {
        }
    } else {
        scan_open_files(false);
    }
    (void)mounts_.refresh();  // the old table is better than none

    RawTrace trace;
    trace.rung = "residency";
    files_.harvest(mounts_, most_blocks_, trace);
    for (const auto& [device, before] : metadata_before_) {
        std::vector<BlockMask> now;
        if (const fs::Mount* mount = mounts_.best(device)) {
            scan_device(*mount, now);
        }
        harvest_device(device, before, now, started_ns_, most_blocks_, trace);
    }
    trace.processes = processes_.take();
    trace.losses.opens = watch_ ? watch_->losses() : 0;
    trace.losses.names = files_.losses();
    trace.losses.probes = unmarked_;
    trace.limits = {
        "A page counts as read if its file was opened and it is in memory at the end: the kernel's "
        "readahead, lull's own reads, and what was in memory before the file was opened cannot be "
        "told from use.",
        "Pages that were put out of memory before the end are missing, and so are those of deleted "
        "files.",
        "All pages of a file have the time and the process of its first open.",
        "Metadata that was in memory at the start is missing, and so are look-ups that open "
        "nothing.",
    };
    trace.limits.insert(trace.limits.end(), limits_.begin(), limits_.end());
    return trace;
}

class ResidencyRung : public Rung {
  public:
    explicit ResidencyRung(ResidencyOptions options) : options_(std::move(options)) {}

    [[nodiscard]] std::string name() const override { return "residency"; }
    Result<void> start(const Scope& scope, boost::asio::io_context& io) override {
        auto recorder = std::make_shared<Recorder>(options_, scope);
        if (auto started = recorder->start(io); !started) {
            return started;
        }
        recorder_ = std::move(recorder);
        return {};
    }
    Result<RawTrace> finish() override {
        const auto recorder = std::exchange(recorder_, nullptr);
        return recorder->finish();
    }

  private:
    ResidencyOptions options_;
    std::shared_ptr<Recorder> recorder_;
};

}  // namespace

std::unique_ptr<Rung> make_residency_rung() {
    return make_residency_rung(ResidencyOptions());
}

std::unique_ptr<Rung> make_residency_rung(const ResidencyOptions& options) {
    return std::make_unique<ResidencyRung>(options);
}

}  // namespace lull::collector
