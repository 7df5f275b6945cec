// SPDX-License-Identifier: MIT
// 23 files with known uses, and what a rung makes of them. Each rung that sees demand must see
// exactly these pages, from a cold and from a warm page cache.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/kernel_btf.hpp"
#include "tests/collector/recorder.hpp"
#include "tests/needs.hpp"

namespace lull::collector {
namespace {

using Pages = std::set<std::uint64_t>;

const char* const kTouched = "touched-alone";
const Pages kTouchedPages{0, 17, 31, 32, 63};

struct Case {
    std::string name;                                  ///< of the file
    std::uint64_t size;                                ///< pages
    std::vector<std::vector<std::string>> operations;  ///< operation and list, as page_reader's
    Pages demand;
};

std::string long_name() {
    return std::string(255, 'n');
}

/// Rung events cannot tell what a read waited for where the kernel has no tracepoint for it (as in
/// 6.12); the trace then says so. Rung fentry sees each read begin, before any page comes.
bool sees_waiting_reads(const std::string& rung) {
    const auto kernel = bpf::KernelBtf::load();
    return rung != "events" || (kernel.ok() && kernel->has_tracepoint("page_cache_sync_ra"));
}

/// 20 files; the test adds the executable, the hard link and the bind mount.
std::vector<Case> cases() {
    return {
        {"whole", 7, {{"read", "0,28672,4096"}}, pages(0, 7)},
        {"short-end", 2, {{"read", "0,65536,65536"}}, pages(0, 2)},
        {"odd-offset", 3, {{"pread", "4095,2"}}, {0, 1}},
        {"one-byte", 5, {{"pread", "10000,1"}}, {2}},
        {"over-a-block-end", 64, {{"pread", "130000,3000"}}, {31, 32}},
        {"many-blocks", 300, {{"read", "4096,1048576,1048576"}}, pages(1, 257)},
        {"past-the-end", 4, {{"pread", "16384,4096"}, {"pread", "12288,999999"}}, {3}},
        {"scattered",
         97,
         {{"pread", "0,1"}, {"pread", "94208,1"}, {"pread", "389120,4096"}},
         {0, 23, 95}},
        {"page-by-page", 23, {{"read", "0,94208,1000"}}, pages(0, 23)},
        {kTouched, 64, {{"touch-alone", "63,0,17,31,32"}}, kTouchedPages},
        {"stored", 16, {{"store", "3,9"}}, {3, 9}},
        {"stored-shared", 16, {{"store-shared", "4"}}, {4}},
        {"sent", 40, {{"sendfile", "0,40960"}}, pages(0, 10)},
        {"sent-from-the-middle", 40, {{"sendfile", "50001,1000"}}, {12}},
        {"deleted", 6, {{"read", "0,24576,4096"}, {"unlink", "0"}}, pages(0, 6)},
        {"new\nline", 3, {{"pread", "4096,4096"}}, {1}},
        {long_name(), 3, {{"pread", "8192,1"}}, {2}},
        {"not-utf8-\xff\xfe", 3, {{"pread", "0,1"}}, {0}},
        {"read-twice", 5, {{"pread", "0,8192"}, {"pread", "4096,8192"}}, {0, 1, 2}},
        {"opened-before", 9, {{"pread", "20480,8192"}}, {5, 6}},
    };
}

class ExactCount : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        LULL_NEEDS_ROOT();
        auto disk = test::LoopMount::make();
        ASSERT_TRUE(disk.ok()) << disk.error().message();
        disk_ = *std::move(disk);
    }

    void make_files() {
        for (const Case& each : cases()) {
            ASSERT_TRUE(test::write_pages(disk_->path(each.name), 0, each.size).ok());
        }
        // 4097 bytes in two pages, so that the end of the file is not the end of a page.
        ASSERT_EQ(::truncate(disk_->path("short-end").c_str(), 4097), 0);
        ASSERT_TRUE(test::write_pages(disk_->path("sparse"), 200, 1).ok());
        ASSERT_TRUE(test::write_pages(disk_->path("linked"), 0, 4).ok());
        ASSERT_EQ(::link(disk_->path("linked").c_str(), disk_->path("link").c_str()), 0);
        ASSERT_TRUE(test::write_pages(disk_->path("bound"), 0, 4).ok());
        ASSERT_EQ(::mkdir(disk_->path("by").c_str(), 0755), 0);
        ASSERT_EQ(::mount(disk_->directory().c_str(), disk_->path("by").c_str(), nullptr, MS_BIND,
                          nullptr),
                  0);
    }

