// SPDX-License-Identifier: MIT
// The few files that are open at a time, the one longest unused goes first.
#pragma once

#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "base/fd.hpp"
#include "replayer/demand.hpp"
#include "replayer/target.hpp"

namespace lull::replayer {

class OpenFiles {
  public:
    struct File {
        std::uint32_t index = 0;  ///< into Demand::files
        Fd fd;
        std::uint32_t in_flight = 0;  ///< reads under way; a file with any stays open
        std::uint64_t last_use = 0;
    };

    /// `limit` has to exceed the number of files that have reads under way.
    OpenFiles(const Target& target, const Demand& demand, std::size_t limit)
        : target_(target), demand_(demand), limit_(limit) {}

    /// The file, opened if need be. A refusal is remembered, and its file not tried again.
    std::variant<File*, Refusal> get(std::uint32_t index);
    /// The file that a read under way belongs to.
    File& in_use(std::uint32_t index) { return files_.at(index); }

  private:
    void make_room();

    const Target& target_;
    const Demand& demand_;
    std::size_t limit_;
    std::uint64_t uses_ = 0;
    std::map<std::uint32_t, File> files_;
    std::map<std::uint32_t, Refusal> refused_;
};

}  // namespace lull::replayer
