// SPDX-License-Identifier: MIT
// The logs of a classic archive that tell of the machine as a whole: proc_stat.log,
// proc_diskstats.log and proc_meminfo.log.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bootchart/boot.hpp"
#include "bootchart/member.hpp"

namespace lull::bootchart {

/// /proc/stat. CPU times stay in ticks until the tick is known.
class StatLog final : public BlockMember {
  public:
    explicit StatLog(const Limits& limits) : BlockMember(limits.blocks) {}

    [[nodiscard]] unsigned cpus() const { return cpus_; }
    /// Wall clock at the start of the kernel, seconds since the epoch.
    [[nodiscard]] std::optional<std::int64_t> boot_time() const { return boot_time_; }

    /// Ticks per second, found from how many of them went by: sum of all CPUs' times against the
    /// clock of the blocks. 100 unless the data say that it is nearer to another value that Linux
    /// has been built with; old kernels lose ticks, so the two never agree closely.
    [[nodiscard]] int ticks_per_second() const;

    [[nodiscard]] std::vector<CpuSample> samples(int ticks_per_second) const;
    [[nodiscard]] std::optional<std::int64_t> first_time() const;
    [[nodiscard]] std::optional<std::int64_t> last_time() const;

  private:
    // user nice system idle iowait irq softirq steal; guests are in user already.
    static constexpr std::size_t kFields = 8;
    struct Row {
        std::int64_t time = 0;
        std::array<std::uint64_t, kFields> ticks{};
    };

    void begin_block(std::int64_t time) override;
    void data(std::string_view text) override;
    void end_block(bool complete) override;

    std::vector<Row> rows_;
    std::int64_t time_ = 0;
    unsigned cpus_in_block_ = 0;
    unsigned cpus_ = 0;
    std::optional<std::int64_t> boot_time_;
};

/// /proc/diskstats: lines of 14 fields and more, and the lines of 7 that kernels before 2.6.25
/// printed for partitions. Sectors are 512 bytes, whatever the disk has.
class DiskLog final : public BlockMember {
  public:
    explicit DiskLog(const Limits& limits) : BlockMember(limits.blocks), limits_(limits) {}

    /// Disks with any I/O, in order of their appearance.
    [[nodiscard]] std::vector<Disk> take();
    [[nodiscard]] bool too_many() const { return too_many_; }
    [[nodiscard]] std::optional<std::int64_t> first_time() const { return first_time_; }
    [[nodiscard]] std::optional<std::int64_t> last_time() const { return last_seen_; }

  private:
    struct Counters {
        std::uint64_t reads = 0;
        std::uint64_t sectors_read = 0;
        std::uint64_t writes = 0;
        std::uint64_t sectors_written = 0;
        std::uint64_t busy_ms = 0;
    };
    struct Entry {
        Disk disk;
        Counters last;
        std::int64_t last_time = 0;
    };

    void begin_block(std::int64_t time) override;
    void data(std::string_view text) override;
    void end_block(bool /*complete*/) override {}
    void add(Entry& entry, const Counters& now);

    Limits limits_;
    std::map<std::string, std::size_t, std::less<>> index_;
    std::vector<Entry> entries_;
    std::size_t samples_ = 0;
    bool too_many_ = false;
    std::int64_t time_ = 0;
    std::int64_t previous_time_ = 0;
    std::optional<std::int64_t> first_time_;
    std::optional<std::int64_t> last_seen_;
    std::size_t next_in_block_ = 0;
};

/// /proc/meminfo.
class MemoryLog final : public BlockMember {
  public:
    explicit MemoryLog(const Limits& limits) : BlockMember(limits.blocks) {}

    [[nodiscard]] std::vector<MemorySample> take() { return std::move(samples_); }

  private:
    void begin_block(std::int64_t time) override;
    void data(std::string_view text) override;
    void end_block(bool complete) override;

    std::vector<MemorySample> samples_;
    MemorySample now_;
    std::uint64_t swap_total_ = 0;
    std::uint64_t swap_free_ = 0;
};

/// Decides which of these disks count, see Disk::counted. A name that is another one's and a
/// number ("sda1", "nvme0n1p2") is a partition, unless there is no such disk (Xen gives single
/// partitions). Devices made of others count only where there is nothing else.
void choose_counted(std::vector<Disk>& disks);

}  // namespace lull::bootchart
