// SPDX-License-Identifier: MIT
#include "tests/system/demo_round.hpp"

#include <utility>
#include <vector>

#include "db/database.hpp"
#include "tests/system/demo_chroot.hpp"

namespace lull::demo {
namespace {

using Words = std::vector<std::string>;

std::string root_of(const Stage& stage) {
    return stage.disk.mount_point();
}

/// What /sys/block/loopN/stat says more after `step` than before.
template <typename Step>
Result<DiskReads> reads_of(const Stage& stage, Step step) {
    const auto before = disk_reads(stage.disk.device());
    if (!before) {
        return before.error();
    }
    if (const auto done = step(); !done) {
        return done.error();
    }
    auto after = disk_reads(stage.disk.device());
    if (after) {
        after->requests -= before->requests;
        after->bytes -= before->bytes;
    }
    return after;
}

/// The programs, started by `prefix` (a command that runs a command, or nothing). Their begin is
/// noted here and not by the collector around them, so that all starts are measured alike.
Result<Start> start_programs(const Stage& stage, Words prefix = {}) {
    const auto mounts = ChrootMounts::make(root_of(stage));
    if (!mounts) {
        return mounts.error();
    }
    const std::string times = root_of(stage) + "/tmp/times";
    const Words programs = {"sh", "-c",
                            R"sh(echo "begin $(date +%s%N)" >"$1" && exec chroot "$0" /demo/run)sh",
                            root_of(stage), times};
    prefix.insert(prefix.end(), programs.begin(), programs.end());
    const auto reads = reads_of(stage, [&] { return stage.runner.run(prefix); });
    if (!reads) {
        return reads.error();
    }
    auto start = read_times(times);
    if (start) {
        start->disk_reads = reads->requests;
    }
    return start;
}

Result<Start> cold_start(const Stage& stage, Words prefix = {}) {
    if (const auto cold = stage.disk.remount_cold(); !cold) {
        return cold.error();
    }
    if (const auto quiet = stage.disk.settle(); !quiet) {
        return quiet.error();
    }
    return start_programs(stage, std::move(prefix));
}

Words collector(const Stage& stage) {
    Words words = {stage.lull, "collect", "--db", stage.database, "--mount", root_of(stage)};
    if (!stage.rung.empty()) {
        words.push_back("--pages=" + stage.rung);
    }
    words.emplace_back("--");
    return words;
}

/// Replays on the cold disk and takes stock of what is in memory then.
Result<void> replay(const Stage& stage, Round& round) {
    if (const auto cold = stage.disk.remount_cold(); !cold) {
        return cold.error();
    }
    if (const auto quiet = stage.disk.settle(); !quiet) {
        return quiet.error();
    }
    const auto reads = reads_of(stage, [&]() -> Result<void> {
        const auto seconds = stage.runner.run({stage.lull, "replay", stage.database});
        if (!seconds) {
            return seconds.error();
        }
        round.replay_seconds = *seconds;
        return {};
    });
    if (!reads) {
        return reads.error();
    }
    const auto trace = db::last_run(stage.database);
    if (!trace) {
        return trace.error();
    }
    const Presence present = presence(*trace, root_of(stage), stage.disk.device());
    if (present.pages == 0) {
        return Error{ENODATA, "the trace is empty"};
    }
    round.rung = trace->boot.rung;
    round.recall = static_cast<double>(present.resident) / static_cast<double>(present.pages);
    round.precision =
        static_cast<double>(reads->bytes) / static_cast<double>(present.pages * db::kPageSize);
    return {};
}

}  // namespace

Result<Round> run_round(const Stage& stage) {
    Round round;
    const auto alone = cold_start(stage);
    if (!alone) {
        return alone.error().in("cold start");
    }
    round.alone = *alone;
    std::error_code ignored;
    std::filesystem::remove(stage.database, ignored);
    const auto cold = cold_start(stage, collector(stage));
    if (!cold) {
        return cold.error().in("recorded start");
    }
    round.cold = *cold;
    if (const auto done = replay(stage, round); !done) {
        return done.error().in("replay");
    }
    const auto after = start_programs(stage);
    if (!after) {
        return after.error().in("start after the replay");
    }
    round.after = *after;
    const auto warm = start_programs(stage);
    if (!warm) {
        return warm.error().in("warm start");
    }
    round.warm = *warm;
    return round;
}

}  // namespace lull::demo
