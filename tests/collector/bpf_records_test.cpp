// SPDX-License-Identifier: MIT
#include "collector/bpf_records.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace lull::collector {
namespace {

using Bytes = std::vector<std::byte>;
using namespace std::string_literals;

constexpr u32 kDisk = 8 << 20 | 1;

template <typename Head>
Bytes record_of(Head head, const std::string& names) {
    Bytes bytes(sizeof(head) + names.size());
    std::memcpy(bytes.data(), &head, sizeof(head));
    std::copy(names.begin(), names.end(), reinterpret_cast<char*>(bytes.data()) + sizeof(head));
    return bytes;
}

struct Name {
    u64 inode = 0;
    u64 parent = 0;
    std::string name;
    u32 device = kDisk;
    u32 generation = 0;
};

Bytes name_record(record_kind kind, const Name& told) {
    file_head head{};
    head.kind = kind;
    head.device = told.device;
    head.inode = told.inode;
    head.parent = told.parent;
    head.generation = told.generation;
    head.names_bytes = static_cast<u32>(told.name.size());
    return record_of(head, told.name);
}

Bytes file(const Name& told) {
    return name_record(RECORD_FILE, told);
}

Bytes directory(const Name& told) {
    return name_record(RECORD_DIRECTORY, told);
}

process_head process_head_of(u32 pid, const std::string& comm) {
    process_head head{};
    head.kind = RECORD_PROCESS;
    head.pid = pid;
    head.exec_id = 3;
    head.parent_pid = 1;
    head.exe_device = kDisk;
    head.exe_inode = 77;
    head.first_use_ns = 5000;
    std::memcpy(head.comm, comm.data(), std::min<std::size_t>(comm.size(), COMM_BYTES));
    return head;
}

Bytes process(u32 pid, const std::string& comm, const std::string& names) {
    process_head head = process_head_of(pid, comm);
    head.names_bytes = static_cast<u32>(names.size());
    return record_of(head, names);
}

RawTrace read(const std::vector<Bytes>& records) {
    RecordReader reader;
    for (const Bytes& record : records) {
        reader.take(record);
    }
    return std::move(reader).trace();
}

/// What the trace knows of regular files.
std::vector<RawFile> files(const RawTrace& trace) {
    std::vector<RawFile> found;
    std::copy_if(trace.files.begin(), trace.files.end(), std::back_inserter(found),
                 [](const RawFile& each) { return each.kind == db::FileKind::kRegular; });
    return found;
}

/// The path of each file by its inode.
std::map<u64, std::string> paths(const RawTrace& trace) {
    std::map<u64, std::string> found;
    for (const RawFile& each : files(trace)) {
        EXPECT_TRUE(found.emplace(each.inode, each.path).second) << each.inode << " twice";
    }
    return found;
}

/// "/usr/lib/a", "/usr/b" and "/c".
std::vector<Bytes> small_tree() {
    return {directory({2, 0, ""}), directory({11, 2, "usr"}), directory({12, 11, "lib"}),
            file({101, 12, "a"}),  file({102, 11, "b"}),      file({103, 2, "c"})};
}

TEST(Records, MakePathsInAnyOrder) {
    std::vector<Bytes> records = small_tree();
    std::sort(records.begin(), records.end());
    const std::map<u64, std::string> wanted{{101, "/usr/lib/a"}, {102, "/usr/b"}, {103, "/c"}};
    int orders = 0;
    do {
        const RawTrace trace = read(records);
        ASSERT_EQ(paths(trace), wanted);
        ASSERT_EQ(trace.losses.names, 0U);
        ++orders;
    } while (std::next_permutation(records.begin(), records.end()));
    EXPECT_EQ(orders, 720);
}

TEST(Records, KeepWhatIsKnownOfAFile) {
    const RawTrace trace = read({directory({2, 0, ""}), file({101, 2, "a", kDisk, 99})});
    const std::vector<RawFile> found = files(trace);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].device, kDisk);
    EXPECT_EQ(found[0].inode, 101U);
    EXPECT_EQ(found[0].generation, 99U);
}

TEST(Records, KeepTheDirectoriesAboveAFile) {
    const RawTrace trace = read(small_tree());
    std::map<u64, std::string> found;
    for (const RawFile& each : trace.files) {
        if (each.kind == db::FileKind::kDirectory) {
            found[each.inode] = each.path;
        }
    }
    EXPECT_EQ(found, (std::map<u64, std::string>{{2, "/"}, {11, "/usr"}, {12, "/usr/lib"}}));
}

TEST(Records, KeepNamesAsTheyAre) {
    const std::string longest(NAME_BYTES - 1, 'n');
    const RawTrace trace = read({directory({2, 0, ""}), file({101, 2, "new\nline"}),
                                 file({102, 2, "\xff\xfe"}), file({103, 2, longest})});
    EXPECT_EQ(paths(trace), (std::map<u64, std::string>{
                                {101, "/new\nline"}, {102, "/\xff\xfe"}, {103, "/" + longest}}));
}

