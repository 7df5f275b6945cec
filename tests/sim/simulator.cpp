// SPDX-License-Identifier: MIT
#include "tests/sim/simulator.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/disk/flash.hpp"
#include "tests/disk/hard_disk.hpp"

namespace lull::sim {

namespace {

std::unique_ptr<disk::Model> make_disk(const DiskOptions& options) {
    auto model = disk::make_model(
        options.profile,
        {.capacity = options.sectors, .queue_depth = options.queue_depth, .seed = options.seed});
    if (!model) {
        throw std::invalid_argument("no such profile: " + options.profile);
    }
    return model;
}

disk::Request request_of(const Io& io) {
    disk::Request request =
        sim::request_of(Step{.kind = io.kind, .sector = io.sector, .sectors = io.sectors});
    request.id = io.id;
    return request;
}

class Simulation final : public Future {
  public:
    Simulation(const Foreground& foreground, const DiskOptions& disk, Rule& rule,
               const BackgroundOptions& background)
        : disk_(make_disk(disk)), rule_(rule), background_(background) {
        for (const Script& script : foreground.scripts) {
            runners_.push_back({.script = &script, .due = script.empty() ? 0 : script[0].gap});
        }
    }

    Outcome run();

    [[nodiscard]] std::optional<Arrival> next_arrival() const override;
    [[nodiscard]] std::unique_ptr<disk::Model> disk() const override { return copy_of(*disk_); }

  private:
    /// A script on its way: in the gap before step `next` until `due`, or waiting for requests.
    struct Runner {
        const Script* script = nullptr;
        std::size_t next = 0;
        Nanoseconds due = 0;
        bool waiting = false;
        std::uint32_t in_flight = 0;
        Nanoseconds left_out = 0;  ///< gaps that are not work

        [[nodiscard]] bool over() const { return !waiting && next == script->size(); }
        [[nodiscard]] bool in_gap() const { return !waiting && next < script->size(); }
        [[nodiscard]] const Step& step() const { return (*script)[next]; }
    };
    struct InFlight {
        Io io;
        Nanoseconds arrived = 0;
        Nanoseconds sent = 0;
    };

    [[nodiscard]] Runner* earliest();
    [[nodiscard]] InFlight& request_in_flight(std::uint64_t id);
    [[nodiscard]] bool in_pause() const;
    void pass_time(Nanoseconds now);
    void submit(Runner& runner);
    void step_over(Runner& runner);
    void complete(const disk::Completion& completion);
    void ask();
    void send_background(std::uint32_t sectors);

