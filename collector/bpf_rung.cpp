// SPDX-License-Identifier: MIT
// The three BPF rungs: loads the programs of one, reads the ring, empties the block map.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "bpf/kernel_btf.hpp"
#include "bpf/load.hpp"
#include "collector/bpf_records.hpp"
#include "collector/rung.hpp"

// clang-format off
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pages.skel.h>
// clang-format on

namespace lull::collector {
namespace {

/// A program of pages.bpf.c and what it hangs on.
struct Program {
    const char* name;
    const char* hook;  ///< tracepoint, or function for fentry
    bool function;
    bool required;        ///< the rung is nothing without it
    const char* without;  ///< what cannot be told where the kernel lacks it, if it matters
};

constexpr std::array kEveryRung = {
    Program{"on_add", "mm_filemap_add_to_page_cache", false, true, nullptr},
    Program{"on_touch", "block_touch_buffer", false, false,
            "uses of file-system metadata are not seen"},
    Program{"on_bio", "block_bio_queue", false, false,
            "readahead of file-system metadata counts as its use"},
};

constexpr std::array kEvents = {
    Program{"on_user_fault", "page_fault_user", false, false,
            "of pages that a fault found in memory, which one was used is not known"},
    Program{"on_kernel_fault", "page_fault_kernel", false, false, nullptr},
    Program{"on_sync_readahead", "page_cache_sync_ra", false, false,
            "pages that a read waited for are told as readahead"},
    Program{"on_get_pages", "mm_filemap_get_pages", false, true, nullptr},
    Program{"on_fault", "mm_filemap_fault", false, true, nullptr},
    Program{"on_map_pages", "mm_filemap_map_pages", false, true, nullptr},
};

constexpr std::array kFentry = {
    Program{"enter_read", "filemap_read", true, true, nullptr},
    Program{"enter_splice_read", "filemap_splice_read", true, false, nullptr},
    Program{"enter_fault", "filemap_fault", true, true, nullptr},
    Program{"enter_map_pages", "filemap_map_pages", true, true, nullptr},
};

std::vector<Program> programs_of(const std::string& rung) {
    std::vector<Program> programs(kEveryRung.begin(), kEveryRung.end());
    if (rung == "events") {
        programs.insert(programs.end(), kEvents.begin(), kEvents.end());
    } else if (rung == "fentry") {
        programs.insert(programs.end(), kFentry.begin(), kFentry.end());
    }
    return programs;
}

class BpfRung final : public Rung {
  public:
    explicit BpfRung(std::string name) : name_(std::move(name)) {}

    [[nodiscard]] std::string name() const override { return name_; }
    Result<void> start(const Scope& scope, boost::asio::io_context& io) override;
    Result<RawTrace> finish() override;

  private:
    Result<void> choose_programs();
    Result<void> load(const Scope& scope);
    Result<void> attach();
    void measure_get_pages();
    void read_ring();
    Result<void> read_blocks(std::vector<RawBlock>& blocks);

    std::string name_;
    std::vector<Program> programs_;
    RecordReader records_;
    std::uint64_t lost_probes_ = 0;
    std::vector<std::string> limits_;
    bpf::Skeleton<pages_bpf> skeleton_;
    bpf::Ring ring_;
    std::vector<bpf::Link> links_;
    std::optional<boost::asio::posix::stream_descriptor> ring_events_;
};

Result<void> BpfRung::choose_programs() {
    auto kernel = bpf::KernelBtf::load();
    if (!kernel) {
        return kernel.error();
    }
    for (const Program& program : programs_of(name_)) {
        if (program.function ? kernel->has_function(program.hook)
                             : kernel->has_tracepoint(program.hook)) {
            programs_.push_back(program);
        } else if (program.required) {
            return Error{ENOTSUP,
                         fmt::format("this kernel has no {} {}",
                                     program.function ? "function" : "tracepoint", program.hook)};
        } else if (program.without != nullptr) {
            limits_.emplace_back(program.without);
        }
    }
    return {};
}

/// Slots for `blocks` blocks: a power of two that they fill to 7/8 at most (bpf/state.h).
std::uint32_t slots_for(std::uint32_t blocks) {
    return static_cast<std::uint32_t>(std::bit_ceil(std::uint64_t{blocks} * 8 / 7));
}

Result<void> BpfRung::load(const Scope& scope) {
    bpf::keep_libbpf_quiet();
    skeleton_.reset(pages_bpf::open());
    if (!skeleton_) {
        return last_error("BPF programs cannot be opened");
    }
    std::set<std::string> wanted{"learn_own_exe"};
    for (const Program& program : programs_) {
        wanted.insert(program.name);
    }
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton_->obj) {
        bpf_program__set_autoload(program, wanted.count(bpf_program__name(program)) > 0);
    }
    skeleton_->rodata->scope_is_listed = !scope.devices.empty();
    skeleton_->rodata->record_cached = name_ == "add";
    const std::uint32_t slots = slots_for(scope.max_blocks);
    skeleton_->rodata->slot_mask = slots - 1;
    skeleton_->rodata->most_blocks = scope.max_blocks;
    bpf_map__set_max_entries(skeleton_->maps.blocks, slots);
    if (const int error = pages_bpf::load(skeleton_.get()); error != 0) {
        return Error{-error, fmt::format("the kernel refuses the BPF programs of rung {}", name_)};
    }
    for (const KernelDevice device : scope.devices) {
        const std::uint8_t one = 1;
        bpf_map__update_elem(skeleton_->maps.scope, &device, sizeof(device), &one, sizeof(one),
                             BPF_ANY);
    }
    bpf_test_run_opts run{};
    run.sz = sizeof(run);
    if (bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.learn_own_exe), &run) != 0) {
        limits_.emplace_back("reads by lull itself could not be told apart");
    }
    return {};
}

