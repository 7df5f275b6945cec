// SPDX-License-Identifier: MIT
// Uses pages in known ways, in a process of its own: the collector leaves out what its own
// executable reads. Arguments, repeated: OPERATION PATH LIST, with LIST numbers joined by commas.
//   read OFFSET,LENGTH,BUFFER   read(2) from OFFSET until LENGTH bytes, BUFFER bytes a call
//   pread OFFSET,LENGTH         one pread(2)
//   sendfile OFFSET,LENGTH      to /dev/null
//   touch PAGE,...              a read of each page of a mapping, in this order
//   touch-alone PAGE,...        the same with MADV_RANDOM: no read-around
//   store PAGE,...              a write to each page of a private mapping
//   store-shared PAGE,...       the same, shared
//   exec 0                      runs PATH
//   unlink 0
//   open 0                      opens PATH; later reads of it use that descriptor
//   wait 0                      until a byte comes from standard input
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace {

using lull::Fd;
using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t kPage = 4096;

[[noreturn]] void fail(const std::string& what) {
    const std::string text = what + ": " + std::strerror(errno) + "\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
        ::_exit(2);
    }
    ::_exit(1);
}

Numbers numbers_of(const std::string& list) {
    Numbers numbers;
    std::istringstream in(list);
    for (std::string number; std::getline(in, number, ',');) {
        numbers.push_back(std::stoull(number));
    }
    return numbers;
}

class Reader {
  public:
    void run(const std::string& operation, const std::string& path, const Numbers& numbers) {
        if (operation == "wait") {
            char byte = 0;
            if (::read(STDIN_FILENO, &byte, 1) < 0) {
                fail("wait");
            }
        } else if (operation == "open") {
            held_[path] = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        } else if (operation == "unlink") {
            if (::unlink(path.c_str()) != 0) {
                fail(path);
            }
        } else if (operation == "exec") {
            execute(path);
        } else if (operation == "read" || operation == "pread" || operation == "sendfile") {
            read(operation, path, numbers);
        } else {
            map(operation, path, numbers);
        }
    }

  private:
    static void execute(const std::string& path) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::execl(path.c_str(), path.c_str(), nullptr);
            fail(path);
        }
        ::waitpid(pid, nullptr, 0);
    }

    void read(const std::string& operation, const std::string& path, const Numbers& numbers) {
        Fd opened;
        int fd = -1;
        if (const auto found = held_.find(path); found != held_.end()) {
            fd = found->second.get();
        } else {
            opened.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
            fd = opened.get();
        }
        if (fd < 0) {
            fail(path);
        }
        auto offset = static_cast<off_t>(numbers.at(0));
        const std::uint64_t length = numbers.at(1);
        if (operation == "sendfile") {
            const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
            if (::sendfile(null.get(), fd, &offset, length) < 0) {
                fail("sendfile");
            }
        } else if (operation == "pread") {
            std::string buffer(length, '\0');
            if (::pread(fd, buffer.data(), length, offset) < 0) {
                fail("pread");
            }
        } else {
            std::string buffer(numbers.at(2), '\0');
            ::lseek(fd, offset, SEEK_SET);
            for (std::uint64_t done = 0; done < length;) {
                const ssize_t got = ::read(fd, buffer.data(), buffer.size());
                if (got <= 0) {
                    return;
                }
                done += static_cast<std::uint64_t>(got);
            }
        }
    }

    static void map(const std::string& operation, const std::string& path, const Numbers& pages) {
        const bool stores = operation.starts_with("store");
        const bool shared = operation == "store-shared";
        const Fd fd(::open(path.c_str(), (shared ? O_RDWR : O_RDONLY) | O_CLOEXEC));
        const off_t size = ::lseek(fd.get(), 0, SEEK_END);
        if (size <= 0) {
            fail(path);
        }
        const auto bytes = static_cast<std::size_t>(size);
        // Fault-around works on windows of 16 pages that are aligned in memory: so that a test
        // knows which pages share one, page 0 begins one.
        constexpr std::size_t kWindow = 16 * kPage;
        void* room =
            ::mmap(nullptr, bytes + kWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) {
            fail("mmap");
        }
        const std::size_t over = reinterpret_cast<std::uintptr_t>(room) % kWindow;
        char* start = static_cast<char*>(room) + (over == 0 ? 0 : kWindow - over);
        void* mapping = ::mmap(start, bytes, stores ? PROT_READ | PROT_WRITE : PROT_READ,
                               (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, fd.get(), 0);
        if (mapping == MAP_FAILED) {
            fail("mmap");
        }
        if (operation == "touch-alone") {
            ::madvise(mapping, bytes, MADV_RANDOM);
        }
        auto* data = static_cast<volatile char*>(mapping);
        for (const std::uint64_t page : pages) {
            if (stores) {
                data[page * kPage] = 'y';
            } else {
                static_cast<void>(data[page * kPage]);
            }
        }
        ::munmap(room, bytes + kWindow);
    }

    std::map<std::string, Fd> held_;
};

}  // namespace

int main(int argc, char** argv) {
    Reader reader;
    for (int i = 1; i + 2 < argc; i += 3) {
        reader.run(argv[i], argv[i + 1], numbers_of(argv[i + 2]));
    }
    return 0;
}
