// SPDX-License-Identifier: MIT
// Vendors publish what the host sees, not what the dies do. So the outer figures below are
// published ones; sense and program times, dies and rates inside are usual for flash of the time
// and fitted to give them.
#include <array>

#include "tests/disk/profiles.hpp"

namespace lull::disk {

namespace {

// Toshiba UHS-1 class 10 microSD 16 GB in a Raspberry Pi 4, as Jeff Geerling measured it (Raspberry
// Pi Dramble, microSD benchmarks): buffered reads 41.62 MB/s, writes 12.0 MB/s, random 4 KiB reads
// 6.62 MB/s (1616/s), random 4 KiB writes 0.22 MB/s (54/s). One command at a time.
constexpr FlashProfile kSdCard{
    .name = "sd-card",
    .sectors = 31'047'680,
    .dies = 2,
    .channels = 1,
    .page_sectors = 32,
    .sense = microseconds(75),
    .program = microseconds(2690),
    .channel_rate = 200e6,
    .interface_rate = 49e6,
    .read_overhead = microseconds(440),
    .write_overhead = microseconds(100),
    .write_back = false,
    .scattered_write = microseconds(15700),
    .queue_depth = 1,
};

// Samsung 850 EVO 500 GB (2014). Data sheet: random 4 KiB reads 10 000/s at depth 1 and 98 000/s at
// depth 32, writes 40 000/s and 90 000/s, sequential 540 MB/s read and 520 MB/s written.
constexpr FlashProfile kSataSsd{
    .name = "sata-ssd",
    .sectors = 976'773'168,
    .dies = 16,
    .channels = 8,
    .page_sectors = 16,
    .sense = microseconds(60),
    .program = microseconds(220),
    .channel_rate = 400e6,
    .interface_rate = 545e6,
    .read_overhead = microseconds(22),
    .write_overhead = microseconds(17),
    .read_interval = 10'200,
    .write_interval = 11'100,
    .write_back = true,
    .write_lag = milliseconds(4),
    .queue_depth = 32,
};

// Samsung 970 EVO 500 GB (2018, PCIe 3.0 x4). Data sheet: random 4 KiB reads 15 000/s at depth 1
// and 370 000/s at depth 128, writes 50 000/s and 450 000/s, sequential 3400 MB/s read and 2300
// MB/s written (into its SLC cache, which the model never fills).
constexpr FlashProfile kNvme{
    .name = "nvme",
    .sectors = 976'773'168,
    .dies = 32,
    .channels = 8,
    .page_sectors = 32,
    .sense = microseconds(52),
    .program = microseconds(228),
    .channel_rate = 800e6,
    .interface_rate = 3.45e9,
    .read_overhead = microseconds(8),
    .write_overhead = microseconds(18.8),
    .read_interval = 2'700,
    .write_interval = 2'220,
    .write_back = true,
    .write_lag = milliseconds(2),
    .queue_depth = 128,
};

constexpr std::array kProfiles{kSdCard, kSataSsd, kNvme};

}  // namespace

std::span<const FlashProfile> flash_profiles() {
    return kProfiles;
}

}  // namespace lull::disk
