// SPDX-License-Identifier: MIT
// The records that the page programs send through the ring: turned into files and processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "collector/raw_trace.hpp"

namespace lull::collector {
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#include "collector/bpf/shared.h"  // NOLINT(bugprone-suspicious-include): plain C, no own names

/// Keeps each file, directory and process once. A record that makes no sense counts as a lost name.
class RecordReader {
  public:
    void take(std::span<const std::byte> record);
    /// The files and directories with their paths, the processes and the lost names; leaves the
    /// reader empty.
    RawTrace trace() &&;

  private:
    /// A file or directory under its name in its parent.
    struct Node {
        std::uint64_t parent = 0;  ///< inode of a directory; 0 for the top
        std::uint32_t generation = 0;
        bool is_file = false;
        std::string name;  ///< empty for the top, and for a file without a name
    };
    struct Key {
        std::uint64_t number;  ///< inode or pid
        std::uint32_t of;      ///< device or exec id
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;
            return std::hash<std::uint64_t>()(key.number * kGoldenRatio + key.of);
        }
    };

    bool take_name(std::span<const std::byte> record, bool is_file);
    bool take_process(std::span<const std::byte> record);
    [[nodiscard]] std::string path_of(const Node& node, std::uint32_t device) const;

    std::unordered_map<Key, Node, KeyHash> nodes_;
    std::unordered_set<Key, KeyHash> known_processes_;
    RawTrace trace_;
};

/// "c\0b\0a\0" -> "/a/b/c": components from the last to the first, each with its end. Empty if
/// there is no component.
std::string path_of_names(std::span<const char> names);

}  // namespace lull::collector
