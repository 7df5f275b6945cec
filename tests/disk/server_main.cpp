// SPDX-License-Identifier: MIT
// lull-disk: serves an image file as slowly as a real disk.
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tests/disk/remote.hpp"
#include "tests/disk/server.hpp"

namespace {

using namespace lull;
using namespace lull::disk;

struct Arguments {
    std::string profile = "hdd-7200";
    std::string image;
    std::string mountpoint;
    ModelOptions model;
    bool no_timing = false;
    int control = -1;
    int owner = -1;
};

int fail(const Error& error) {
    fmt::print(stderr, "lull-disk: {}\n", error.message());
    return 1;
}

void print_status(const Status& status) {
    const auto& counters = status.counters;
    fmt::print(
        "{{\"reads\": {}, \"writes\": {}, \"sectors_read\": {}, \"sectors_written\": {}, "
        "\"seeks\": {}, \"cache_hits\": {}, \"busy_ns\": {}, \"max_in_flight\": {}, "
        "\"late_p50_ns\": {}, \"late_p99_ns\": {}}}\n",
        counters.reads, counters.writes, counters.sectors_read, counters.sectors_written,
        counters.seeks, counters.cache_hits, counters.busy, status.max_in_flight,
        status.lateness.percentile(0.5), status.lateness.percentile(0.99));
}

/// The file that the disk is shown at, made where a directory was named; gone with this object.
class Place {
  public:
    static Result<Place> choose(const Arguments& arguments) {
        Place place;
        place.path_ = arguments.mountpoint.empty() ? arguments.image : arguments.mountpoint;
        if (std::filesystem::is_directory(place.path_)) {
            place.path_ /= "disk";
            const Fd made(::open(place.path_.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600));
            if (!made) {
                return last_error(place.path_.string());
            }
            place.made_ = true;
        }
        return place;
    }
    ~Place() {
        if (mounted_) {
            ::umount2(path_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
        }
        if (made_) {
            ::unlink(path_.c_str());
        }
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Place(Place&& other) noexcept
        : path_(std::move(other.path_)),
          made_(std::exchange(other.made_, false)),
          mounted_(std::exchange(other.mounted_, false)) {}
    Place& operator=(Place&&) = delete;

    Result<void> show(FuseFile& file) {
        auto attached = file.attach(path_);
        mounted_ = attached.ok();
        return attached;
    }
    /// EBUSY while somebody, a loop device for one, has the disk open.
    Result<void> hide() {
        if (::umount2(path_.c_str(), UMOUNT_NOFOLLOW) != 0) {
            return last_error(path_.string());
        }
        mounted_ = false;
        return {};
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    Place() = default;
    std::filesystem::path path_;
    bool made_ = false;
    bool mounted_ = false;
};

/// Serves in the foreground until SIGINT or SIGTERM; a disk in use wants to be told twice.
Result<void> serve_in_foreground(Server& server, const Arguments& arguments) {
    auto place = Place::choose(arguments);
    if (!place) {
        return place.error();
    }
    if (auto shown = place->show(server.file()); !shown) {
        return shown;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    const Fd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
    bool told = false;
    auto watched = server.watch(signal_fd.get(), [&] {
        signalfd_siginfo info{};
        if (::read(signal_fd.get(), &info, sizeof(info)) != sizeof(info)) {
            return;
        }
        if (const auto hidden = place->hide(); !hidden && !told) {
            fmt::print(stderr, "lull-disk: {}; once more to take it away\n",
                       hidden.error().message());
            told = true;
            return;
        }
        server.stop();
    });
    if (!watched) {
        return watched;
    }
    fmt::print(stderr, "lull-disk: {} at {}, status in /proc/{}/fd/{}\n", arguments.profile,
               place->path().string(), ::getpid(), server.status_page().fd());
    auto served = server.run();
    server.abort();
    print_status(server.status_page().read());
    return served;
}

Result<void> serve(Arguments arguments) {
    auto image = Image::open(arguments.image);
    if (!image) {
        return image.error();
    }
    arguments.model.capacity = image->bytes() / kSectorSize;
    auto model = make_model(arguments.profile, arguments.model);
    if (model == nullptr) {
        return Error{EINVAL, "no disk profile " + arguments.profile};
    }
    auto server = Server::make(*std::move(image), std::move(model));
    if (!server) {
        return server.error();
    }
    (*server)->set_timing(!arguments.no_timing);
    const auto missing = become_punctual();
    if (arguments.control >= 0) {
        return Remote(**server, arguments.model, Fd(arguments.control), Fd(arguments.owner)).run();
    }
    for (const auto& one : missing) {
        fmt::print(stderr, "lull-disk: less punctual without {}\n", one.message());
    }
    return serve_in_foreground(**server, arguments);
}

}  // namespace

int main(int argc, char** argv) try {
    Arguments arguments;
    CLI::App app("Serves an image file with the timing of a disk, until it is interrupted.");
    std::string names;
    for (const auto& name : profile_names()) {
        names += (names.empty() ? "" : ", ") + name;
    }
    app.add_option("--profile", arguments.profile, names)->capture_default_str();
    app.add_option("--image", arguments.image, "the file with the data")->required();
    app.add_option(
        "--mountpoint", arguments.mountpoint,
        "the file to cover, or a directory to show `disk` in; default: the image itself");
    app.add_option("--queue-depth", arguments.model.queue_depth, "of the drive; 0: the profile's");
    app.add_option("--seed", arguments.model.seed)->capture_default_str();
    app.add_flag("--no-timing", arguments.no_timing, "answer at once");
    app.add_option("--control-fd", arguments.control)->group("");
    app.add_option("--owner-fd", arguments.owner)->group("");
    CLI11_PARSE(app, argc, argv);
    const auto served = serve(std::move(arguments));
    return served ? 0 : fail(served.error());
} catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
}
