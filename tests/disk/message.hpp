// SPDX-License-Identifier: MIT
// Messages between a fixture and its disk server: a few strings and descriptors over a socket that
// keeps message borders (SOCK_SEQPACKET).
//
//   fixture                   server
//                             ready, with 2 descriptors: the file (O_PATH), the status page
//   timing on|off             ok
//   profile NAME              ok | error ERRNO TEXT
//   directory PARENT          ok PATH: an empty directory that the server removes when it ends
//   restore PATH VALUE        ok: to be written when the fixture's process dies
//   forget                    ok: forgets every `restore`
//   quit                      (ends)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace lull::disk {

struct Message {
    std::vector<std::string> words;  ///< without NUL bytes
    std::vector<Fd> fds;
};

inline constexpr std::size_t kMaxMessageBytes = 16384;
inline constexpr std::size_t kMaxMessageFds = 4;

/// EMSGSIZE above the limits; EPIPE when the other side is gone.
Result<void> send_message(int socket, const std::vector<std::string>& words,
                          std::span<const int> fds = {});
/// Waits for one; EPIPE when the other side is gone.
Result<Message> receive_message(int socket);

}  // namespace lull::disk
