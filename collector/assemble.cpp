// SPDX-License-Identifier: MIT
#include "collector/assemble.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "collector/cgroup.hpp"
#include "collector/file_facts.hpp"
#include "db/text.hpp"

namespace lull::collector {
namespace {

constexpr std::uint64_t kMetadataInode = 0;

/// What a page is in the end: pages that are alike and adjacent make one db::Read.
struct PageState {
    db::Use use = db::Use::kDemand;
    db::Source source = db::Source::kUnknown;
    std::optional<std::uint32_t> process;
    bool operator==(const PageState&) const = default;
};

using Key = std::pair<std::uint64_t, std::uint64_t>;
struct KeyHash {
    std::size_t operator()(const Key& key) const {
        return std::hash<std::uint64_t>()(key.first * 0x9e3779b97f4a7c15ULL + key.second);
    }
};

std::uint64_t since(std::uint64_t time_ns, std::uint64_t start_ns) {
    return time_ns > start_ns ? time_ns - start_ns : 0;
}

db::File file_of(std::uint32_t device, db::FileKind kind, std::uint64_t inode,
                 std::uint32_t generation, const FileFacts::Facts& now) {
    db::File file;
    file.device = device;
    file.kind = kind;
    file.path = now.path;
    file.inode = inode;
    file.generation = generation;
    file.size = now.size;
    file.mtime_ns = now.mtime_ns;
    file.deleted = now.deleted;
    return file;
}

class Assembler {
  public:
    Assembler(RawTrace raw, const std::vector<fs::Mount>& mounts, std::uint64_t start_ns)
        : raw_(std::move(raw)), mounts_(mounts), start_ns_(start_ns) {}

    db::Trace run(db::Boot boot) &&;

  private:
    using Blocks = std::span<const RawBlock>;

    void add_processes();
    void add_files_of(KernelDevice device, Blocks blocks);
    void add_file(const FileFacts& facts, std::uint32_t device, Blocks blocks);
    void add_metadata(std::uint32_t device, Blocks blocks);
    void add_directories(const FileFacts& facts, std::uint32_t device, KernelDevice number);
    void add_with_reads(db::File file, Blocks blocks, const FileFacts::Facts& facts);
    void add_reads(std::uint32_t file, Blocks blocks, const FileFacts::Facts& facts);
    [[nodiscard]] std::optional<PageState> state_of(const RawBlock& block, std::uint32_t page,
                                                    const std::vector<bool>& resident) const;
    [[nodiscard]] const RawFile* raw_file(KernelDevice device, std::uint64_t inode) const;
    void add_limits();