    std::unique_ptr<disk::Model> disk_;
    Rule& rule_;
    Background background_;
    std::vector<Runner> runners_;
    std::vector<InFlight> in_flight_;  ///< some tens at most: found by looking at each
    std::uint64_t next_id_ = 1;
    std::uint32_t foreground_in_flight_ = 0;
    std::uint32_t background_in_flight_ = 0;
    std::optional<Nanoseconds> wake_;
    Nanoseconds now_ = 0;
    Outcome outcome_;
};

Simulation::Runner* Simulation::earliest() {
    Runner* first = nullptr;
    for (Runner& runner : runners_) {
        if (runner.in_gap() && (first == nullptr || runner.due < first->due)) {
            first = &runner;
        }
    }
    return first;
}

Simulation::InFlight& Simulation::request_in_flight(std::uint64_t id) {
    return *std::find_if(in_flight_.begin(), in_flight_.end(),
                         [id](const InFlight& one) { return one.io.id == id; });
}

/// All scripts that still run are in a pause.
bool Simulation::in_pause() const {
    return std::all_of(runners_.begin(), runners_.end(), [](const Runner& runner) {
        return runner.over() || (runner.in_gap() && runner.step().gap_kind == GapKind::kPause);
    });
}

void Simulation::pass_time(Nanoseconds now) {
    if (foreground_in_flight_ == 0 && !in_pause()) {
        outcome_.idle += now - now_;
    }
    now_ = now;
}

void Simulation::submit(Runner& runner) {
    const Step& step = runner.step();
    Io io{.id = next_id_++,
          .background = false,
          .kind = step.kind,
          .metadata = step.metadata,
          .script = static_cast<std::uint32_t>(&runner - runners_.data()),
          .task = step.task,
          .cgroup = step.cgroup,
          .sector = step.sector,
          .sectors = step.sectors};
    ++runner.in_flight;
    runner.waiting = true;
    ++foreground_in_flight_;
    ++outcome_.requests;
    outcome_.violations += background_in_flight_ > 0 ? 1 : 0;
    in_flight_.push_back({io, now_, now_});
    rule_.arrived(io, now_);
    step_over(runner);
}

/// Goes on to the next step if this one is over.
void Simulation::step_over(Runner& runner) {
    if (!runner.waiting || runner.in_flight > runner.step().leave) {
        return;
    }
    if (runner.step().exits) {
        rule_.exited(runner.step().task, now_);
    }
    runner.waiting = false;
    ++runner.next;
    if (runner.over()) {
        outcome_.work += now_ - runner.left_out;
        outcome_.end = std::max(outcome_.end, now_);
        return;
    }
    const Step& step = runner.step();
    runner.due = now_ + step.gap;
    runner.left_out += step.gap_kind == GapKind::kThink ? 0 : step.gap;
}

void Simulation::complete(const disk::Completion& completion) {
    InFlight& found = request_in_flight(completion.id);
    const InFlight done = found;
    found = in_flight_.back();
    in_flight_.pop_back();
    if (done.io.background) {
        --background_in_flight_;
        rule_.completed(done.io, now_ - done.sent, now_);
        return;
    }
    --foreground_in_flight_;
    const Nanoseconds latency = now_ - done.arrived;
    outcome_.latency_sum += latency;
    outcome_.latency_max = std::max(outcome_.latency_max, latency);
    Runner& runner = runners_[done.io.script];
    --runner.in_flight;
    rule_.completed(done.io, now_ - done.sent, now_);
    step_over(runner);
}

void Simulation::send_background(std::uint32_t sectors) {
    const Background::Piece piece = background_.take(sectors);
    const Io io{.id = next_id_++,
                .background = true,
                .kind = IoKind::kRead,
                .sector = piece.sector,
                .sectors = piece.sectors};
    ++background_in_flight_;
    if (!in_pause()) {
        ++outcome_.background_requests;
        outcome_.background_sectors += piece.sectors;
    }
    in_flight_.push_back({io, now_, now_});
    disk_->submit(request_of(io), now_);
}

void Simulation::ask() {
    while (true) {
        const Action action = rule_.next(background_, now_);
        switch (action.kind) {
            case Action::Kind::kForeground: {
                InFlight& request = request_in_flight(action.id);
                request.sent = now_;
                disk_->submit(request_of(request.io), now_);
                break;
            }
            case Action::Kind::kBackground:
                send_background(action.sectors);
                break;
            case Action::Kind::kWake:
                if (action.at <= now_) {
                    throw std::logic_error("a rule asked to be woken in the past");
                }
                wake_ = action.at;
                return;
            case Action::Kind::kNothing:
                wake_.reset();
                return;
        }
    }
}

std::optional<Future::Arrival> Simulation::next_arrival() const {
    if (foreground_in_flight_ > 0) {
        return std::nullopt;
    }
    const Runner* first = nullptr;
    for (const Runner& runner : runners_) {
        if (runner.in_gap() && (first == nullptr || runner.due < first->due)) {
            first = &runner;
        }
    }
    if (first == nullptr) {
        return std::nullopt;
    }
    return Arrival{first->due, in_pause() ? GapKind::kPause : first->step().gap_kind,
                   std::span(*first->script).subspan(first->next)};
}

Outcome Simulation::run() {
    rule_.begin(*this);
    for (Runner& runner : runners_) {
        if (!runner.over() && runner.step().gap_kind != GapKind::kThink) {
            runner.left_out = runner.due;
        }
    }
    for (Runner& runner : runners_) {
        if (runner.in_gap() && runner.due == 0) {
            submit(runner);  // before anyone is asked
        }
    }
    const auto running = [this] {
        return std::any_of(runners_.begin(), runners_.end(),
                           [](const Runner& runner) { return !runner.over(); });
    };
    while (running()) {
        ask();
        Runner* const runner = earliest();
        const auto completion = disk_->next_completion();
        std::optional<Nanoseconds> at = completion;
        const auto sooner = [&at](Nanoseconds other) { at = at ? std::min(*at, other) : other; };
        if (runner != nullptr) {
            sooner(runner->due);
        }
        if (wake_) {
            sooner(*wake_);
        }
        if (!at) {
            throw std::logic_error("a rule holds a foreground request for ever");
        }
        pass_time(*at);
        if (completion && *completion <= now_) {
            for (const disk::Completion& done : disk_->advance(now_)) {
                complete(done);
            }
        } else if (runner != nullptr && runner->due <= now_) {
            submit(*runner);
        }
    }
    return outcome_;
}

}  // namespace

Outcome simulate(const Foreground& foreground, const DiskOptions& disk, Rule& rule,
                 const BackgroundOptions& background) {
    return Simulation(foreground, disk, rule, background).run();
}

double background_ns_per_sector(const DiskOptions& disk, const BackgroundOptions& options,
                                std::uint32_t depth, std::uint32_t sectors) {
    constexpr Nanoseconds kDuration = 10 * kSecond;
    const auto model = make_disk(disk);
    Background background(options);
    Nanoseconds now = 0;
    std::uint64_t sent = 0;
    std::uint32_t in_flight = 0;
    while (now < kDuration) {
        for (; in_flight < depth; ++in_flight) {
            const Background::Piece piece = background.take(sectors);
            model->submit({.id = 0, .sector = piece.sector, .sectors = piece.sectors}, now);
            sent += piece.sectors;
        }
        now = *model->next_completion();
        in_flight -= static_cast<std::uint32_t>(model->advance(now).size());
    }
    return static_cast<double>(now) / static_cast<double>(sent);
}

std::unique_ptr<disk::Model> copy_of(const disk::Model& model) {
    if (const auto* hard_disk = dynamic_cast<const disk::HardDisk*>(&model)) {
        return std::make_unique<disk::HardDisk>(*hard_disk);
    }
    return std::make_unique<disk::Flash>(dynamic_cast<const disk::Flash&>(model));
}

}  // namespace lull::sim
