// SPDX-License-Identifier: MIT
// The members of a boot chart archive are read as they are unpacked, piece by piece, so that memory
// depends on what they tell and not on how large they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lull::bootchart {

/// What an archive may hold. Charts are hostile until proven otherwise. The largest honest one that
/// was thought of, 300 s at 50 Hz with 300 processes at a time, is 830 MB of text.
struct Limits {
    std::uint64_t bytes = std::uint64_t{1} << 30;  ///< unpacked, all members together
    std::size_t members = 4096;                    ///< also those that are not read
    std::size_t blocks = std::size_t{1} << 20;     ///< timed blocks of one log
    std::size_t processes = std::size_t{1} << 17;
    std::size_t samples = std::size_t{1} << 23;  ///< of one kind
    std::size_t devices = 4096;                  ///< disks and partitions
    std::size_t text = std::size_t{1} << 20;     ///< bytes of one member that is kept as text
};

/// Takes one member.
class Member {
  public:
    Member() = default;
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    virtual ~Member() = default;

    virtual void feed(std::string_view piece) = 0;
    /// After the last piece.
    virtual void finish() = 0;
};

/// Cuts a member into lines, without the newline. A line above 64 KiB (the interrupt counters of a
/// huge machine) is handed on cut to that.
class LineMember : public Member {
  public:
    void feed(std::string_view piece) final;
    void finish() final;

  protected:
    virtual void line(std::string_view text) = 0;
    virtual void end() = 0;

  private:
    std::string partial_;
};

/// Cuts a log into timed blocks: a line that holds only the time, lines of data, an empty line.
/// Blocks whose time does not grow are dropped and counted.
class BlockMember : public LineMember {
  public:
    explicit BlockMember(std::size_t max_blocks) : max_blocks_(max_blocks) {}

    [[nodiscard]] std::size_t blocks() const { return blocks_; }
    [[nodiscard]] std::size_t dropped() const { return dropped_; }
    /// Whether the empty line that ends the last block was there.
    [[nodiscard]] bool complete() const { return !in_block_; }

  protected:
    /// A block of that time begins, in units of 10 ms, since all who write such logs take
    /// /proc/uptime without its dot.
    virtual void begin_block(std::int64_t time) = 0;
    virtual void data(std::string_view text) = 0;
    virtual void end_block(bool complete) = 0;

  private:
    void line(std::string_view text) final;
    void end() final;

    std::size_t max_blocks_;
    std::size_t blocks_ = 0;
    std::size_t dropped_ = 0;
    std::int64_t last_time_ = -1;
    bool in_block_ = false;
    bool ignoring_ = false;
};

/// ns in the unit of the times of blocks.
inline constexpr std::int64_t kNsPerBlockTime = 10'000'000;

}  // namespace lull::bootchart