    RawTrace raw_;
    const std::vector<fs::Mount>& mounts_;
    std::uint64_t start_ns_;
    std::unordered_map<Key, std::size_t, KeyHash> raw_files_;           ///< device, inode
    std::unordered_map<std::uint32_t, std::uint32_t> process_numbers_;  ///< by RawProcess::user()
    std::uint64_t mapped_pages_ = 0;
    std::uint64_t unmounted_blocks_ = 0;
    bool has_unseen_lookups_ = false;
    db::Trace trace_;
};

const RawFile* Assembler::raw_file(KernelDevice device, std::uint64_t inode) const {
    const auto found = raw_files_.find({device, inode});
    return found == raw_files_.end() ? nullptr : &raw_.files[found->second];
}

void Assembler::add_processes() {
    for (const RawProcess& raw : raw_.processes) {
        db::Process process;
        process.pid = raw.pid;
        process.parent_pid = raw.parent_pid;
        process.comm = raw.comm;
        process.executable = raw.executable;
        if (const RawFile* exe = raw_file(raw.exe_device, raw.exe_inode);
            exe != nullptr && process.executable.empty()) {
            process.executable = exe->path;
        }
        process.cgroup = raw.cgroup;
        process.unit = unit_of_cgroup(raw.cgroup);
        process.first_use_ns = since(raw.first_use_ns, start_ns_);
        process_numbers_.emplace(raw.user(), static_cast<std::uint32_t>(trace_.processes.size()));
        trace_.processes.push_back(std::move(process));
    }
}

std::optional<PageState> Assembler::state_of(const RawBlock& block, std::uint32_t page,
                                             const std::vector<bool>& resident) const {
    const std::uint32_t bit = 1U << page;
    const auto is = [bit](std::uint32_t mask) { return (mask & bit) != 0; };
    const std::uint64_t index = std::uint64_t{block.block} * kPagesPerBlock + page;
    const bool was_in_window =
        is(block.window) && !is(block.added) && index < resident.size() && resident[index];
    PageState state;
    if (is(block.demand)) {
        state.use = db::Use::kDemand;
    } else if (is(block.mapped) || was_in_window) {
        state.use = db::Use::kMapped;
    } else if (is(block.cached)) {
        state.use = db::Use::kCached;
    } else {
        return std::nullopt;
    }
    if (state.use == db::Use::kCached) {
        state.source = db::Source::kUnknown;
    } else if (is(block.miss)) {
        state.source = db::Source::kMiss;
    } else if (is(block.own)) {
        state.source = db::Source::kReplay;
    } else {
        state.source = is(block.added) ? db::Source::kReadahead : db::Source::kMemory;
    }
    if (const auto found = process_numbers_.find(block.user); found != process_numbers_.end()) {
        state.process = found->second;
    }
    return state;
}

void Assembler::add_reads(std::uint32_t file, Blocks blocks, const FileFacts::Facts& facts) {
    const bool is_device = trace_.files[file].kind == db::FileKind::kDevice;
    const std::size_t first_read = trace_.reads.size();
    std::optional<PageState> last;
    std::uint64_t next = 0;
    for (const RawBlock& block : blocks) {
        const std::uint64_t block_start = std::uint64_t{block.block} * kPagesPerBlock;
        for (std::uint32_t page = 0; page < kPagesPerBlock; ++page) {
            const auto state = state_of(block, page, facts.resident);
            const std::uint64_t index = block_start + page;
            if (!state) {
                continue;
            }
            mapped_pages_ += state->use == db::Use::kMapped ? 1 : 0;
            const std::uint64_t first_use_ns = since(block.first_use_ns, start_ns_);
            if (trace_.reads.size() > first_read && next == index && last == state) {
                db::Read& read = trace_.reads.back();
                ++read.pages;
                read.first_use_ns = std::min(read.first_use_ns, first_use_ns);
            } else {
                db::Read read;
                read.file = file;
                read.first_page = index;
                read.pages = 1;
                read.use = state->use;
                read.source = state->source;
                read.first_use_ns = first_use_ns;
                read.process = state->process;
                read.disk_position = is_device
                                         ? index * db::kPageSize
                                         : fs::position_of(facts.extents, index * db::kPageSize);
                trace_.reads.push_back(read);
            }
            last = state;
            next = index + 1;
        }
    }
}

/// A file none of whose pages counts (one that was only looked at by fault-around) is left out.
void Assembler::add_with_reads(db::File file, Blocks blocks, const FileFacts::Facts& facts) {
    const std::size_t first_read = trace_.reads.size();
    trace_.files.push_back(std::move(file));
    add_reads(static_cast<std::uint32_t>(trace_.files.size() - 1), blocks, facts);
    if (trace_.reads.size() == first_read) {
        trace_.files.pop_back();
    }
}

void Assembler::add_file(const FileFacts& facts, std::uint32_t device, Blocks blocks) {
    const RawFile* raw = raw_file(blocks.front().device, blocks.front().inode);
    // Not every file was told with its name; the later blocks of one read do not know it.
    const auto known = std::find_if(blocks.begin(), blocks.end(),
                                    [](const RawBlock& block) { return block.generation != 0; });
    const std::uint32_t generation = raw != nullptr          ? raw->generation
                                     : known != blocks.end() ? known->generation
                                                             : 0;
    const bool want_residency = std::any_of(blocks.begin(), blocks.end(), [](const auto& block) {
        return (block.window & ~block.added) != 0;
    });
    const auto now = facts.look(raw != nullptr ? raw->path : "", blocks.front().inode, generation,
                                want_residency);
    const db::FileKind kind = raw != nullptr ? raw->kind : db::FileKind::kRegular;
    add_with_reads(file_of(device, kind, blocks.front().inode, generation, now), blocks, now);
}

void Assembler::add_metadata(std::uint32_t device, Blocks blocks) {
    db::File file;
    file.device = device;
    file.kind = db::FileKind::kDevice;
    file.inode = blocks.front().device;
    add_with_reads(std::move(file), blocks, {});
}

/// Where the metadata is not in the cache of the block device, the directories are recorded, to be
/// looked up again. Those above each file that was used have been told with it.
void Assembler::add_directories(const FileFacts& facts, std::uint32_t device, KernelDevice number) {
    for (const RawFile& raw : raw_.files) {
        if (raw.device != number || raw.kind != db::FileKind::kDirectory || raw.path.empty()) {
            continue;
        }
        const auto now = facts.look(raw.path, raw.inode, raw.generation, false);
        if (now.deleted) {
            continue;
        }
        trace_.files.push_back(
            file_of(device, db::FileKind::kDirectory, raw.inode, raw.generation, now));
    }
    has_unseen_lookups_ = true;
}

void Assembler::add_files_of(KernelDevice number, Blocks blocks) {
    const fs::Mount* mount = fs::best_mount(mounts_, major_of(number), minor_of(number));
    if (mount == nullptr) {
        unmounted_blocks_ += blocks.size();
        return;
    }
    db::Device device;
    device.fs_type = mount->fs_type;
    device.mount_point = mount->mount_point;
    device.source = mount->source;
    device.major = major_of(number);
    device.minor = minor_of(number);
    if (auto uuid = fs::file_system_uuid(*mount)) {
        device.fs_uuid = *std::move(uuid);
    }
    trace_.devices.push_back(std::move(device));
    const auto device_number = static_cast<std::uint32_t>(trace_.devices.size() - 1);
    const FileFacts facts(*mount);
    for (auto begin = blocks.begin(); begin != blocks.end();) {
        const auto end = std::find_if(begin, blocks.end(), [begin](const RawBlock& block) {
            return block.inode != begin->inode;
        });
        if (begin->inode == kMetadataInode) {
            add_metadata(device_number, {begin, end});
        } else {
            add_file(facts, device_number, {begin, end});
        }
        begin = end;
    }
    if (!mount->fs_type.starts_with("ext")) {
        add_directories(facts, device_number, number);
    }
}

void Assembler::add_limits() {
    auto& limits = raw_.limits;
    if (has_unseen_lookups_) {
        limits.emplace_back(
            "on file systems other than ext2, ext3 and ext4, files that were looked up but not "
            "read are not seen");
    }
    if (mapped_pages_ > 0) {
        limits.push_back(fmt::format(
            "{} pages were in memory and mapped by fault-around; whether they were touched is not "
            "known",
            mapped_pages_));
    }
    if (unmounted_blocks_ > 0) {
        limits.push_back(fmt::format(
            "{} blocks on file systems that were gone when the trace ended are left out",
            unmounted_blocks_));
    }
    for (std::string& limit : limits) {  // the name of a mount point may hold anything
        limit = db::printable(limit);
    }
}

db::Trace Assembler::run(db::Boot boot) && {
    for (std::size_t i = 0; i < raw_.files.size(); ++i) {
        raw_files_.emplace(Key{raw_.files[i].device, raw_.files[i].inode}, i);
    }
    add_processes();
    trace_.reads.reserve(raw_.blocks.size());
    auto& blocks = raw_.blocks;
    std::sort(blocks.begin(), blocks.end(), [](const RawBlock& a, const RawBlock& b) {
        return std::tie(a.device, a.inode, a.block) < std::tie(b.device, b.inode, b.block);
    });
    for (auto begin = blocks.begin(); begin != blocks.end();) {
        const auto end = std::find_if(begin, blocks.end(), [begin](const RawBlock& block) {
            return block.device != begin->device;
        });
        add_files_of(begin->device, {begin, end});
        begin = end;
    }
    add_limits();
    trace_.boot = std::move(boot);
    trace_.boot.rung = raw_.rung;
    trace_.boot.limits = std::move(raw_.limits);
    trace_.boot.losses = raw_.losses;
    return std::move(trace_);
}

}  // namespace

db::Trace assemble(RawTrace raw, const std::vector<fs::Mount>& mounts, db::Boot boot,
                   std::uint64_t start_ns) {
    return Assembler(std::move(raw), mounts, start_ns).run(std::move(boot));
}

}  // namespace lull::collector
