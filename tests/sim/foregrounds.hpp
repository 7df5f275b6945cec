// SPDX-License-Identifier: MIT
// The foregrounds of `./dev bench gaps`. What is modelled and what is not is said at each.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/quantiles.hpp"
#include "tests/sim/script.hpp"

namespace lull::sim {

/// The part of the disk that foreground and background share, and what makes a case one of many.
struct CaseOptions {
    std::uint64_t sectors = 1ULL << 27;  ///< 64 GiB
    std::uint64_t seed = 1;
};

/// A program start, by the figures that were published of its trace: the start-ups of the S suite
/// (Algodev-github/S, comm_startup_lat), taken on an unloaded fast disk, statistics only.
///
/// Modelled: the number of requests, their volume, the shares of metadata and of readahead, the
/// gaps. Every gap is taken as time in which the program computes. A start is a closed loop of one
/// task with one request in flight. Files lie in clusters, as the packages that brought them; a
/// file is read in runs.
/// The program is the same at each start: it reads the same places in the same order, with the
/// gaps of the first start times a factor (log-normal, `jitter`), and one request in `strays` is
/// of this start alone.
/// Not modelled, for want of published figures: which gap follows which request (gaps are in
/// random order), where the files lay, the overlap of readahead with computation, several
/// processes.
struct StartUp {
    std::string name;
    std::size_t requests = 0;
    double mebibytes = 0;
    double metadata = 0;           ///< share of the requests, 4 KiB each
    double readahead = 0;          ///< share of the requests
    std::vector<Percentile> gaps;  ///< in ms
    std::size_t starts = 12;
    double jitter = 0.2;
    std::size_t strays = 20;
};
[[nodiscard]] const std::vector<StartUp>& start_ups();
/// The starts in a row. Between them someone looks at the program for 0.5 to 2 s and its pages
/// leave the cache: a pause, in which neither idle time nor background counts, because how long it
/// is has nothing to do with the program, and would drown the gaps that have.
[[nodiscard]] Foreground start_up(const StartUp& program, const CaseOptions& options);

/// `find TREE -type f -exec cat {} ;` over an unpacked Debian tree, cold: the test of the mail of
/// 2011. find reads directories and inodes, then for each file there is a new task: it is forked
/// and executes (0.5 to 2 ms of CPU time), reads the file with the kernel's readahead (128 KiB
/// windows, the next one on its way), writes it out and ends. 6000 files, log-normal sizes (median
/// 4.5 KiB, mean 27 KiB: 8353 files had 219 MB in the tree that was measured).
/// The files of a directory lie near each other, in another order than find meets them. An inode
/// block holds 16 inodes and is read once.
[[nodiscard]] Foreground find_and_cat(const CaseOptions& options);

/// 30 random reads of 4 KiB per second: a task that sleeps between them, so long that it comes to
/// 30 per second on this disk (`random_read`: what one of them takes), give or take a fifth.
[[nodiscard]] Foreground steady(const CaseOptions& options, Nanoseconds random_read);

/// Bursts and quiet. Three in four are those of an interactive program: 60 to 300 small reads, near
/// each other, with gaps of 0.05 to 5 ms and now and then one of 20 to 200 ms. The others are of a
/// database in a cgroup of its own: 30 to 120 transactions, a write to the log and a flush, 1 to 10
/// ms apart. Then all is quiet for 1 to 5 s, which is idle time, but not part of the run time.
[[nodiscard]] Foreground on_off(const CaseOptions& options);

}  // namespace lull::sim
