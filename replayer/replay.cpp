// SPDX-License-Identifier: MIT
#include "replayer/replay.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "db/database.hpp"
#include "db/text.hpp"
#include "replayer/locate.hpp"
#include "replayer/reader.hpp"

namespace lull::replayer {
namespace {

using Clock = std::chrono::steady_clock;

/// Half of what the kernel believes it can give without swapping.
std::optional<std::uint64_t> half_of_available(const std::string& meminfo) {
    std::ifstream file(meminfo);
    std::string key;
    while (file >> key) {
        std::uint64_t kib = 0;
        if (key == "MemAvailable:" && file >> kib) {
            return kib * 1024 / 2;
        }
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::nullopt;
}

/// One replay, in the thread that reads.
class Replay {
  public:
    Replay(const ReplayOptions& options, Demand demand, ReplayReport& report)
        : options_(options), demand_(std::move(demand)), report_(report) {}

    Result<void> run();

  private:
    Result<void> make_reader();
    void run_disk(TargetFinder& finder, std::uint32_t device);
    void skip_disk(std::uint32_t device, DiskReport& disk);
    void read_disk(const Target& target, std::uint32_t device, DiskReport& disk);
    void plan_disk(const Target& target, std::uint32_t device, DiskReport& disk);
    Plan make_stage(const Target& target, const Demand& demand, std::uint32_t device);
    void read_stage(const Target& target, const Plan& plan, Account& account);
    void add_skips(const SkipList& skips);

    const ReplayOptions& options_;
    Demand demand_;
    ReplayReport& report_;
    std::unique_ptr<Reader> reader_;
    std::uint64_t budget_left_ = 0;
    std::uint64_t stage_pages_ = 0;
    Clock::time_point told_;
};

Result<void> Replay::run() {
    auto finder = TargetFinder::open(options_.system);
    if (!finder) {
        return finder.error();
    }
    if (!options_.dry_run) {
        if (auto made = make_reader(); !made) {
            return made;
        }
    }
    const auto half = half_of_available(options_.system.meminfo);
    if (!options_.memory_budget && !half) {
        report_.warnings.push_back(options_.system.meminfo +
                                   " does not tell MemAvailable: nothing will be read");
    }
    budget_left_ = report_.budget_bytes = options_.memory_budget.value_or(half.value_or(0));
    for (const Skip& skip : demand_.skips) {
        report_.skips.add(skip);
    }
    for (std::uint32_t device = 0; device < demand_.devices.size(); ++device) {
        run_disk(*finder, device);
    }
    if (report_.stopped) {
        report_.warnings.emplace_back("Stopped by a signal: the rest was not read");
    }
    report_.demand = options_.dry_run ? std::move(demand_) : Demand{};
    return {};
}

Result<void> Replay::make_reader() {
    ReaderOptions reader;
    reader.engine = options_.engine;
    reader.engine.longest = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        options_.plan.chunk_bytes, db::kPageSize, std::uint64_t{1} << 30));
    reader.max_open = options_.max_open;
    reader.stop_on_signals = options_.stop_on_signals;
    if (options_.progress) {
        reader.progress = [this](std::uint64_t pages) {
            constexpr auto kEvery = std::chrono::milliseconds(100);
            if (const auto now = Clock::now(); now - told_ >= kEvery) {
                told_ = now;
                options_.progress(pages, stage_pages_);
            }
        };
    }
    auto made = Reader::make(reader);
    if (!made) {
        return made.error();
    }
    reader_ = *std::move(made);
    report_.engine = reader_->engine().name();
    report_.depth = std::min(options_.engine.depth, options_.max_open);
    const auto read_back = reader_->engine().read_class();
    if (read_back) {
        report_.io_class = to_string(*read_back);
    }
    if (!read_back || *read_back != options_.engine.io_class) {
        report_.warnings.push_back(fmt::format(
            "The I/O class {} could not be set: {}", to_string(options_.engine.io_class),
            read_back ? fmt::format("it is {}", *report_.io_class) : read_back.error().message()));
    }
    return {};
}

void Replay::run_disk(TargetFinder& finder, std::uint32_t device) {
    DiskReport disk;
    disk.device = demand_.devices[device];
    const auto begin = Clock::now();
    auto target = finder.find(disk.device);
    if (!target) {
        report_.warnings.push_back(target.error().what);
        skip_disk(device, disk);
    } else {
        disk.mount_point = target->mount().mount_point;
        if (options_.dry_run) {
            plan_disk(*target, device, disk);
        } else {
            read_disk(*target, device, disk);
        }
    }
    if (disk.seconds == 0) {
        disk.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    report_.disks.push_back(std::move(disk));
}

void Replay::skip_disk(std::uint32_t device, DiskReport& disk) {
    for (const Piece& piece : demand_.pieces) {
        const db::File& file = demand_.files[piece.file];
        if (file.device == device) {
            ++(piece.pages == 0 ? disk.tally.visits : disk.tally.ranges);
            disk.tally.asked += piece.pages;
            disk.tally.skipped += piece.pages;
            report_.skips.add(
                {SkipReason::kNotMounted, display_path(disk.device, file), piece.pages, 0});
        }
    }
}

Plan Replay::make_stage(const Target& target, const Demand& demand, std::uint32_t device) {
    PlanOptions options = options_.plan;
    // A longer read would be cut by the kernel, and its parts go one after the other.
    options.chunk_bytes = std::min(options.chunk_bytes, target.read_cap().value_or(UINT64_MAX));
    options.max_bytes = budget_left_;
    Plan plan = make_plan(demand, device, options);
    budget_left_ -= std::min(budget_left_, (plan.demanded_pages + plan.gap_pages) * db::kPageSize);
    for (const Piece& piece : plan.over_budget) {
        report_.skips.add({SkipReason::kOverBudget,
                           display_path(demand.devices[device], demand.files[piece.file]),
                           piece.pages, 0});
    }
    return plan;
}

void Replay::read_stage(const Target& target, const Plan& plan, Account& account) {
    stage_pages_ = plan.demanded_pages + plan.gap_pages;
    if (auto read = reader_->read(target, demand_, plan.chunks, account); !read) {
        report_.warnings.push_back("Reading failed: " + read.error().message());
    }
    report_.stopped = report_.stopped || reader_->stopped();
}

void Replay::read_disk(const Target& target, std::uint32_t device, DiskReport& disk) {
    const auto begin = Clock::now();
    Account account;
    std::vector<Plan> stages;
    if (lacks_positions(demand_, device)) {
        stages.push_back(make_stage(target, only(demand_, true), device));
        read_stage(target, stages.back(), account);
        if (!reader_->stopped()) {
            locate(target, demand_, device);
        }
        stages.push_back(make_stage(target, only(demand_, false), device));
    } else {
        stages.push_back(make_stage(target, demand_, device));
    }
    read_stage(target, stages.back(), account);
    disk.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const Plan& plan : stages) {
        verify(target, demand_, plan.chunks, account.tally);
    }
    disk.tally = account.tally;
    add_skips(account.skips);
}

void Replay::plan_disk(const Target& target, std::uint32_t device, DiskReport& disk) {
    Plan plan = make_stage(target, demand_, device);
    for (const Chunk& chunk : plan.chunks) {
        const db::File& file = demand_.files[chunk.file];
        ++(chunk.pages == 0 ? disk.tally.visits : disk.tally.ranges);
        disk.tally.asked += chunk.pages;
        disk.tally.gap += chunk.gap_pages;
        if (const auto refusal = target.check(file)) {
            disk.tally.skipped += chunk.pages;
            report_.skips.add(
                {refusal->reason, display_path(disk.device, file), chunk.pages, refusal->code});
        }
    }
    disk.chunks = std::move(plan.chunks);
}

void Replay::add_skips(const SkipList& skips) {
    for (const Skip& skip : skips.all()) {
        report_.skips.add(skip);
    }
}

/// One line on a terminal, drawn over again.
class ProgressLine {
  public:
    explicit ProgressLine(std::ostream& out) : out_(out) {}
    ~ProgressLine() {
        if (drawn_) {
            out_ << "\r\x1b[K" << std::flush;
        }
    }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void draw(std::uint64_t done, std::uint64_t of) {
        drawn_ = true;
        out_ << fmt::format("\rreading ahead: {} of {}\x1b[K", db::human_size(done * db::kPageSize),
                            db::human_size(of * db::kPageSize))
             << std::flush;
    }

