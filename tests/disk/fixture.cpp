// SPDX-License-Identifier: MIT
#include "tests/disk/fixture.hpp"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include <sys/mount.h>
#include <unistd.h>

#include "tests/disk/image.hpp"
#include "tests/disk/loop.hpp"
#include "tests/disk/mount.hpp"
#include "tests/disk/private_namespace.hpp"
#include "tests/disk/server_process.hpp"

namespace lull::disk {
namespace {

struct FileSystemKind {
    const char* type;
    const char* program;
    std::vector<std::string> arguments;
};

FileSystemKind kind_of(FileSystem file_system) {
    switch (file_system) {
        case FileSystem::kExt4:
            // Nothing may be left for the kernel to initialize later: it would read and write the
            // disk in the middle of a measurement.
            return {"ext4",
                    "mkfs.ext4",
                    {"-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}};
        case FileSystem::kXfs:
            return {"xfs", "mkfs.xfs", {"-q", "-f", "-K"}};
        case FileSystem::kBtrfs:
            return {"btrfs", "mkfs.btrfs", {"-q", "-f", "-K"}};
        case FileSystem::kNone:
            break;
    }
    return {"", "", {}};
}

std::filesystem::path temporary_directory(const EmulatedDiskOptions& options) {
    if (!options.directory.empty()) {
        return options.directory;
    }
    const char* named = std::getenv("TMPDIR");
    return named == nullptr ? "/tmp" : named;
}

struct ChosenImage {
    Image image;
    bool fresh;
};

Result<ChosenImage> choose_image(const EmulatedDiskOptions& options) {
    const bool named = !options.image.empty();
    const bool fresh = !named || !std::filesystem::exists(options.image);
    auto image = !named  ? Image::create_unnamed(temporary_directory(options), options.bytes)
                 : fresh ? Image::create(options.image, options.bytes)
                         : Image::open(options.image);
    if (!image) {
        return image.error();
    }
    return ChosenImage{*std::move(image), fresh};
}

Result<ServerProcess> start_server(const EmulatedDiskOptions& options, const Image& image) {
    ServerProcessOptions server;
    server.program = options.server;
    server.image = "/proc/self/fd/" + std::to_string(image.fd());
    server.profile = options.profile;
    server.queue_depth = options.queue_depth;
    server.seed = options.seed;
    if (options.private_namespace) {
        auto before = enter_private_namespace();
        if (!before) {
            return before.error();
        }
        server.mount_namespace = *before;
    }
    return ServerProcess::start(server);
}

}  // namespace

bool can_make(FileSystem file_system) {
    return !find_program(kind_of(file_system).program).empty();
}

// Taken down from the last to the first.
struct EmulatedDisk::Parts {
    EmulatedDiskOptions options;
    ServerProcess server;
    std::filesystem::path mount_point;
    std::optional<LoopDevice> loop;
    std::optional<Mount> mount;
    std::size_t remembered = 0;  // of the queue's saved settings, those the server knows

    Parts(EmulatedDiskOptions chosen, ServerProcess started)
        : options(std::move(chosen)), server(std::move(started)) {}
    ~Parts() {
        mount.reset();
        loop.reset();
        // The queue has its settings back, and another disk may have that loop device by now.
        static_cast<void>(server.order({"forget"}));
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    Parts(Parts&&) = delete;
    Parts& operator=(Parts&&) = delete;

    Result<void> attach_loop() {
        auto file = server.open_file();
        if (!file) {
            return file.error();
        }
        const auto model = make_model(options.profile);
        LoopOptions wanted;
        wanted.rotational = model != nullptr && model->rotational();
        wanted.read_ahead_kb = options.read_ahead_kb;
        wanted.scheduler = options.scheduler;
        wanted.label = "lull-disk of " + std::to_string(::getpid());
        auto attached = LoopDevice::attach(file->get(), wanted);
        if (!attached) {
            return attached.error();
        }
        loop.emplace(*std::move(attached));
        return remember_queue();
    }

    /// Has the server put the queue's settings back should this process be killed.
    Result<void> remember_queue() {
        const auto& saved = loop->queue().saved();
        for (; remembered < saved.size(); ++remembered) {
            const auto& [file, value] = saved[remembered];
            if (auto told = server.order({"restore", file.string(), value}); !told) {
                return told.error();
            }
        }
        return {};
    }

    Result<void> format() {
        const auto kind = kind_of(options.file_system);
        const auto program = find_program(kind.program);
        if (program.empty()) {
            return Error{ENOENT, kind.program};
        }
        auto arguments = kind.arguments;
        arguments.push_back(loop->path());
        return run_program(program, arguments);
    }

    Result<void> make_mount_point() {
        auto made = server.order({"directory", temporary_directory(options)});
        if (!made) {
            return made.error();
        }
        mount_point = made->front();
        return {};
    }

    Result<void> mount_it() {
        const unsigned long flags = options.noatime ? MS_NOATIME : 0;
        auto mounted =
            Mount::make(loop->path(), mount_point, kind_of(options.file_system).type, flags);
        if (!mounted) {
            return mounted.error();
        }
        mount.emplace(*std::move(mounted));
        return {};
    }
};

EmulatedDisk::EmulatedDisk(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmulatedDisk::EmulatedDisk(EmulatedDisk&&) noexcept = default;
EmulatedDisk::~EmulatedDisk() = default;

Result<EmulatedDisk> EmulatedDisk::create(EmulatedDiskOptions options) {
    auto chosen = choose_image(options);
    if (!chosen) {
        return chosen.error();
    }
    auto server = start_server(options, chosen->image);
    if (!server) {
        return server.error();
    }
    const bool format = chosen->fresh && options.file_system != FileSystem::kNone;
    const bool timing = options.timing;
    auto parts = std::make_unique<Parts>(std::move(options), *std::move(server));
    auto done = parts->attach_loop();
    if (done && format) {
        done = parts->format();
    }
    if (done && parts->options.file_system != FileSystem::kNone) {
        done = parts->make_mount_point();
        if (done) {
            done = parts->mount_it();
        }
    }
    EmulatedDisk disk(std::move(parts));
    if (done && timing) {
        done = disk.set_timing(true);
    }
    if (!done) {
        return done.error();
    }
    return disk;
}

const std::filesystem::path& EmulatedDisk::mount_point() const {
    return parts_->mount_point;
}
const std::filesystem::path& EmulatedDisk::device() const {
    return parts_->loop->path();
}
dev_t EmulatedDisk::device_number() const {
    return parts_->loop->number();
}
const QueueSettings& EmulatedDisk::queue() const {
    return parts_->loop->queue();
}
Status EmulatedDisk::status() const {
    return parts_->server.status();
}
Counters EmulatedDisk::counters() const {
    return status().counters;
}
std::filesystem::path EmulatedDisk::status_path() const {
    return parts_->server.status_path();
}
pid_t EmulatedDisk::server_pid() const {
    return parts_->server.pid();
}

Result<void> EmulatedDisk::remount_cold() {
    if (parts_->mount) {
        if (auto unmounted = parts_->mount->unmount(); !unmounted) {
            return unmounted;
        }
        parts_->mount.reset();
    }
    if (auto dropped = parts_->loop->drop_cache(); !dropped) {
        return dropped;
    }
    return parts_->options.file_system == FileSystem::kNone ? Result<void>() : parts_->mount_it();
}

Result<void> EmulatedDisk::settle() const {
    using Clock = std::chrono::steady_clock;
    constexpr auto kQuiet = std::chrono::milliseconds(300);
    constexpr auto kLook = std::chrono::milliseconds(20);
    constexpr auto kLongest = std::chrono::seconds(30);
    const auto begin = Clock::now();
    auto quiet_since = begin;
    std::uint64_t seen = 0;
    while (Clock::now() - begin < kLongest) {
        const Counters now = counters();
        if (now.reads + now.writes != seen) {
            seen = now.reads + now.writes;
            quiet_since = Clock::now();
        }
        if (Clock::now() - quiet_since >= kQuiet) {
            return {};
        }
        std::this_thread::sleep_for(kLook);
    }
    return Error{ETIMEDOUT, "the emulated disk is never quiet"};
}

Result<void> EmulatedDisk::set_queue(const std::string& name, const std::string& value) {
    if (auto set = parts_->loop->queue().set(name, value); !set) {
        return set;
    }
    return parts_->remember_queue();
}

Result<void> EmulatedDisk::set_timing(bool on) {
    auto done = parts_->server.order({"timing", on ? "on" : "off"});
    return done ? Result<void>() : done.error();
}

Result<void> EmulatedDisk::set_profile(const std::string& profile) {
    if (auto done = parts_->server.order({"profile", profile}); !done) {
        return done.error();
    }
    parts_->options.profile = profile;
    const auto model = make_model(profile);
    if (auto set = set_queue("rotational", model->rotational() ? "1" : "0"); !set) {
        return set;
    }
    // The kernel chooses the read-ahead anew with every change of the limits.
    return set_queue("read_ahead_kb", std::to_string(parts_->options.read_ahead_kb));
}

}  // namespace lull::disk
