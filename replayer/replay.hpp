// SPDX-License-Identifier: MIT
// `lull replay DB...`: reads ahead what the last run of each database read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "db/trace.hpp"
#include "replayer/engine.hpp"
#include "replayer/plan.hpp"
#include "replayer/report.hpp"
#include "replayer/target.hpp"

namespace lull::replayer {

struct ReplayOptions {
    std::vector<std::string> databases;
    SystemPaths system;    ///< `system.root` is --root
    bool dry_run = false;  ///< plan only: looks names up, opens nothing for reading
    bool json = false;
    EngineOptions engine;
    std::uint32_t max_open = 64;  ///< descriptors of files open at once
    /// `max_bytes` is filled in. A disk whose kernel limit for one read is below `chunk_bytes`
    /// gets that.
    PlanOptions plan;
    /// Bytes to read at most; half of MemAvailable if empty. What is needed first is kept.
    std::optional<std::uint64_t> memory_budget;
    bool stop_on_signals = false;  ///< SIGINT and SIGTERM end it, with a report
    /// Told now and then: pages settled and pages in all, of one file system.
    std::function<void(std::uint64_t done, std::uint64_t of)> progress;
};

/// Reads in a thread of its own, whose I/O class is IDLE. Damaged or missing databases, files that
/// are gone or changed, file systems that are not mounted: all that is in the report. An error
/// means that nothing was done: no database could be used (that of the last one), no mount table,
/// no directory `root`, or the engine asked for does not work here.
[[nodiscard]] Result<ReplayReport> replay(const ReplayOptions& options);

/// The same for traces in hand; `options.databases` only counts.
[[nodiscard]] Result<ReplayReport> replay(const ReplayOptions& options,
                                          const std::vector<db::Trace>& traces);

/// The verb: report to `out`, errors to `err`, there also a line of progress if that is a terminal.
/// Exit status: 0 done, also in part or with nothing to do, since a boot must not fail for want of
/// readahead; 1 if replay() gives an error. (Wrong usage is 2, the parser's.)
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace lull::replayer
