// SPDX-License-Identifier: MIT
// What data sheets do not tell, and how it was chosen for all drives:
// - 24 zones: sheets of the time list 15 to 30.
// - Inner rate, where no sheet gives it: about half of the outer one, as the radii of the first and
//   the last track have it.
// - Head and cylinder switch, where not published: near the track-to-track seek. They change
// little,
//   because the rates are sustained ones, switches included.
// - Overheads: 0.3 ms for a command that needs the arm and 0.1 ms for one that the buffer answers
//   (IBM Deskstar 120GXP specification, section 4.4.1); WD publishes 0.3 ms too (WD400BB).
// - Segments: 16 where the buffer has 8 MB or more. A read reads on for one segment.
// - age_weight: fitted to 150..200 random reads/s at depth 32, about twice the rate at depth 1, as
//   drives with native command queuing reach. 0 would be pure shortest positioning time first.
#include <array>

#include "tests/disk/profiles.hpp"

namespace lull::disk {

namespace {

constexpr Nanoseconds kOverhead = milliseconds(0.3);
constexpr Nanoseconds kHitOverhead = milliseconds(0.1);

// Western Digital Caviar SE16 640 GB, WD6400AAKS (2008; two platters of 320 GB, SATA 3 Gb/s, NCQ,
// 16 MB). Seeks as WD's sheets give them for its 7200 rpm Caviars (WD400BB and later): track to
// track 2.0, average 8.9 read and 10.9 write, full stroke 21 ms. Rate fitted to 100..115 MB/s
// outside, as drives of this density reach (WD publishes 106 MB/s for its 1 TB drive with platters
// of 333 GB).
constexpr HardDiskProfile kHdd7200{
    .name = "hdd-7200",
    .geometry = {.sectors = 1'250'263'728,
                 .revolution = revolution(7200),
                 .heads = 4,
                 .zones = 24,
                 .first_rate = 113e6,
                 .last_rate = 56e6,
                 .head_switch = milliseconds(1.0),
                 .cylinder_switch = milliseconds(2.0)},
    .seek = {milliseconds(2.0), milliseconds(8.9), milliseconds(21.0)},
    .write_settle = milliseconds(2.0),
    .overhead = kOverhead,
    .hit_overhead = kHitOverhead,
    .bus_rate = 300e6,
    .segments = 16,
    .segment_sectors = 2048,
    .queue_depth = 32,
    .age_weight = 0.03,
};

// Hitachi Travelstar 5K320 320 GB, HTS543232L9A300 (2008; two platters, SATA 3 Gb/s, NCQ, 8 MB).
// OEM specification, section 4.4.2: single track 1.0, average 12 read and 13 write, full stroke
// 20 ms typical. Rate fitted to 70 MB/s outside, as notebook drives with platters of 160 GB reach.
constexpr HardDiskProfile kHdd5400{
    .name = "hdd-5400",
    .geometry = {.sectors = 625'142'448,
                 .revolution = revolution(5400),
                 .heads = 4,
                 .zones = 24,
                 .first_rate = 70e6,
                 .last_rate = 35e6,
                 .head_switch = milliseconds(1.0),
                 .cylinder_switch = milliseconds(1.0)},
    .seek = {milliseconds(1.0), milliseconds(12.0), milliseconds(20.0)},
    .write_settle = milliseconds(1.0),
    .overhead = kOverhead,
    .hit_overhead = kHitOverhead,
    .bus_rate = 300e6,
    .segments = 16,
    .segment_sectors = 1024,
    .queue_depth = 32,
    .age_weight = 0.03,
};

// IBM Deskstar 75GXP 46.1 GB, DTLA-307045 (2000, a usual disk of a developer in 2004; three
// platters, ATA/100, 2 MB, command queuing not in use). Specification, section 4.4.2: average 8.5,
// full stroke 14.7 ms, writes 1 ms more, head switch 1.2 ms. Track to track as the head switch,
// cylinder switch as its successor, the 60GXP (1.8 ms). Rates fitted to the 26 927 KiB/s that seven
// readers had in the mail of 2004.
constexpr HardDiskProfile kHdd2004{
    .name = "hdd-2004",
    .geometry = {.sectors = 90'069'840,
                 .revolution = revolution(7200),
                 .heads = 6,
                 .zones = 24,
                 .first_rate = 40e6,
                 .last_rate = 20e6,
                 .head_switch = milliseconds(1.2),
                 .cylinder_switch = milliseconds(1.8)},
    .seek = {milliseconds(1.2), milliseconds(8.5), milliseconds(14.7)},
    .write_settle = milliseconds(1.0),
    .overhead = kOverhead,
    .hit_overhead = kHitOverhead,
    .bus_rate = 100e6,
    .segments = 4,
    .segment_sectors = 768,
    .read_ahead_after = 2,
    .queue_depth = 1,
    .age_weight = 0,
};

// Western Digital Caviar Blue 500 GB, WD5000AAKS with two platters of 250 GB (2007, sold for years;
// SATA 3 Gb/s, NCQ, 16 MB). Seeks as hdd-7200. Rates fitted to the 62.8 MB/s that eight readers had
// in the mail of 2012 under its rule, whose turns are longer than 100 ms (./dev bench levels).
// Reading on from the second command, here and in hdd-2004: fitted to the mail of 2004, by which a
// switch between readers loses about 30 ms in all.
constexpr HardDiskProfile kHdd2012{
    .name = "hdd-2012",
    .geometry = {.sectors = 976'773'168,
                 .revolution = revolution(7200),
                 .heads = 4,
                 .zones = 24,
                 .first_rate = 87e6,
                 .last_rate = 43e6,
                 .head_switch = milliseconds(1.0),
                 .cylinder_switch = milliseconds(2.0)},
    .seek = {milliseconds(2.0), milliseconds(8.9), milliseconds(21.0)},
    .write_settle = milliseconds(2.0),
    .overhead = kOverhead,
    .hit_overhead = kHitOverhead,
    .bus_rate = 300e6,
    .segments = 16,
    .segment_sectors = 2048,
    .read_ahead_after = 2,
    .queue_depth = 32,
    .age_weight = 0.03,
};

// A 16x drive with a full single-layer DVD. Sector 0 is innermost, the track is one spiral. CAV
// from 6.7x to 16x, 1x being 1 385 000 bytes/s; 1x turns at 570 rpm at the rim, so 16x at 9120.
// Access times of 120 to 180 ms are usual (Tom's Hardware, 2009), most of it the sled; the shortest
// jump and the full stroke are fitted to that. Data come in ECC blocks of 16 x 2048 bytes
// (ECMA-267). 2 MB buffer, all of it one stream. Writes are timed as reads are; a real disc would
// refuse them.
constexpr HardDiskProfile kDvd{
    .name = "dvd",
    .geometry = {.sectors = 4ULL * 2'298'496,
                 .revolution = revolution(9120),
                 .heads = 1,
                 .zones = 64,
                 .first_rate = 6.7 * 1.385e6,
                 .last_rate = 16 * 1.385e6,
                 .head_switch = 0,
                 .cylinder_switch = 0},
    .seek = {milliseconds(10), milliseconds(135), milliseconds(250)},
    .write_settle = 0,
    .overhead = milliseconds(1),
    .hit_overhead = milliseconds(0.3),
    .bus_rate = 66e6,
    .segments = 1,
    .segment_sectors = 3072,
    .block_sectors = 64,
    .queue_depth = 1,
    .age_weight = 0,
};

constexpr std::array kProfiles{kHdd7200, kHdd5400, kHdd2004, kHdd2012, kDvd};

}  // namespace

std::span<const HardDiskProfile> hard_disk_profiles() {
    return kProfiles;
}

}  // namespace lull::disk
