// SPDX-License-Identifier: MIT
// The logs of a classic archive that tell of processes: proc_ps.log or taskstats.log, and what
// names them and tells of their parents: cmdline2.log, paternity.log, kernel_pacct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bootchart/boot.hpp"
#include "bootchart/member.hpp"

namespace lull::bootchart {

/// A process as a log shows it: times of blocks (10 ms), counters in the unit of the log.
struct SeenProcess {
    struct Sample {
        std::int64_t from = 0;
        std::int64_t to = 0;
        std::uint32_t cpu = 0;
        std::uint32_t io_wait = 0;
        bool in_disk_wait = false;  ///< state D at `to`
    };

    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string name;
    std::optional<std::uint64_t> start;  ///< ticks since the kernel started
    std::int64_t first = 0;              ///< block in which it is seen first
    std::int64_t before_first = -1;      ///< the block before that; -1 if there is none
    std::int64_t last = 0;               ///< block in which it is seen last
    std::uint64_t cpu = 0;
    std::uint64_t io_wait = 0;
    std::vector<Sample> samples;
};

/// What both logs of processes share.
class SeenProcesses : public BlockMember {
  public:
    explicit SeenProcesses(const Limits& limits) : BlockMember(limits.blocks), limits_(limits) {}

    [[nodiscard]] std::vector<SeenProcess> take() { return std::move(processes_); }
    [[nodiscard]] bool too_many() const { return too_many_; }
    [[nodiscard]] std::size_t malformed() const { return malformed_; }
    /// Whether any process ever had I/O wait by delay accounting.
    [[nodiscard]] bool has_delays() const { return has_delays_; }
    [[nodiscard]] std::optional<std::int64_t> first_time() const { return first_time_; }
    [[nodiscard]] std::optional<std::int64_t> last_time() const { return last_time_; }
    /// The last block that is known to be whole; who is missing from it has ended.
    [[nodiscard]] std::int64_t last_complete() const { return last_complete_; }

  protected:
    struct Seen {
        std::uint32_t pid = 0;
        std::uint32_t parent_pid = 0;
        std::string_view name;
        std::optional<std::uint64_t> start;
        std::uint64_t cpu = 0;
        std::uint64_t io_wait = 0;
        bool in_disk_wait = false;
    };

    void begin_block(std::int64_t time) final;
    void end_block(bool complete) final;
    void see(const Seen& seen);
    void count_malformed() { ++malformed_; }

  private:
    SeenProcess* find_or_add(const Seen& seen);

    Limits limits_;
    std::vector<SeenProcess> processes_;
    std::vector<std::uint32_t> by_pid_;  ///< index into processes_ plus 1: the latest of that pid
    std::size_t samples_ = 0;
    std::size_t malformed_ = 0;
    bool too_many_ = false;
    bool has_delays_ = false;
    std::int64_t time_ = 0;
    std::int64_t previous_ = -1;
    std::optional<std::int64_t> first_time_;
    std::optional<std::int64_t> last_time_;
    std::int64_t last_complete_ = -1;
};

/// proc_ps.log: lines of /proc/PID/stat, all processes in every block. Counters are ticks.
class ProcessLog final : public SeenProcesses {
  public:
    using SeenProcesses::SeenProcesses;

  private:
    void data(std::string_view text) override;
};

/// taskstats.log of bootchart2: "pid parent (comm) cpu blkio swapin", only tasks for which one of
/// the numbers grew. Counters are kept in us.
class TaskLog final : public SeenProcesses {
  public:
    using SeenProcesses::SeenProcesses;

  private:
    void data(std::string_view text) override;
};

/// cmdline2.log of bootchart2: the pid, ":" and the executable, ":" and the arguments divided by
/// NUL, an empty line; at each exec.
class CommandLog final : public LineMember {
  public:
    explicit CommandLog(const Limits& limits) : limits_(limits) {}

    /// The last command of a pid; empty if it is not known.
    [[nodiscard]] std::string command(std::uint32_t pid) const;

  private:
    void line(std::string_view text) override;
    void end() override {}

    Limits limits_;
    std::unordered_map<std::uint32_t, std::string> commands_;
    std::optional<std::uint32_t> pid_;
    int lines_ = 0;
    std::size_t bytes_ = 0;
};

/// Parents of processes that no block shows: paternity.log ("child parent" a line) and
/// kernel_pacct (records of BSD process accounting, version 3).
class Parents {
  public:
    explicit Parents(const Limits& limits) : limits_(limits) {}

    void add(std::uint32_t child, std::uint32_t parent);
    [[nodiscard]] std::optional<std::uint32_t> of(std::uint32_t child) const;

  private:
    Limits limits_;
    std::unordered_map<std::uint32_t, std::uint32_t> parents_;
};

class PaternityLog final : public LineMember {
  public:
    explicit PaternityLog(Parents& parents) : parents_(parents) {}

  private:
    void line(std::string_view text) override;
    void end() override {}

    Parents& parents_;
};

class AccountingLog final : public Member {
  public:
    explicit AccountingLog(Parents& parents) : parents_(parents) {}

    void feed(std::string_view piece) override;
    void finish() override {}

  private:
    void record(std::string_view bytes);

    Parents& parents_;
    std::string partial_;
};

/// What turns SeenProcess into Process.
struct ProcessUnits {
    std::int64_t cpu_unit_ns = 0;      ///< of the counters
    std::int64_t io_wait_unit_ns = 0;  ///< of the counters
    std::int64_t tick_ns = 0;          ///< of the start times
    IoWait io_wait = IoWait::kUnknown;
    std::int64_t last_complete = -1;  ///< block time
    bool only_changes = false;        ///< a process that is missing from a block may yet live
};

/// How far the clock of the blocks (10 ms) lies behind that of the start times, ns; 0 if they are
/// the same. bootchart2's collector can count from its own start.
[[nodiscard]] std::int64_t clock_offset(const std::vector<SeenProcess>& seen, std::int64_t tick_ns);

/// In order of start, parents resolved: through processes that no block shows if need be.
[[nodiscard]] std::vector<Process> make_processes(std::vector<SeenProcess> seen,
                                                  const ProcessUnits& units, std::int64_t offset_ns,
                                                  const Parents& parents,
                                                  const CommandLog& commands);

}  // namespace lull::bootchart
