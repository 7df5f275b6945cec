// SPDX-License-Identifier: MIT
#include "replayer/reader.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <fcntl.h>
#include <sys/eventfd.h>

#include "fs/residency.hpp"
#include "replayer/open_files.hpp"

namespace lull::replayer {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// A chunk under way.
struct Flight {
    const Chunk* chunk = nullptr;
    std::vector<bool> resident;  ///< by page of the chunk, before it was read
    std::uint64_t offset = 0;    ///< bytes in the file: what is still to be read
    std::uint64_t end = 0;

    /// Pages of the chunk from `page` on that were not in memory.
    [[nodiscard]] std::uint64_t missing_from(std::uint64_t page) const {
        const auto first = static_cast<std::ptrdiff_t>(
            std::min<std::uint64_t>(page - chunk->first_page, resident.size()));
        return static_cast<std::uint64_t>(
            std::count(resident.begin() + first, resident.end(), false));
    }
};

/// What is in memory of a chunk; nothing if the kernel does not tell.
std::vector<bool> resident_pages(int fd, const Chunk& chunk) {
    const auto count = fs::resident_count(fd, chunk.first_page, chunk.pages);
    if (!count || *count == 0) {
        return std::vector<bool>(chunk.pages, false);  // mostly so, and much cheaper to ask
    }
    auto pages = fs::resident_pages(fd, chunk.first_page, chunk.pages);
    return pages ? *std::move(pages) : std::vector<bool>(chunk.pages, false);
}

}  // namespace

/// One plan at a time on the event loop.
class Reader::Loop {
  public:
    Loop(ReaderOptions options, std::unique_ptr<Engine> engine);

    Result<void> read(const Target& target, const Demand& demand, const std::vector<Chunk>& chunks,
                      Account& account);
    [[nodiscard]] bool stopped() const { return stopped_; }
    [[nodiscard]] const Engine& engine() const { return *engine_; }

  private:
    /// The plan that is being read.
    struct Job {
        const Target& target;
        const Demand& demand;
        const std::vector<Chunk>& chunks;
        Account& account;
        OpenFiles files;
        std::size_t next = 0;              ///< the chunk whose turn it is
        std::uint32_t disk_in_flight = 0;  ///< reads of metadata under way
        std::uint64_t settled = 0;         ///< pages
    };

    void advance();
    void fill();
    void start(const Chunk& chunk);
    void begin_flight(const Chunk& chunk, OpenFiles::File& file);
    void submit();
    void wait();
    void settle(const ReadDone& done);
    void land(std::uint64_t id, std::optional<SkipReason> failed, int code);
    void skip(const Chunk& chunk, SkipReason reason, int code, std::uint64_t pages);
    void skip_rest();
    void request(std::uint64_t id, const Flight& flight);
    [[nodiscard]] const db::File& file_of(const Chunk& chunk) const {
        return job_->demand.files[chunk.file];
    }

    ReaderOptions options_;
    std::unique_ptr<Engine> engine_;
    asio::io_context io_{1};
    asio::posix::stream_descriptor event_;
    asio::signal_set signals_;
    std::optional<Job> job_;
    std::map<std::uint64_t, Flight> flights_;  ///< by request id
    std::vector<ReadRequest> batch_;           ///< on their way to the engine
    std::uint64_t last_id_ = 0;
    bool stopped_ = false;
    std::optional<Error> failed_;
};

Reader::Loop::Loop(ReaderOptions options, std::unique_ptr<Engine> engine)
    : options_(std::move(options)),
      engine_(std::move(engine)),
      event_(io_, ::fcntl(engine_->event_fd(), F_DUPFD_CLOEXEC, 0)),
      signals_(io_) {
    if (options_.stop_on_signals) {
        signals_.add(SIGINT);
        signals_.add(SIGTERM);
        signals_.async_wait([this](const error_code& error, int) { stopped_ = !error; });
    }
}

