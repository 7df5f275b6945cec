// SPDX-License-Identifier: MIT
#include "doctor/idle_class.hpp"

#include <array>

#include <fmt/format.h>

#include "sched/disk/sysfs.hpp"

namespace lull::doctor {
namespace {

// BFQ_CL_IDLE_TIMEOUT, HZ/5, of block/bfq-wf2q.c (4.12 and later).
constexpr sched::Nanoseconds kBfqTurn = 200 * sched::kMillisecond;

/// mq-deadline knows classes since Linux 5.14. The file came with the bound and is in ms.
void describe_deadline(const sched::BlockDevice& device, const sched::DiskFacts& facts,
                       IdleClass& idle) {
    const auto file = device.directory() / "queue/iosched/prio_aging_expire";
    idle.worth = IdleWorth::kInverts;
    std::string bound = "without end";
    if (const auto milliseconds = sched::read_number(file)) {
        idle.longest_hold = static_cast<sched::Nanoseconds>(*milliseconds) * sched::kMillisecond;
        bound = fmt::format("up to {:.3g} s (prio_aging_expire)",
                            static_cast<double>(*milliseconds) / 1e3);
    }
    idle.why = fmt::format(
        "Risky: while other requests keep coming, one of the idle class waits, {}, and so does "
        "whoever needs its page meanwhile.",
        bound);
    if (facts.queue_depth > 1) {
        idle.why += fmt::format(" With fewer than {} requests in the disk it orders nothing.",
                                facts.queue_depth);
    }
}

void describe_bfq(const sched::DiskTraits& traits, IdleClass& idle) {
    idle.worth = IdleWorth::kLeaks;
    idle.leak = static_cast<double>(traits.random_service) / static_cast<double>(kBfqTurn);
    idle.why = fmt::format(
        "Worth something: its requests are served last, but one each 200 ms whatever is going on. "
        "Here that takes {:.2g} % of the disk from a busy foreground, and the way back.",
        idle.leak * 100);
}

}  // namespace

std::string_view to_string(IdleWorth worth) {
    static constexpr std::array<std::string_view, 4> kNames{"nothing", "inverts", "leaks",
                                                            "unknown"};
    return kNames.at(static_cast<std::size_t>(worth));
}

IdleClass idle_class(const sched::BlockDevice& device, const sched::DiskFacts& facts,
                     const sched::DiskTraits& traits) {
    IdleClass idle;
    if (facts.scheduler == "none" || facts.scheduler == "kyber") {
        idle.worth = IdleWorth::kNothing;
        idle.why = facts.scheduler == "none" ? "Worth nothing: no scheduler looks at it."
                                             : "Worth nothing: kyber knows no classes.";
    } else if (facts.scheduler == "mq-deadline") {
        describe_deadline(device, facts, idle);
    } else if (facts.scheduler == "bfq") {
        describe_bfq(traits, idle);
    } else {
        idle.why = fmt::format("Not known for the scheduler {}.", facts.scheduler);
    }
    return idle;
}

}  // namespace lull::doctor
