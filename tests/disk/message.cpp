// SPDX-License-Identifier: MIT
#include "tests/disk/message.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include <sys/socket.h>

namespace lull::disk {
namespace {

using ControlSpace = std::array<char, CMSG_SPACE(kMaxMessageFds * sizeof(int))>;

msghdr make_header(iovec& part) {
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    return header;
}

std::vector<Fd> take_fds(msghdr& header) {
    std::vector<Fd> fds;
    for (auto* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        std::vector<int> numbers((item->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        std::memcpy(numbers.data(), CMSG_DATA(item), numbers.size() * sizeof(int));
        for (const int number : numbers) {
            fds.emplace_back(number);
        }
    }
    return fds;
}

}  // namespace

Result<void> send_message(int socket, const std::vector<std::string>& words,
                          std::span<const int> fds) {
    std::string text;
    for (const auto& word : words) {
        text.append(word).push_back('\0');
    }
    if (text.size() > kMaxMessageBytes || fds.size() > kMaxMessageFds) {
        return Error{EMSGSIZE, "message to the other side of a disk server"};
    }
    iovec part{text.data(), text.size()};
    auto header = make_header(part);
    alignas(cmsghdr) ControlSpace control{};
    if (!fds.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = CMSG_SPACE(fds.size_bytes());
        auto* item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(item), fds.data(), fds.size_bytes());
    }
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
        return last_error("sending to the other side of a disk server");
    }
    return {};
}

Result<Message> receive_message(int socket) {
    std::string text(kMaxMessageBytes, '\0');
    iovec part{text.data(), text.size()};
    auto header = make_header(part);
    alignas(cmsghdr) ControlSpace control{};
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t got = -1;
    do {
        got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        const int code = got == 0 || errno == ECONNRESET ? EPIPE : errno;
        return Error{code, "the other side of a disk server"};
    }
    Message message;
    message.fds = take_fds(header);
    std::string_view rest(text.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
        const auto end = rest.find('\0');
        message.words.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return message;
}

}  // namespace lull::disk
