// SPDX-License-Identifier: MIT
#include "tests/disk/remote.hpp"

#include <array>
#include <fstream>

#include <sys/mount.h>
#include <unistd.h>

namespace lull::disk {

Result<void> Remote::run() {
    const auto heard = server_.watch(control_.get(), [this] { on_message(); });
    const auto watched = server_.watch(owner_.get(), [this] { on_owner_gone(); });
    if (!heard || !watched) {
        return heard ? watched : heard;
    }
    const std::array fds{server_.file().mount(), server_.status_page().fd()};
    if (auto sent = send_message(control_.get(), {"ready"}, fds); !sent) {
        return sent;
    }
    auto served = server_.run();
    server_.abort();
    remove_directories();
    return served;
}

void Remote::on_message() {
    auto message = receive_message(control_.get());
    if (!message) {
        on_owner_gone();
        return;
    }
    if (message->words == std::vector<std::string>{"quit"}) {
        server_.stop();
        return;
    }
    // A fixture that cannot be answered is gone, and that is an event of its own.
    static_cast<void>(send_message(control_.get(), obey(message->words)));
}

std::vector<std::string> Remote::obey(const std::vector<std::string>& words) {
    const auto is = [&words](const char* verb, std::size_t count) {
        return words.size() == count && words[0] == verb;
    };
    if (is("timing", 2)) {
        server_.set_timing(words[1] == "on");
    } else if (is("profile", 2)) {
        auto model = make_model(words[1], options_);
        if (model == nullptr) {
            return {"error", std::to_string(EINVAL), "no disk profile " + words[1]};
        }
        server_.set_model(std::move(model));
    } else if (is("directory", 2)) {
        return make_directory(words[1]);
    } else if (is("restore", 3)) {
        to_restore_.emplace_back(words[1], words[2]);
    } else if (is("forget", 1)) {
        to_restore_.clear();
    } else {
        return {"error", std::to_string(EINVAL), "disk server: unknown order"};
    }
    return {"ok"};
}

std::vector<std::string> Remote::make_directory(const std::filesystem::path& parent) {
    std::string name = parent / "lull-disk-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        return {"error", std::to_string(errno), "directory in " + parent.string()};
    }
    directories_.emplace_back(name);
    return {"ok", name};
}

void Remote::on_owner_gone() {
    server_.stop();
    server_.abort();
    for (const auto& [path, value] : to_restore_) {
        std::ofstream(path) << value;
    }
}

// In a private namespace the mount went with its owner; elsewhere it is still there, of a file
// system that has lost its disk.
void Remote::remove_directories() {
    for (const auto& directory : directories_) {
        ::umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
        ::rmdir(directory.c_str());
    }
}

}  // namespace lull::disk
