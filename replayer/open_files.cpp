// SPDX-License-Identifier: MIT
#include "replayer/open_files.hpp"

#include <utility>

#include <fcntl.h>

namespace lull::replayer {

void OpenFiles::make_room() {
    auto oldest = files_.end();
    for (auto file = files_.begin(); file != files_.end(); ++file) {
        if (file->second.in_flight == 0 &&
            (oldest == files_.end() || file->second.last_use < oldest->second.last_use)) {
            oldest = file;
        }
    }
    if (oldest != files_.end()) {
        files_.erase(oldest);
    }
}

std::variant<OpenFiles::File*, Refusal> OpenFiles::get(std::uint32_t index) {
    if (const auto known = files_.find(index); known != files_.end()) {
        known->second.last_use = ++uses_;
        return &known->second;
    }
    if (const auto refused = refused_.find(index); refused != refused_.end()) {
        return refused->second;
    }
    if (files_.size() >= limit_) {
        make_room();
    }
    Opened opened = target_.open(demand_.files[index]);
    if (const Refusal* refusal = std::get_if<Refusal>(&opened)) {
        refused_.emplace(index, *refusal);
        return *refusal;
    }
    File file{index, std::get<Fd>(std::move(opened)), 0, ++uses_};
    // The kernel then reads what it is asked for and no readahead of its own.
    ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_RANDOM);
    return &files_.emplace(index, std::move(file)).first->second;
}

}  // namespace lull::replayer
