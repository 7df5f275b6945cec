// SPDX-License-Identifier: MIT
#include "tests/disk/mount.hpp"

#include <cstdlib>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lull::disk {

std::filesystem::path find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream directories(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin");
    std::string directory;
    while (std::getline(directories, directory, ':')) {
        auto program = std::filesystem::path(directory) / name;
        if (!directory.empty() && ::access(program.c_str(), X_OK) == 0) {
            return program;
        }
    }
    return {};
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (auto& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

Result<void> run_program(const std::filesystem::path& program,
                         const std::vector<std::string>& arguments) {
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto pointers = pointers_to(words);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    pid_t pid = 0;
    const int spawned =
        ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (spawned != 0) {
        return Error{spawned, program.string()};
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return last_error(program.string());
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Error{0, program.string() + " failed with status " + std::to_string(status)};
    }
    return {};
}

Result<Mount> Mount::make(const std::filesystem::path& device,
                          const std::filesystem::path& directory, const std::string& type,
                          unsigned long flags) {
    if (::mount(device.c_str(), directory.c_str(), type.c_str(), flags, nullptr) != 0) {
        return last_error("mounting " + device.string() + " as " + type);
    }
    return Mount(directory);
}

Mount::~Mount() {
    if (!directory_.empty() && ::umount2(directory_.c_str(), UMOUNT_NOFOLLOW) != 0) {
        ::umount2(directory_.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
    }
}

Result<void> Mount::unmount() {
    if (::umount2(directory_.c_str(), UMOUNT_NOFOLLOW) != 0) {
        return last_error("unmounting " + directory_.string());
    }
    directory_.clear();
    return {};
}

}  // namespace lull::disk