Result<void> Reader::Loop::read(const Target& target, const Demand& demand,
                                const std::vector<Chunk>& chunks, Account& account) {
    job_.emplace(
        Job{target, demand, chunks, account, OpenFiles(target, demand, options_.max_open)});
    for (const Chunk& chunk : chunks) {
        ++(chunk.pages == 0 ? account.tally.visits : account.tally.ranges);
        account.tally.asked += chunk.pages;
        account.tally.gap += chunk.gap_pages;
    }
    io_.restart();
    io_.poll();  // a signal may have come between two plans
    io_.restart();
    advance();
    if (!flights_.empty()) {
        io_.run();
    }
    skip_rest();
    job_.reset();
    return failed_ ? Result<void>(*failed_) : Result<void>();
}

void Reader::Loop::advance() {
    fill();
    submit();
    if (flights_.empty()) {
        io_.stop();
    } else {
        wait();
    }
}

void Reader::Loop::fill() {
    while (!stopped_ && !failed_ && job_->next < job_->chunks.size() &&
           flights_.size() < options_.engine.depth) {
        const Chunk& chunk = job_->chunks[job_->next];
        // Opening a file reads metadata: it finds them in memory if they are let in first.
        if (file_of(chunk).kind != db::FileKind::kDevice && job_->disk_in_flight > 0) {
            return;
        }
        ++job_->next;
        start(chunk);
    }
}

void Reader::Loop::start(const Chunk& chunk) {
    if (chunk.pages == 0) {
        if (const auto refusal = job_->target.visit(file_of(chunk))) {
            skip(chunk, refusal->reason, refusal->code, 0);
        }
        return;
    }
    auto file = job_->files.get(chunk.file);
    if (const Refusal* refusal = std::get_if<Refusal>(&file)) {
        skip(chunk, refusal->reason, refusal->code, chunk.pages);
        return;
    }
    begin_flight(chunk, *std::get<OpenFiles::File*>(file));
}

void Reader::Loop::begin_flight(const Chunk& chunk, OpenFiles::File& file) {
    Flight flight{&chunk, resident_pages(file.fd.get(), chunk), 0, 0};
    const std::uint64_t missing = flight.missing_from(chunk.first_page);
    job_->account.tally.resident_before += chunk.pages - missing;
    job_->settled += chunk.pages - missing;
    if (missing == 0) {
        return;
    }
    const auto& resident = flight.resident;
    const auto first = std::find(resident.begin(), resident.end(), false) - resident.begin();
    const auto after =
        std::find(resident.rbegin(), resident.rend(), false).base() - resident.begin();
    flight.offset = (chunk.first_page + static_cast<std::uint64_t>(first)) * db::kPageSize;
    flight.end = (chunk.first_page + static_cast<std::uint64_t>(after)) * db::kPageSize;
    if (file_of(chunk).kind == db::FileKind::kRegular) {
        flight.end = std::min(flight.end, file_of(chunk).size);
    } else {
        ++job_->disk_in_flight;
    }
    ++file.in_flight;
    const auto [place, is_new] = flights_.emplace(++last_id_, std::move(flight));
    request(place->first, place->second);
}

void Reader::Loop::request(std::uint64_t id, const Flight& flight) {
    const auto length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(flight.end - flight.offset, options_.engine.longest));
    batch_.push_back({id, job_->files.in_use(flight.chunk->file).fd.get(), flight.offset, length});
}

void Reader::Loop::submit() {
    if (batch_.empty()) {
        return;
    }
    const auto batch = std::exchange(batch_, {});
    const Submitted submitted = engine_->submit(batch);
    if (submitted.error) {
        failed_ = submitted.error;
        for (std::size_t i = submitted.taken; i < batch.size(); ++i) {
            land(batch[i].id, SkipReason::kReadError, submitted.error->code);
        }
    }
}

void Reader::Loop::wait() {
    event_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code&) {
        eventfd_t count = 0;
        ::eventfd_read(engine_->event_fd(), &count);
        for (const ReadDone& done : engine_->reap()) {
            settle(done);
        }
        if (options_.progress) {
            options_.progress(job_->settled);
        }
        advance();
    });
}