TEST(Records, OfTwoDisksDoNotMix) {
    constexpr u32 kOther = 8 << 20 | 2;
    const RawTrace trace =
        read({directory({2, 0, "", kDisk}), directory({2, 0, "", kOther}),
              directory({11, 2, "here", kDisk}), directory({11, 2, "there", kOther}),
              file({101, 11, "a", kDisk}), file({101, 11, "a", kOther}),
              directory({12, 2, "only-here", kDisk}), file({102, 12, "b", kOther})});
    std::map<std::pair<u32, u64>, std::string> found;
    for (const RawFile& each : files(trace)) {
        found[{each.device, each.inode}] = each.path;
    }
    EXPECT_EQ(found,
              (std::map<std::pair<u32, u64>, std::string>{
                  {{kDisk, 101}, "/here/a"}, {{kOther, 101}, "/there/a"}, {{kOther, 102}, ""}}));
}

TEST(Records, GiveNoPathThatDoesNotReachTheTop) {
    const RawTrace trace = read({directory({11, 2, "usr"}), directory({12, 11, "lib"}),
                                 file({101, 12, "a"}), file({102, 99, "b"})});
    EXPECT_EQ(paths(trace), (std::map<u64, std::string>{{101, ""}, {102, ""}}));
    EXPECT_EQ(trace.losses.names, 0U) << "the file can still be found by its inode";
}

TEST(Records, GiveNoPathToAFileWithoutAName) {
    const RawTrace trace = read({directory({2, 0, ""}), file({101, 0, ""})});
    EXPECT_EQ(paths(trace), (std::map<u64, std::string>{{101, ""}}));
}

TEST(Records, ThatLeadInACircleGiveNoPath) {
    const RawTrace trace =
        read({directory({11, 12, "a"}), directory({12, 11, "b"}), file({101, 12, "c"}),
              directory({13, 13, "self"}), file({102, 13, "d"})});
    EXPECT_EQ(paths(trace), (std::map<u64, std::string>{{101, ""}, {102, ""}}));
}

/// A file at the end of a path of `bytes`, its directories with the longest names.
RawTrace deep_file(std::size_t bytes) {
    RecordReader reader;
    reader.take(directory({2, 0, ""}));
    u64 at = 2;
    std::size_t left = bytes;
    while (left > NAME_BYTES) {
        reader.take(directory({at + 1, at, std::string(NAME_BYTES - 1, 'd')}));
        left -= NAME_BYTES;
        ++at;
    }
    reader.take(file({1000, at, std::string(left - 1, 'f')}));
    return std::move(reader).trace();
}

TEST(Records, GiveAPathThatCanBeOpenedOrNone) {
    constexpr std::size_t kLongest = 4095;  // PATH_MAX less its end
    EXPECT_EQ(paths(deep_file(kLongest)).at(1000).size(), kLongest);
    EXPECT_EQ(paths(deep_file(kLongest + 1)).at(1000), "");
}

TEST(Records, ThatComeAgainChangeNothing) {
    std::vector<Bytes> records = small_tree();
    records.push_back(process(7, "cat", "x\0"s));
    const std::size_t once = records.size();
    for (std::size_t i = 0; i < once; ++i) {
        records.push_back(records[i]);
    }
    records.push_back(file({101, 2, "renamed"}));
    const RawTrace trace = read(records);
    EXPECT_EQ(paths(trace),
              (std::map<u64, std::string>{{101, "/usr/lib/a"}, {102, "/usr/b"}, {103, "/c"}}));
    EXPECT_EQ(trace.processes.size(), 1U);
    EXPECT_EQ(trace.losses.names, 0U);
}

TEST(Records, OfAProcessKeepWhatIsKnown) {
    const RawTrace trace = read({process(4711, "cat", "ssh.service\0system.slice\0"s)});
    ASSERT_EQ(trace.processes.size(), 1U);
    const RawProcess& found = trace.processes[0];
    EXPECT_EQ(found.pid, 4711U);
    EXPECT_EQ(found.exec_id, 3U);
    EXPECT_EQ(found.parent_pid, 1U);
    EXPECT_EQ(found.exe_device, kDisk);
    EXPECT_EQ(found.exe_inode, 77U);
    EXPECT_EQ(found.first_use_ns, 5000U);
    EXPECT_EQ(found.comm, "cat");
    EXPECT_EQ(found.cgroup, "/system.slice/ssh.service");
}

TEST(Records, OfAProcessAtTheTopOfTheCgroups) {
    const RawTrace trace = read({process(1, "init", "")});
    ASSERT_EQ(trace.processes.size(), 1U);
    EXPECT_EQ(trace.processes[0].cgroup, "/");
}

TEST(Records, OfAProcessMayLackTheEndOfItsComm) {
    const RawTrace trace = read({process(7, "sixteen-letters!", "a\0"s)});
    ASSERT_EQ(trace.processes.size(), 1U);
    EXPECT_EQ(trace.processes[0].comm, "sixteen-letters!");
    EXPECT_EQ(trace.processes[0].cgroup, "/a");
}

