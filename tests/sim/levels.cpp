// SPDX-License-Identifier: MIT
#include "tests/sim/levels.hpp"

#include <algorithm>

#include "sched/arbiter.hpp"

namespace lull::sim {

namespace {

class ArbiterReaders final : public ReaderRule {
  public:
    ArbiterReaders(const std::vector<int>& levels, sched::LevelLaw law) : arbiter_(settings(law)) {
        for (const int level : levels) {
            sched::QueueOptions options;
            options.level = level;
            queues_.push_back(arbiter_.add_queue(options));
        }
    }
    void has_work(std::size_t reader, std::uint64_t sector, std::uint32_t sectors,
                  Nanoseconds now) override {
        sched::Work work;
        work.sector = sector;
        work.sectors = sectors;
        arbiter_.has_work(queues_[reader], work, now);
    }
    void done(std::size_t reader, std::uint64_t sector, std::uint32_t sectors, Nanoseconds service,
              Nanoseconds now) override {
        sched::Done done;
        done.sector = sector;
        done.sectors = sectors;
        done.service = service;
        arbiter_.done(queues_[reader], done, now);
    }
    Choice choose(Nanoseconds now) override {
        const sched::Decision decision = arbiter_.decide(now);
        if (decision.kind == sched::Decision::Kind::kDispatch) {
            const auto at = std::find(queues_.begin(), queues_.end(), decision.queue);
            return {static_cast<std::size_t>(at - queues_.begin()), sched::kNever};
        }
        return {{}, decision.kind == sched::Decision::Kind::kWake ? decision.at : sched::kNever};
    }
    [[nodiscard]] Nanoseconds disk_time(std::size_t reader) const override {
        return arbiter_.counters(queues_[reader]).disk_time;
    }

  private:
    static sched::ArbiterSettings settings(sched::LevelLaw law) {
        sched::ArbiterSettings settings;
        settings.level_law = law;
        return settings;
    }

    sched::Arbiter arbiter_;
    std::vector<sched::QueueId> queues_;
};

struct File {
    std::uint64_t next = 0;  ///< sector
    Nanoseconds asks_at = 0;
    bool asked = false;
};

class Run {
  public:
    Run(const ReadersSetup& setup, ReaderRule& rule)
        : setup_(setup), rule_(rule), model_(disk::make_model(setup.profile, {0, 1, 1})) {
        // Apart by a third of the files, so that turns that follow each other lie apart.
        constexpr std::size_t kStride = 3;
        const std::uint64_t first = model_->sectors() / 8 * 3;
        const std::uint64_t apart = model_->sectors() / 4 / setup.readers;
        for (std::size_t i = 0; i < setup.readers; ++i) {
            const std::size_t place = i * kStride % setup.readers;
            files_.push_back({(first + place * apart) / 8 * 8, 0, false});
        }
        result_.readers.resize(setup.readers);
    }

    ReadersResult run() {
        while (now_ < setup_.duration) {
            ask();
            const Nanoseconds again = send();
            now_ = next_event(again);
            complete();
        }
        result_.time = now_;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            result_.readers[i].disk_time = rule_.disk_time(i);
        }
        return result_;
    }

  private:
    void ask() {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            if (!files_[i].asked && files_[i].asks_at <= now_) {
                files_[i].asked = true;
                rule_.has_work(i, files_[i].next, setup_.sectors, now_);
            }
        }
    }
    Nanoseconds send() {
        if (served_) {
            return sched::kNever;
        }
        const ReaderRule::Choice choice = rule_.choose(now_);
        if (!choice.reader) {
            return choice.ask_again;
        }
        served_ = choice.reader;
        sent_at_ = now_;
        model_->submit({0, disk::Operation::kRead, files_[*served_].next, setup_.sectors}, now_);
        return sched::kNever;
    }
    [[nodiscard]] Nanoseconds next_event(Nanoseconds again) const {
        Nanoseconds next = again > now_ ? again : now_ + 1;
        if (const auto completion = model_->next_completion()) {
            next = std::min(next, *completion);
        }
        for (const File& file : files_) {
            if (!file.asked) {
                next = std::min(next, file.asks_at);
            }
        }
        return std::min(next, setup_.duration);
    }
    void complete() {
        for (const disk::Completion& completion : model_->advance(now_)) {
            File& file = files_[*served_];
            ReadersResult::Reader& reader = result_.readers[*served_];
            reader.bytes += setup_.sectors * disk::kSectorSize;
            reader.longest = std::max(reader.longest, completion.at - file.asks_at);
            rule_.done(*served_, file.next, setup_.sectors, completion.at - sent_at_,
                       completion.at);
            file = {file.next + setup_.sectors, completion.at + setup_.think, false};
            served_.reset();
        }
    }

    ReadersSetup setup_;
    ReaderRule& rule_;
    std::unique_ptr<disk::Model> model_;
    std::vector<File> files_;
    ReadersResult result_;
    std::optional<std::size_t> served_;
    Nanoseconds sent_at_ = 0;
    Nanoseconds now_ = 0;
};

double per_second(std::uint64_t bytes, Nanoseconds time) {
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(time);
}

}  // namespace

std::unique_ptr<ReaderRule> arbiter_readers(const std::vector<int>& levels, sched::LevelLaw law) {
    return std::make_unique<ArbiterReaders>(levels, law);
}

double ReadersResult::bytes_per_second(std::size_t reader) const {
    return per_second(readers[reader].bytes, time);
}

double ReadersResult::total_bytes_per_second() const {
    double total = 0;
    for (std::size_t i = 0; i < readers.size(); ++i) {
        total += bytes_per_second(i);
    }
    return total;
}

ReadersResult run_readers(const ReadersSetup& setup, ReaderRule& rule) {
    return Run(setup, rule).run();
}

}  // namespace lull::sim