  private:
    std::ostream& out_;
    bool drawn_ = false;
};

}  // namespace

Result<ReplayReport> replay(const ReplayOptions& options, const std::vector<db::Trace>& traces) {
    ReplayReport report;
    report.dry_run = options.dry_run;
    report.databases = traces.size();
    Replay work(options, make_demand(traces), report);
    Result<void> result;
    // A thread of its own, so that the caller's I/O class stays what it is.
    std::thread([&] { result = work.run(); }).join();
    if (!result) {
        return result.error();
    }
    return report;
}

Result<ReplayReport> replay(const ReplayOptions& options) {
    std::vector<db::Trace> traces;
    std::vector<std::string> warnings;
    std::optional<Error> error;
    for (const std::string& path : options.databases) {
        auto trace = db::last_run(path);
        if (trace) {
            traces.push_back(*std::move(trace));
        } else {
            error = trace.error();
            warnings.push_back("Left out: " + error->message());
        }
    }
    if (traces.empty()) {
        return error.value_or(Error{ENOENT, "no database"});
    }
    auto report = replay(options, traces);
    if (report) {
        report->warnings.insert(report->warnings.begin(), warnings.begin(), warnings.end());
    }
    return report;
}

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
    ReplayOptions own = options;
    own.stop_on_signals = true;
    auto line = std::make_unique<ProgressLine>(err);
    if (::isatty(STDERR_FILENO) != 0) {
        own.progress = [&line](std::uint64_t done, std::uint64_t of) { line->draw(done, of); };
    }
    const auto report = replay(own);
    line.reset();
    if (!report) {
        err << "lull replay: " << db::printable(report.error().message()) << '\n';
        return 1;
    }
    if (options.json) {
        write_json(*report, out);
    } else {
        write_text(*report, out);
    }
    return 0;
}

}  // namespace lull::replayer