TEST(Records, TellTheProgramsOfOneProcessApart) {
    process_head first = process_head_of(7, "sh");
    process_head second = process_head_of(7, "cat");
    second.exec_id = first.exec_id + 1;
    const RawTrace trace = read({record_of(first, ""), record_of(second, "")});
    EXPECT_EQ(trace.processes.size(), 2U);
}

TEST(Records, ThatWereCutShortAreLosses) {
    std::vector<Bytes> whole = small_tree();
    whole.push_back(process(7, "cat", "x\0y\0"s));
    for (const Bytes& record : whole) {
        for (std::size_t size = 0; size < record.size(); ++size) {
            const RawTrace trace = read({Bytes(record.begin(), record.begin() + size)});
            EXPECT_EQ(trace.losses.names, 1U) << size << " of " << record.size() << " bytes";
            EXPECT_TRUE(trace.files.empty() && trace.processes.empty());
        }
        EXPECT_EQ(read({record}).losses.names, 0U);
    }
}

TEST(Records, WhoseSizesLieAreLosses) {
    for (const u32 claimed : {5U, 1000U, 0x7fffffffU, 0xffffffffU}) {
        file_head head{};
        head.kind = RECORD_FILE;
        head.inode = 101;
        head.names_bytes = claimed;
        EXPECT_EQ(read({record_of(head, "name")}).losses.names, 1U) << claimed;
        process_head user = process_head_of(7, "cat");
        user.names_bytes = claimed;
        EXPECT_EQ(read({record_of(user, "abc\0"s)}).losses.names, 1U) << claimed;
    }
}

TEST(Records, MayBeLongerThanTheySay) {
    // The ring pads a record.
    Bytes record = file({101, 2, "name"});
    record.resize(record.size() + 7, std::byte{'z'});
    const RawTrace trace = read({directory({2, 0, ""}), record});
    EXPECT_EQ(paths(trace), (std::map<u64, std::string>{{101, "/name"}}));
}

TEST(Records, OfAnUnknownKindAreLosses) {
    for (const u32 kind : {0U, 4U, 0xffffffffU}) {
        file_head head{};
        head.kind = kind;
        EXPECT_EQ(read({record_of(head, "")}).losses.names, 1U) << kind;
    }
}

TEST(Records, LeaveTheReaderEmpty) {
    RecordReader reader;
    for (const Bytes& record : small_tree()) {
        reader.take(record);
    }
    reader.take(Bytes());
    EXPECT_EQ(std::move(reader).trace().files.size(), small_tree().size());
    reader = RecordReader();
    const RawTrace trace = std::move(reader).trace();
    EXPECT_TRUE(trace.files.empty());
    EXPECT_EQ(trace.losses.names, 0U);
}

/// A record that is right in most of its parts, so that it gets past the first checks.
Bytes random_record(std::mt19937& random) {
    const auto below = [&random](u32 end) { return static_cast<u32>(random() % end); };
    std::string text(below(60), '\0');
    for (char& c : text) {
        c = below(3) == 0 ? '\0' : static_cast<char>(below(256));
    }
    Bytes record;
    switch (below(4)) {
        case 0:
            record = file({below(40), below(40), text, below(2)});
            break;
        case 1:
            record = directory({below(40), below(40), text, below(2)});
            break;
        case 2:
            record = process(below(10), text, text);
            break;
        default:
            record.resize(below(100));
            for (std::byte& byte : record) {
                byte = static_cast<std::byte>(below(256));
            }
    }
    if (!record.empty() && below(3) == 0) {
        record[below(static_cast<u32>(record.size()))] = static_cast<std::byte>(below(256));
    }
    if (below(5) == 0) {
        record.resize(below(static_cast<u32>(record.size()) + 10));
    }
    return record;
}

TEST(Records, OfRandomBytesAreTakenOrCounted) {
    std::random_device entropy;
    for (int run = 0; run < 50; ++run) {
        const unsigned seed = entropy();
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        RecordReader reader;
        constexpr std::size_t kRecords = 500;
        for (std::size_t i = 0; i < kRecords; ++i) {
            // A copy of its own, so that a sanitizer sees any step beyond its end.
            const Bytes record = random_record(random);
            reader.take(record);
        }
        const RawTrace trace = std::move(reader).trace();
        EXPECT_LE(trace.files.size() + trace.processes.size() + trace.losses.names, kRecords);
        EXPECT_FALSE(trace.files.empty() || trace.processes.empty());
        EXPECT_GT(trace.losses.names, 0U);
        for (const RawFile& each : trace.files) {
            EXPECT_TRUE(each.path.empty() || each.path.front() == '/');
        }
        for (const RawProcess& each : trace.processes) {
            EXPECT_LE(each.comm.size(), static_cast<std::size_t>(COMM_BYTES));
            EXPECT_TRUE(each.cgroup.starts_with('/'));
        }
    }
}

TEST(PathOfNames, GoesFromTheLastToTheFirst) {
    const auto path = [](const std::string& names) { return path_of_names(names); };
    EXPECT_EQ(path(""s), "");
    EXPECT_EQ(path("a\0"s), "/a");
    EXPECT_EQ(path("c\0b\0a\0"s), "/a/b/c");
}

}  // namespace
}  // namespace lull::collector
