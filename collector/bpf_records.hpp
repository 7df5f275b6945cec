// SPDX-License-Identifier: MIT
// The records that the page programs send through the ring: turned into files and processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>

#include "collector/raw_trace.hpp"

namespace lull::collector {
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#include "collector/bpf/shared.h"  // NOLINT(bugprone-suspicious-include): plain C, no own names

/// Keeps each file and each process once. A record that makes no sense counts as a lost name.
class RecordReader {
  public:
    void take(std::span<const std::byte> record);
    /// The files, processes and lost names; leaves the reader empty.
    RawTrace trace() &&;

  private:
    bool take_file(std::span<const std::byte> record);
    bool take_process(std::span<const std::byte> record);

    struct Key {
        std::uint64_t a;
        std::uint64_t b;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return std::hash<std::uint64_t>()(key.a * 0x9e3779b97f4a7c15ULL + key.b);
        }
    };
    RawTrace trace_;
    std::unordered_set<Key, KeyHash> files_;
    std::unordered_set<Key, KeyHash> processes_;
};

/// "c\0b\0a\0" -> "/a/b/c": components from the last to the first, each with its end. Empty if
/// there is no component.
std::string path_of_names(std::span<const char> names);

}  // namespace lull::collector