void Reader::Loop::settle(const ReadDone& done) {
    Flight& flight = flights_.at(done.id);
    if (done.result < 0 && done.result != -EINTR) {
        land(done.id, SkipReason::kReadError, -done.result);
    } else if (done.result == 0) {
        land(done.id, SkipReason::kTruncated, 0);
    } else {
        flight.offset += done.result > 0 ? static_cast<std::uint64_t>(done.result) : 0;
        if (flight.offset >= flight.end) {
            land(done.id, std::nullopt, 0);
        } else {
            request(done.id, flight);
        }
    }
}

void Reader::Loop::land(std::uint64_t id, std::optional<SkipReason> failed, int code) {
    const auto place = flights_.find(id);
    const Flight& flight = place->second;
    const Chunk& chunk = *flight.chunk;
    const std::uint64_t missing = flight.missing_from(chunk.first_page);
    std::uint64_t lost = 0;
    if (failed) {
        const std::uint64_t reached =
            flight.offset / db::kPageSize + (flight.offset % db::kPageSize == 0 ? 0 : 1);
        lost = flight.missing_from(reached);
        skip(chunk, *failed, code, lost);
    }
    job_->account.tally.read += missing - lost;
    job_->settled += missing - lost;
    --job_->files.in_use(chunk.file).in_flight;
    if (file_of(chunk).kind == db::FileKind::kDevice) {
        --job_->disk_in_flight;
    }
    flights_.erase(place);
}

void Reader::Loop::skip(const Chunk& chunk, SkipReason reason, int code, std::uint64_t pages) {
    const db::File& file = file_of(chunk);
    job_->account.skips.add(
        {reason, display_path(job_->demand.devices[file.device], file), pages, code});
    job_->account.tally.skipped += pages;
    job_->settled += pages;
}

void Reader::Loop::skip_rest() {
    const SkipReason reason = failed_ ? SkipReason::kReadError : SkipReason::kStopped;
    for (; job_->next < job_->chunks.size(); ++job_->next) {
        const Chunk& chunk = job_->chunks[job_->next];
        skip(chunk, reason, failed_ ? failed_->code : 0, chunk.pages);
    }
}

Reader::Reader(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::make(const ReaderOptions& options) {
    ReaderOptions bounded = options;
    bounded.max_open = std::max(bounded.max_open, 1U);
    bounded.engine.depth = std::clamp(bounded.engine.depth, 1U, bounded.max_open);
    auto engine = make_engine(bounded.engine);
    if (!engine) {
        return engine.error();
    }
    return std::unique_ptr<Reader>(
        new Reader(std::make_unique<Loop>(std::move(bounded), *std::move(engine))));
}

Result<void> Reader::read(const Target& target, const Demand& demand,
                          const std::vector<Chunk>& chunks, Account& account) {
    return loop_->read(target, demand, chunks, account);
}

bool Reader::stopped() const {
    return loop_->stopped();
}

const Engine& Reader::engine() const {
    return loop_->engine();
}

void verify(const Target& target, const Demand& demand, const std::vector<Chunk>& chunks,
            Tally& tally) {
    OpenFiles files(target, demand, 1);
    std::vector<const Chunk*> by_file;
    by_file.reserve(chunks.size());
    for (const Chunk& chunk : chunks) {
        by_file.push_back(&chunk);
    }
    std::stable_sort(by_file.begin(), by_file.end(),
                     [](const Chunk* a, const Chunk* b) { return a->file < b->file; });
    for (const Chunk* chunk : by_file) {
        auto file = chunk->pages == 0 ? std::variant<OpenFiles::File*, Refusal>(Refusal{})
                                      : files.get(chunk->file);
        if (OpenFiles::File** open = std::get_if<OpenFiles::File*>(&file)) {
            const auto count =
                fs::resident_count((*open)->fd.get(), chunk->first_page, chunk->pages);
            tally.resident_after += count ? *count : 0;
            tally.unknown_after += count ? 0 : chunk->pages;
        }
    }
}

}  // namespace lull::replayer
