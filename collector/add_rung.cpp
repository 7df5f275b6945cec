// SPDX-License-Identifier: MIT
// The rung for kernels where BPF shows what enters the page cache but not what is used: what was in
// memory before comes from the residency rung, which runs beside it.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collector/rung.hpp"

namespace lull::collector {
namespace {

using FileKey = std::pair<KernelDevice, std::uint64_t>;
using BlockKey = std::tuple<KernelDevice, std::uint64_t, std::uint32_t>;

BlockKey key_of(const RawBlock& block) {
    return {block.device, block.inode, block.block};
}

/// Adds the programs of `from` and gives their RawProcess::user() in `into`: both rungs count the
/// programs of a process in their own way.
std::map<std::uint32_t, std::uint32_t> merge_processes(RawTrace& into, RawTrace& from) {
    std::map<std::uint32_t, std::uint32_t> renamed;
    std::map<std::uint32_t, std::uint32_t> next_exec_id;
    for (const RawProcess& process : into.processes) {
        std::uint32_t& next = next_exec_id[process.pid];
        next = std::max(next, process.exec_id + 1);
    }
    for (RawProcess& process : from.processes) {
        const auto same = std::find_if(
            into.processes.begin(), into.processes.end(), [&process](const RawProcess& known) {
                return known.pid == process.pid && known.comm == process.comm;
            });
        const std::uint32_t before = process.user();
        if (same != into.processes.end()) {
            renamed[before] = same->user();
            continue;
        }
        process.exec_id = next_exec_id[process.pid]++;
        renamed[before] = process.user();
        into.processes.push_back(std::move(process));
    }
    return renamed;
}

void merge_files(RawTrace& into, RawTrace& from) {
    std::map<FileKey, std::size_t> known;
    for (std::size_t i = 0; i < into.files.size(); ++i) {
        known.emplace(FileKey{into.files[i].device, into.files[i].inode}, i);
    }
    for (RawFile& file : from.files) {
        const auto found = known.find({file.device, file.inode});
        if (found == known.end()) {
            into.files.push_back(std::move(file));
        } else if (into.files[found->second].path.empty()) {
            into.files[found->second].path = std::move(file.path);
        }
    }
}

/// Pages in memory at the end, of files that were opened: cached, as are those that came in.
void merge_blocks(RawTrace& into, const RawTrace& from,
                  const std::map<std::uint32_t, std::uint32_t>& renamed) {
    std::map<BlockKey, std::size_t> known;
    for (std::size_t i = 0; i < into.blocks.size(); ++i) {
        known.emplace(key_of(into.blocks[i]), i);
    }
    for (const RawBlock& block : from.blocks) {
        const auto found = known.find(key_of(block));
        if (found != known.end()) {
            RawBlock& both = into.blocks[found->second];
            both.cached |= block.cached & ~both.own;
            continue;
        }
        RawBlock added = block;
        const auto user = renamed.find(block.user);
        added.user = user == renamed.end() ? 0 : user->second;
        into.blocks.push_back(added);
    }
}

class AddRung final : public Rung {
  public:
    [[nodiscard]] std::string name() const override { return "add"; }

    Result<void> start(const Scope& scope, boost::asio::io_context& io) override {
        if (auto started = added_->start(scope, io); !started) {
            return started;
        }
        if (auto started = resident_->start(scope, io); !started) {
            why_not_resident_ = started.error().message();
            resident_.reset();
        }
        return {};
    }

    Result<RawTrace> finish() override {
        auto trace = added_->finish();
        if (!trace) {
            return trace;
        }
        trace->limits.emplace_back(
            "what was used cannot be told from what the kernel read ahead: all of it counts");
        if (!resident_) {
            trace->limits.push_back("what was in memory before is missing: " + why_not_resident_);
            return trace;
        }
        auto resident = resident_->finish();
        if (!resident) {
            trace->limits.push_back("what was in memory before is missing: " +
                                    resident.error().message());
            return trace;
        }
        const auto renamed = merge_processes(*trace, *resident);
        merge_files(*trace, *resident);
        merge_blocks(*trace, *resident, renamed);
        trace->losses.blocks += resident->losses.blocks;
        trace->losses.names += resident->losses.names;
        trace->losses.processes += resident->losses.processes;
        trace->losses.opens += resident->losses.opens;
        trace->losses.probes += resident->losses.probes;
        trace->limits.insert(trace->limits.end(), resident->limits.begin(), resident->limits.end());
        return trace;
    }

  private:
    std::unique_ptr<Rung> added_ = make_bpf_rung("add");
    std::unique_ptr<Rung> resident_ = make_residency_rung();
    std::string why_not_resident_;
};

}  // namespace

std::unique_ptr<Rung> make_rung(const std::string& name) {
    if (name == "residency") {
        return make_residency_rung();
    }
    return name == "add" ? std::make_unique<AddRung>() : make_bpf_rung(name);
}

}  // namespace lull::collector