    [[nodiscard]] std::vector<std::string> operations() const {
        std::vector<std::string> all{"open", disk_->path("opened-before"), "0", "wait", "-", "0"};
        for (const Case& each : cases()) {
            for (const auto& operation : each.operations) {
                all.insert(all.end(), {operation[0], disk_->path(each.name), operation[1]});
            }
        }
        // 3 holes of a sparse file and its only data page.
        all.insert(all.end(), {"pread", disk_->path("sparse"), "409600,12288"});
        all.insert(all.end(), {"pread", disk_->path("sparse"), "819200,1"});
        all.insert(all.end(), {"pread", disk_->path("linked"), "0,1"});
        all.insert(all.end(), {"pread", disk_->path("link"), "4096,1"});
        all.insert(all.end(), {"pread", disk_->path("by/bound"), "8192,1"});
        return all;
    }

    void evict_all() {
        for (const Case& each : cases()) {
            ASSERT_TRUE(test::evict(disk_->path(each.name)).ok()) << each.name;
        }
        for (const char* name : {"sparse", "linked", "bound"}) {
            ASSERT_TRUE(test::evict(disk_->path(name)).ok()) << name;
        }
    }

    /// Everything above, recorded.
    db::Trace record() {
        const auto reader = PageReader::start(operations());
        EXPECT_TRUE(reader.ok());
        auto recorder = Recorder::start(GetParam(), disk_->directory());
        EXPECT_TRUE(recorder.ok()) << recorder.error().message();
        if (!reader || !recorder) {
            return {};
        }
        (*reader)->proceed();
        EXPECT_TRUE((*reader)->join());
        auto trace = (*recorder)->finish();
        EXPECT_TRUE(trace.ok());
        return trace ? *std::move(trace) : db::Trace{};
    }

    static void expect_demand(const db::Trace& trace) {
        for (const Case& each : cases()) {
            if (each.name == kTouched) {
                continue;
            }
            EXPECT_EQ(pages_of(trace, "/" + each.name, db::Use::kDemand), each.demand) << each.name;
        }
        EXPECT_EQ(pages_of(trace, "/sparse", db::Use::kDemand), (Pages{100, 101, 102, 200}));
        Pages linked = pages_of(trace, "/linked", db::Use::kDemand);
        linked.merge(pages_of(trace, "/link", db::Use::kDemand));
        EXPECT_EQ(linked, (Pages{0, 1}));
        EXPECT_EQ(pages_of(trace, "/bound", db::Use::kDemand), (Pages{2}));
        EXPECT_FALSE(trace.boot.losses.any());
    }

    std::unique_ptr<test::LoopMount> disk_;
};

/// Of each of our BPF programs that are loaded: how many instructions the verifier looked at.
std::map<std::string, std::uint32_t> verified_instructions() {
    std::map<std::string, std::uint32_t> verified;
    std::uint32_t id = 0;
    while (bpf_prog_get_next_id(id, &id) == 0) {
        const Fd program(bpf_prog_get_fd_by_id(id));
        bpf_prog_info info{};
        std::uint32_t size = sizeof(info);
        if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0) {
            continue;
        }
        const std::string name = info.name;
        if (name.rfind("on_", 0) == 0 || name.rfind("enter_", 0) == 0) {
            verified[name] = info.verified_insns;
        }
    }
    return verified;
}

/// The verifier gives up at a million instructions or 8192 branches that wait to be followed, which
/// a small change can reach at once on another kernel; one that needs a hundred thousand is on the
/// way there.
TEST_P(ExactCount, ProgramsAreFarFromTheVerifiersLimits) {
    constexpr std::uint32_t kMany = 60'000;
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok()) << recorder.error().message();
    const auto verified = verified_instructions();
    EXPECT_GE(verified.size(), 3U);
    for (const auto& [name, instructions] : verified) {
        std::printf("%s: %u instructions verified\n", name.c_str(), instructions);
        EXPECT_LT(instructions, kMany) << name;
    }
    EXPECT_TRUE((*recorder)->finish().ok());
}

TEST_P(ExactCount, OfAColdCache) {
    make_files();
    evict_all();
    const db::Trace trace = record();
    expect_demand(trace);
    EXPECT_EQ(pages_of(trace, "/touched-alone", db::Use::kDemand), kTouchedPages);
    EXPECT_EQ(trace.files.size(), 23 + 1U) << "the 23 files and the metadata of the disk";
    // What was waited for: the first page of a sequential read, not what readahead brought.
    const auto waited = sees_waiting_reads(GetParam()) ? db::Source::kMiss : db::Source::kReadahead;
    EXPECT_TRUE(pages_of(trace, "/page-by-page", db::Use::kDemand, waited).contains(0));
    EXPECT_TRUE(
        pages_of(trace, "/page-by-page", db::Use::kDemand, db::Source::kReadahead).contains(10));
    EXPECT_EQ(pages_of(trace, "/touched-alone", db::Use::kDemand, db::Source::kMiss),
              kTouchedPages);
}