Result<void> BpfRung::attach() {
    for (const Program& wanted : programs_) {
        bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, wanted.name);
        bpf::Link link(bpf_program__attach(program));
        if (link) {
            links_.push_back(std::move(link));
        } else if (wanted.required) {
            const Error error = last_error(fmt::format("cannot attach to {}", wanted.hook));
            links_.clear();
            return error;
        } else {
            ++lost_probes_;
        }
    }
    return {};
}

void BpfRung::measure_get_pages() {
    const Fd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    char byte = 0;
    skeleton_->bss->measuring_pid = static_cast<unsigned>(::getpid());
    const ssize_t got = ::pread(own.get(), &byte, 1, 0);
    skeleton_->bss->measuring_pid = 0;
    if (got == 1 && skeleton_->data->measured_pages <= 1) {
        skeleton_->data->one_past_last = skeleton_->data->measured_pages == 0 ? 1 : 0;
    }
}

Result<void> BpfRung::start(const Scope& scope, boost::asio::io_context& io) {
    if (auto chosen = choose_programs(); !chosen) {
        return chosen;
    }
    if (auto loaded = load(scope); !loaded) {
        return loaded;
    }
    ring_.reset(ring_buffer__new(
        bpf_map__fd(skeleton_->maps.ring),
        [](void* reader, void* data, std::size_t size) {
            static_cast<RecordReader*>(reader)->take({static_cast<std::byte*>(data), size});
            return 0;
        },
        &records_, nullptr));
    if (!ring_) {
        return last_error("BPF ring buffer");
    }
    if (auto attached = attach(); !attached) {
        return attached;
    }
    if (name_ == "events") {
        measure_get_pages();
    }
    // Asio closes what it owns: give it a descriptor of its own.
    const int events = ::fcntl(ring_buffer__epoll_fd(ring_.get()), F_DUPFD_CLOEXEC, 0);
    if (events < 0) {
        return last_error("BPF ring buffer");
    }
    ring_events_.emplace(io, events);
    read_ring();
    return {};
}

void BpfRung::read_ring() {
    ring_events_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [this](const boost::system::error_code& error) {
                                 if (error) {
                                     return;
                                 }
                                 ring_buffer__consume(ring_.get());
                                 read_ring();
                             });
}

RawBlock raw_block(const block_slot& slot, bool unsure_is_cached) {
    RawBlock block;
    block.device = slot.device;
    block.inode = slot.inode;
    block.block = slot.block;
    block.first_use_ns = slot.first_use_ns;
    block.demand = slot.demand;
    block.mapped = slot.mapped;
    (unsure_is_cached ? block.cached : block.window) = slot.unsure;
    block.generation = slot.generation;
    block.added = slot.added;
    block.miss = slot.miss;
    block.own = slot.own;
    block.user = slot.user;
    return block;
}

/// True if the slot says anything about a use; a free one and readahead that nobody used do not.
bool is_used(const block_slot& slot) {
    return (slot.demand | slot.mapped | slot.unsure) != 0;
}

Result<void> BpfRung::read_blocks(std::vector<RawBlock>& blocks) {
    const int map = bpf_map__fd(skeleton_->maps.blocks);
    const std::uint32_t slots = bpf_map__max_entries(skeleton_->maps.blocks);
    constexpr std::uint32_t kBatch = 4096;
    std::vector<std::uint32_t> keys(kBatch);
    std::vector<block_slot> values(kBatch);
    std::uint32_t position = 0;
    for (std::uint32_t seen = 0; seen < slots;) {
        std::uint32_t count = std::min(kBatch, slots - seen);
        const int error = bpf_map_lookup_batch(map, seen == 0 ? nullptr : &position, &position,
                                               keys.data(), values.data(), &count, nullptr);
        if (error != 0 && error != -ENOENT) {
            return Error{-error, "cannot read the BPF table of blocks"};
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            if (is_used(values[i])) {
                blocks.push_back(raw_block(values[i], name_ == "add"));
            }
        }
        seen += count;
        if (error == -ENOENT) {
            break;
        }
    }
    return {};
}

Result<RawTrace> BpfRung::finish() {
    links_.clear();
    ring_buffer__consume(ring_.get());
    ring_events_.reset();
    ring_.reset();
    RawTrace trace = std::move(records_).trace();
    trace.rung = name_;
    trace.limits = std::move(limits_);
    trace.blocks.reserve(skeleton_->bss->kept_blocks);
    if (auto read = read_blocks(trace.blocks); !read) {
        return read.error();
    }
    trace.losses.blocks = skeleton_->bss->lost_blocks;
    trace.losses.names += skeleton_->bss->lost_names;
    trace.losses.processes += skeleton_->bss->lost_processes;
    trace.losses.probes = lost_probes_;
    skeleton_.reset();
    return trace;
}

}  // namespace

std::unique_ptr<Rung> make_bpf_rung(const std::string& name) {
    return std::make_unique<BpfRung>(name);
}

}  // namespace lull::collector
