// SPDX-License-Identifier: MIT
// One block device as sysfs describes it. sysfs alone: udev's database is not there early in a
// boot, and libudev cannot be pointed at another tree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"
#include "sched/disk/sysfs.hpp"
#include "sched/units.hpp"

namespace lull::sched {

/// Where the system is looked at; a test makes trees of its own.
struct SystemRoots {
    std::filesystem::path sys = "/sys";
    std::filesystem::path dev = "/dev";
    std::filesystem::path run = "/run";
    std::filesystem::path mountinfo = "/proc/self/mountinfo";
};

/// How the disk is attached, which tells more about its kind than `rotational` does.
enum class Transport : std::uint8_t {
    kAta,
    kScsi,
    kUsb,
    kNvme,
    kMmc,  ///< SD card or eMMC
    kVirtio,
    kNbd,
    kIscsi,
    kLoop,    ///< a file
    kMemory,  ///< zram, ram, pmem
    kOther,
};
[[nodiscard]] std::string_view to_string(Transport transport);

/// What a whole disk says of itself. What sysfs does not tell is 0 or empty.
struct DiskFacts {
    bool rotational = false;  ///< as the driver says, and that may be wrong: virtio says true
    std::string scheduler;    ///< "none" also where requests meet no scheduler at all (zram)
    std::vector<std::string> schedulers;
    std::uint32_t nr_requests = 0;      ///< that the scheduler holds for each hardware queue
    std::uint32_t queue_depth = 0;      ///< commands that the drive takes in one hardware queue
    std::uint32_t hardware_queues = 0;  ///< 0: bios are served without requests
    std::uint32_t read_ahead_kb = 0;
    bool removable = false;
    bool read_only = false;
    Sector sectors = 0;               ///< 0: no medium, or a loop device without a file
    std::uint32_t logical_block = 0;  ///< bytes; the unit of direct I/O
    std::string model;
    Transport transport = Transport::kOther;
};

class BlockDevice {
  public:
    /// ENODEV if there is no block device of that number.
    static Result<BlockDevice> find(dev_t number, const SystemRoots& roots = {});
    /// `name`: as the kernel's log has it ("sda2"), or a node ("/dev/disk/by-id/...",
    /// "/dev/mapper/home"), which need not exist where sysfs knows the name. ENODEV if it is none.
    static Result<BlockDevice> find(const std::string& name, const SystemRoots& roots = {});

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] dev_t number() const { return number_; }
    [[nodiscard]] bool partition() const { return partition_; }
    /// Its node, "/dev/NAME".
    [[nodiscard]] std::filesystem::path node() const;
    /// Its directory in sysfs, without links.
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

    /// Of a whole disk; of a partition only `sectors` and `read_only` are filled in. ENODEV if it
    /// is gone.
    [[nodiscard]] Result<DiskFacts> facts() const;
    /// Sets one file of its queue ("scheduler", "nr_requests") for a while.
    [[nodiscard]] Result<TemporaryValue> set_queue(const std::string& file,
                                                   const std::string& value) const;

  private:
    BlockDevice(std::filesystem::path directory, std::filesystem::path dev, dev_t number);
    static Result<BlockDevice> in(const std::filesystem::path& directory, const SystemRoots& roots);

    std::filesystem::path directory_;
    std::filesystem::path dev_;
    std::string name_;
    dev_t number_;
    bool partition_;
};

}  // namespace lull::sched
