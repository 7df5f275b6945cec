// SPDX-License-Identifier: MIT
#include "fs/mounts.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace lull::fs {
namespace {

std::vector<std::string_view> split(std::string_view line, char separator) {
    std::vector<std::string_view> fields;
    for (;;) {
        const auto end = line.find(separator);
        fields.push_back(line.substr(0, end));
        if (end == std::string_view::npos) {
            return fields;
        }
        line.remove_prefix(end + 1);
    }
}

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc{} || stop != end) {
        return std::nullopt;
    }
    return value;
}

bool octal(char c) {
    return c >= '0' && c <= '7';
}

/// The kernel writes blanks, newlines and backslashes as a backslash and three octal digits.
std::string unescape(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
            octal(text[i + 3])) {
            plain += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                                       (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
std::optional<Mount> parse_line(std::string_view line) {
    constexpr std::size_t kFixedFields = 6;
    constexpr std::size_t kFieldsAfterDash = 3;
    const auto fields = split(line, ' ');
    if (fields.size() < kFixedFields) {
        return std::nullopt;
    }
    const auto dash = std::find(fields.begin() + kFixedFields, fields.end(), "-");
    if (std::distance(dash, fields.end()) <= static_cast<std::ptrdiff_t>(kFieldsAfterDash)) {
        return std::nullopt;
    }
    const auto colon = fields[2].find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto id = number(fields[0]);
    const auto parent = number(fields[1]);
    const auto major = number(fields[2].substr(0, colon));
    const auto minor = number(fields[2].substr(colon + 1));
    if (!id || !parent || !major || !minor || !fields[4].starts_with('/')) {
        return std::nullopt;
    }
    return Mount{*major,
                 *minor,
                 unescape(fields[3]),
                 unescape(fields[4]),
                 unescape(dash[1]),
                 unescape(dash[2]),
                 std::string(fields[5]),
                 *id,
                 *parent};
}

/// Whether `path` lies below `directory` (and is not it).
bool below(std::string_view path, std::string_view directory) {
    if (directory == "/") {
        return path.size() > 1;
    }
    return path.size() > directory.size() && path.starts_with(directory) &&
           path[directory.size()] == '/';
}

/// Whether a walk from the root comes to where `mount` is attached. A mount on a directory above,
/// attached to the same parent, leads the walk elsewhere.
bool attached_in_sight(const std::vector<Mount>& mounts, const Mount& mount) {
    const Mount* at = &mount;
    // Ids make a tree; the bound only guards against a file that was not written by the kernel.
    for (std::size_t depth = 0; depth <= mounts.size(); ++depth) {
        if (at->parent == at->id) {
            return true;
        }
        const Mount* parent = nullptr;
        for (const Mount& other : mounts) {
            if (other.id == at->parent) {
                parent = &other;
            }
            const bool sibling =
                other.parent == at->parent && other.id != at->id && other.id != other.parent;
            if (sibling && below(at->mount_point, other.mount_point)) {
                return false;
            }
        }
        if (parent == nullptr) {
            return true;
        }
        at = parent;
    }
    return false;
}

/// Whether something is mounted on the root of `mount` itself.
bool covered(const std::vector<Mount>& mounts, const Mount& mount) {
    return std::any_of(mounts.begin(), mounts.end(), [&](const Mount& other) {
        return other.parent == mount.id && other.id != mount.id &&
               other.mount_point == mount.mount_point;
    });
}

bool better(const Mount& mount, const Mount& than) {
    const bool whole = mount.root == "/";
    const bool than_whole = than.root == "/";
    if (whole != than_whole) {
        return whole;
    }
    return mount.mount_point.size() < than.mount_point.size();
}

}  // namespace

bool at_or_below(std::string_view path, std::string_view directory) {
    return directory == "/" || path == directory || below(path, directory);
}

Result<std::vector<Mount>> read_mounts(const std::string& mountinfo) {
    std::ifstream file(mountinfo, std::ios::binary);
    if (!file) {
        return last_error(mountinfo);
    }
    std::vector<Mount> mounts;
    std::string line;
    while (std::getline(file, line)) {
        auto mount = parse_line(line);
        if (!mount) {
            return Error{EBADMSG,
                         fmt::format("{} line {}: {}", mountinfo, mounts.size() + 1, line)};
        }
        mounts.push_back(*std::move(mount));
    }
    if (file.bad()) {
        return Error{EIO, mountinfo};
    }
    return mounts;
}

bool on_block_device(const Mount& mount) {
    return mount.major != 0 || mount.source.starts_with("/dev/");
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) {
    const Mount* best = nullptr;
    for (const Mount& mount : mounts) {
        if (at_or_below(path, mount.mount_point) &&
            (best == nullptr || mount.mount_point.size() >= best->mount_point.size())) {
            best = &mount;
        }
    }
    return best;
}

const Mount* best_mount(const std::vector<Mount>& mounts, std::uint32_t major,
                        std::uint32_t minor) {
    const Mount* best = nullptr;
    for (const Mount& mount : mounts) {
        if (mount.major != major || mount.minor != minor) {
            continue;
        }
        if (best != nullptr && !better(mount, *best)) {
            continue;
        }
        if (!covered(mounts, mount) && attached_in_sight(mounts, mount)) {
            best = &mount;
        }
    }
    return best;
}

}  // namespace lull::fs