TEST_P(ExactCount, OfAWarmCache) {
    make_files();
    const db::Trace trace = record();
    expect_demand(trace);
    for (const Case& each : cases()) {
        if (each.name != kTouched) {
            EXPECT_EQ(pages_of(trace, "/" + each.name, db::Use::kDemand, db::Source::kMemory),
                      each.demand)
                << each.name;
        }
    }
    // In a warm cache a fault maps its neighbours, and a touch of those is not seen: what is seen
    // was touched, and what was touched is seen or among the neighbours.
    const Pages seen = pages_of(trace, "/touched-alone", db::Use::kDemand);
    const Pages mapped = pages_of(trace, "/touched-alone", db::Use::kMapped);
    EXPECT_TRUE(
        std::includes(kTouchedPages.begin(), kTouchedPages.end(), seen.begin(), seen.end()));
    EXPECT_TRUE(seen.contains(63) && seen.contains(0)) << "no fault before them was near";
    for (const std::uint64_t page : kTouchedPages) {
        EXPECT_TRUE(seen.contains(page) || mapped.contains(page)) << page;
    }
}

TEST_P(ExactCount, IdentifiesEachFile) {
    make_files();
    const db::Trace trace = record();
    ASSERT_EQ(trace.devices.size(), 1U);
    EXPECT_EQ(trace.devices[0].fs_type, "ext4");
    EXPECT_EQ(trace.devices[0].mount_point, disk_->directory());
    const auto uuid = test::output_of({"blkid", "-o", "value", "-s", "UUID", disk_->device()});
    ASSERT_TRUE(uuid.ok());
    EXPECT_EQ(trace.devices[0].fs_uuid, *uuid);
    for (const Case& each : cases()) {
        const db::File* file = file_of(trace, "/" + each.name);
        ASSERT_NE(file, nullptr) << each.name;
        if (each.name == "deleted") {
            EXPECT_TRUE(file->deleted);
            continue;
        }
        struct stat facts {};
        ASSERT_EQ(::stat(disk_->path(each.name).c_str(), &facts), 0);
        EXPECT_FALSE(file->deleted);
        EXPECT_EQ(file->inode, facts.st_ino);
        EXPECT_EQ(file->size, static_cast<std::uint64_t>(facts.st_size));
        EXPECT_EQ(file->mtime_ns, facts.st_mtim.tv_sec * 1'000'000'000L + facts.st_mtim.tv_nsec);
    }
}

TEST_P(ExactCount, KnowsWhoReadFirst) {
    make_files();
    const auto reader = PageReader::start(operations());
    ASSERT_TRUE(reader.ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok());
    const auto pid = static_cast<std::uint32_t>((*reader)->pid());
    (*reader)->proceed();
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    for (const db::Read& read : trace->reads) {
        ASSERT_TRUE(read.process.has_value());
        const db::Process& process = trace->processes[*read.process];
        EXPECT_EQ(process.pid, pid);
        EXPECT_EQ(process.parent_pid, static_cast<std::uint32_t>(::getpid()));
        EXPECT_EQ(process.comm, "page_reader");
        EXPECT_TRUE(process.executable.ends_with("/page_reader")) << process.executable;
        EXPECT_TRUE(process.cgroup.starts_with("/"));
        EXPECT_GT(read.first_use_ns, 0U);
    }
}

TEST_P(ExactCount, LeavesOutWhatLullReads) {
    ASSERT_TRUE(test::write_pages(disk_->path("own"), 0, 10).ok());
    ASSERT_TRUE(test::evict(disk_->path("own")).ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok());
    std::ifstream(disk_->path("own")).ignore(10L * 4096);
    const auto reader = PageReader::start({"pread", disk_->path("own"), "36864,1"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(pages_of(*trace, "/own", db::Use::kDemand), (Pages{9}));
    EXPECT_EQ(pages_of(*trace, "/own", db::Use::kDemand, db::Source::kReplay), (Pages{9}))
        << "this process read ahead of it";
}

TEST_P(ExactCount, SeesAProgramStart) {
    const auto copied = test::run({"cp", "/bin/true", disk_->path("program")});
    ASSERT_TRUE(copied.ok());
    ASSERT_TRUE(test::evict(disk_->path("program")).ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok());
    const auto reader = PageReader::start({"exec", disk_->path("program"), "0"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    const Pages demand = pages_of(*trace, "/program", db::Use::kDemand);
    EXPECT_TRUE(demand.contains(0)) << "the ELF header, read by the kernel";
    EXPECT_GT(demand.size(), 1U) << "code and data, by page faults";
    ASSERT_EQ(trace->processes.size(), 1U);
    EXPECT_EQ(trace->processes[0].comm, "program") << "not page_reader, which called exec";
}

TEST_P(ExactCount, TellsNeighboursOfAFaultApart) {
    ASSERT_TRUE(test::write_pages(disk_->path("mapped"), 0, 64).ok());
    ASSERT_TRUE(test::evict(disk_->path("mapped")).ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok());
    // The read-around of page 0 brings its neighbours, and the fault then maps those of its window:
    // the touch of page 2 makes no event. Page 30 is in the next window.
    const auto reader = PageReader::start({"touch", disk_->path("mapped"), "0,2,30"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(pages_of(*trace, "/mapped", db::Use::kDemand), (Pages{0, 30}));
    const Pages mapped = pages_of(*trace, "/mapped", db::Use::kMapped);
    EXPECT_TRUE(mapped.contains(2));
    EXPECT_FALSE(mapped.contains(60)) << "too far for any window";
    const std::size_t of_the_kernel = sees_waiting_reads(GetParam()) ? 0 : 1;
    ASSERT_EQ(trace->boot.limits.size(), of_the_kernel + 1) << "and the trace says it cannot tell";
}

TEST_P(ExactCount, SeesThatAKnownWindowHasFilledUp) {
    ASSERT_TRUE(test::write_pages(disk_->path("mapped"), 0, 64).ok());
    ASSERT_TRUE(test::evict(disk_->path("mapped")).ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory());
    ASSERT_TRUE(recorder.ok());
    // The fault on page 5 finds page 3 alone in memory. Then pages 1 and 2 come by readahead, and
    // the fault on page 7 in the same window maps them.
    const std::string file = disk_->path("mapped");
    const auto reader = PageReader::start({"touch-alone", file, "3", "touch-alone", file, "5",
                                           "pread", file, "0,1", "touch-alone", file, "7"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(pages_of(*trace, "/mapped", db::Use::kDemand), (Pages{0, 3, 5, 7}));
    const Pages mapped = pages_of(*trace, "/mapped", db::Use::kMapped);
    EXPECT_TRUE(mapped.contains(1));
    EXPECT_TRUE(mapped.contains(2));
    EXPECT_FALSE(mapped.contains(4)) << "never in memory";
}

TEST_P(ExactCount, FindsTheNamesOfManyFiles) {
    // More than are told at their first use (NAMES_AT_USE of bpf/shared.h).
    constexpr int kFiles = 8300;
    std::vector<std::string> operations;
    for (int i = 0; i < kFiles; ++i) {
        const std::string path = disk_->path("small" + std::to_string(i));
        std::ofstream(path) << 'x';
        operations.insert(operations.end(), {"pread", path, "0,1"});
    }
    auto recorder = Recorder::start(GetParam(), disk_->directory(), 2 * kFiles);
    ASSERT_TRUE(recorder.ok());
    const auto reader = PageReader::start(operations);
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    std::set<std::string> names;
    for (const db::File& file : trace->files) {
        if (file.kind == db::FileKind::kRegular) {
            names.insert(file.path);
        }
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(kFiles));
    EXPECT_TRUE(names.contains("/small0"));
    EXPECT_TRUE(names.contains("/small8299"));
    EXPECT_FALSE(trace->boot.losses.any());
}

TEST_P(ExactCount, CountsWhatTheMapCannotHold) {
    ASSERT_TRUE(test::write_pages(disk_->path("large"), 0, 32ULL * 23).ok());
    auto recorder = Recorder::start(GetParam(), disk_->directory(), 5);
    ASSERT_TRUE(recorder.ok());
    const auto reader = PageReader::start({"read", disk_->path("large"), "0,3014656,131072"});
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->join());
    const auto trace = (*recorder)->finish();
    ASSERT_TRUE(trace.ok());
    EXPECT_GE(trace->boot.losses.blocks, 18U);
    EXPECT_FALSE(trace->boot.complete());
}

/// The kernel of a developer's machine may lack what a rung needs; tests/system/qemu_test.sh boots
/// one that has it, and names the rung.
std::string rung_to_test() {
    const char* named = std::getenv("LULL_TEST_RUNG");
    return named != nullptr ? named : "events";
}

INSTANTIATE_TEST_SUITE_P(Rung, ExactCount, testing::Values(rung_to_test()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace lull::collector
