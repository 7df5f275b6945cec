// SPDX-License-Identifier: MIT
// The parts of the disk server that need no kernel: the model in service, its books, the settings
// of a queue.
#include "tests/disk/drive.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/disk/message.hpp"
#include "tests/disk/queue.hpp"
#include "tests/disk/status.hpp"

namespace lull::disk {
namespace {

/// A disk that serves any number of requests at once, each in the same time.
class FixedLatency : public Model {
  public:
    explicit FixedLatency(Nanoseconds latency) : latency_(latency) {}

    void submit(const Request& request, Nanoseconds now) override {
        inside_.push_back({request.id, now + latency_});
    }
    [[nodiscard]] std::optional<Nanoseconds> next_completion() const override {
        return inside_.empty() ? std::nullopt : std::optional(inside_.front().at);
    }
    std::vector<Completion> advance(Nanoseconds now) override {
        std::vector<Completion> done;
        while (!inside_.empty() && inside_.front().at <= now) {
            done.push_back(inside_.front());
            inside_.erase(inside_.begin());
            ++counters_.reads;
        }
        return done;
    }
    [[nodiscard]] const Counters& counters() const override { return counters_; }
    [[nodiscard]] std::uint64_t sectors() const override { return 1024; }
    [[nodiscard]] bool rotational() const override { return false; }

  private:
    Nanoseconds latency_;
    std::vector<Completion> inside_;
    Counters counters_;
};

Request read_of(std::uint64_t id) {
    return {id, Operation::kRead, 8, 8};
}

TEST(Drive, CompletesWhenTheModelSays) {
    Drive drive(std::make_unique<FixedLatency>(100));
    ASSERT_TRUE(drive.submit(read_of(7), 1000));
    EXPECT_EQ(drive.next_completion(), 1100);
    EXPECT_TRUE(drive.advance(1099).empty());
    const auto done = drive.advance(1100);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].id, 7U);
    EXPECT_EQ(drive.next_completion(), std::nullopt);
}

TEST(Drive, CountsWhatIsInside) {
    Drive drive(std::make_unique<FixedLatency>(100));
    ASSERT_TRUE(drive.submit(read_of(1), 0));
    ASSERT_TRUE(drive.submit(read_of(2), 10));
    EXPECT_EQ(drive.status().in_flight, 2U);
    ASSERT_EQ(drive.advance(100).size(), 1U);
    EXPECT_EQ(drive.status().in_flight, 1U);
    EXPECT_EQ(drive.status().max_in_flight, 2U);
    EXPECT_EQ(drive.status().counters.reads, 1U);
}

TEST(Drive, WithoutTimingNothingGoesInside) {
    Drive drive(std::make_unique<FixedLatency>(100));
    ASSERT_TRUE(drive.submit(read_of(1), 0));
    drive.set_timing(false);
    EXPECT_FALSE(drive.submit(read_of(2), 1));
    EXPECT_EQ(drive.status().bypassed, 1U);
    // What was inside before keeps its time.
    EXPECT_EQ(drive.next_completion(), 100);
    EXPECT_EQ(drive.advance(100).size(), 1U);
    drive.set_timing(true);
    EXPECT_TRUE(drive.submit(read_of(3), 200));
}

TEST(Drive, ReplacingTheModelFinishesWhatIsInsideAndKeepsTheCounts) {
    Drive drive(std::make_unique<FixedLatency>(100));
    ASSERT_TRUE(drive.submit(read_of(1), 0));
    ASSERT_TRUE(drive.submit(read_of(2), 5));
    const auto done = drive.replace(std::make_unique<FixedLatency>(7));
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[1].id, 2U);
    EXPECT_EQ(drive.status().in_flight, 0U);
    EXPECT_EQ(drive.status().counters.reads, 2U);
    ASSERT_TRUE(drive.submit(read_of(3), 10));
    EXPECT_EQ(drive.next_completion(), 17);
    ASSERT_EQ(drive.advance(17).size(), 1U);
    EXPECT_EQ(drive.status().counters.reads, 3U);
}

TEST(Lateness, PercentilesAreTheEdgesOfNarrowBuckets) {
    Lateness lateness;
    EXPECT_EQ(lateness.percentile(0.5), 0);
    for (int count = 0; count < 99; ++count) {
        lateness.add(50'000);
    }
    lateness.add(3'000'000);
    EXPECT_EQ(lateness.count(), 100U);
    EXPECT_GE(lateness.percentile(0.5), 50'000);
    EXPECT_LE(lateness.percentile(0.5), 62'500);
    EXPECT_EQ(lateness.percentile(0.99), lateness.percentile(0.5));
    EXPECT_GE(lateness.percentile(1.0), 3'000'000);
    EXPECT_LE(lateness.percentile(1.0), 3'750'000);
}

TEST(Lateness, TakesTheExtremes) {
    Lateness lateness;
    lateness.add(-5);
    EXPECT_EQ(lateness.percentile(1.0), 1024);
    lateness.add(std::numeric_limits<Nanoseconds>::max());
    EXPECT_GT(lateness.percentile(1.0), 10'000'000'000);
}

TEST(StatusPage, AnotherMappingReadsWhatWasPublished) {
    auto page = StatusPage::create();
    ASSERT_TRUE(page) << page.error().message();
    auto reader = StatusPage::open(Fd(::dup(page->fd())));
    ASSERT_TRUE(reader) << reader.error().message();
    Status status;
    status.counters.reads = 3;
    status.max_in_flight = 32;
    status.lateness.add(5000);
    page->publish(status);
    const auto seen = reader->read();
    EXPECT_EQ(seen.counters.reads, 3U);
    EXPECT_EQ(seen.max_in_flight, 32U);
    EXPECT_EQ(seen.lateness.count(), 1U);
}

TEST(StatusPage, ReadersNeverSeeHalfAWrite) {
    auto page = StatusPage::create();
    ASSERT_TRUE(page) << page.error().message();
    std::atomic<bool> stop = false;
    std::jthread writer([&] {
        Status status;
        while (!stop) {
            ++status.counters.reads;
            status.in_flight = status.bypassed = status.counters.reads;
            page->publish(status);
        }
    });
    for (int round = 0; round < 20'000; ++round) {
        const auto seen = page->read();
        ASSERT_EQ(seen.counters.reads, seen.in_flight);
        ASSERT_EQ(seen.counters.reads, seen.bypassed);
    }
    stop = true;
}

TEST(StatusPage, RefusesAFileOfAnotherSize) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const Fd other(ends[1]);
    auto page = StatusPage::open(Fd(ends[0]));
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, EINVAL);
}

class Messages : public testing::Test {
  protected:
    void SetUp() override {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        here_.reset(ends[0]);
        there_.reset(ends[1]);
    }
    Fd here_;
    Fd there_;
};

TEST_F(Messages, ArriveWordByWord) {
    const std::vector<std::string> words{"restore", "/sys/a b\n", "", "x"};
    ASSERT_TRUE(send_message(here_.get(), words));
    const auto message = receive_message(there_.get());
    ASSERT_TRUE(message) << message.error().message();
    EXPECT_EQ(message->words, words);
    EXPECT_TRUE(message->fds.empty());
}

TEST_F(Messages, CarryDescriptors) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    Fd reading(pipe[0]);
    const Fd writing(pipe[1]);
    ASSERT_TRUE(send_message(here_.get(), {"ready"}, pipe));
    const auto message = receive_message(there_.get());
    ASSERT_TRUE(message) << message.error().message();
    ASSERT_EQ(message->fds.size(), 2U);
    ASSERT_EQ(::write(message->fds[1].get(), "x", 1), 1);
    char got = 0;
    ASSERT_EQ(::read(reading.get(), &got, 1), 1);
    EXPECT_EQ(got, 'x');
}

TEST_F(Messages, TellThatTheOtherSideIsGone) {
    there_.reset();
    const auto message = receive_message(here_.get());
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().code, EPIPE);
    const auto sent = send_message(here_.get(), {"quit"});
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, EPIPE);
}

TEST_F(Messages, HaveALimit) {
    const auto sent = send_message(here_.get(), {std::string(kMaxMessageBytes, 'x')});
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, EMSGSIZE);
}

class QueueTree : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "queue-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
        put("scheduler", "none [mq-deadline] kyber bfq\n");
        put("read_ahead_kb", "256\n");
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    void put(const std::string& name, const std::string& value) const {
        std::ofstream(directory_ / name) << value;
    }
    [[nodiscard]] std::string content(const std::string& name) const {
        std::ifstream stream(directory_ / name);
        std::string text;
        std::getline(stream, text);
        return text;
    }

    std::filesystem::path directory_;
};

TEST_F(QueueTree, ReadsChoicesAndPlainValues) {
    const QueueSettings queue(directory_);
    EXPECT_EQ(*queue.get("scheduler"), "mq-deadline");
    EXPECT_EQ(*queue.get("read_ahead_kb"), "256");
    EXPECT_EQ(*queue.schedulers(),
              (std::vector<std::string>{"none", "mq-deadline", "kyber", "bfq"}));
    ASSERT_FALSE(queue.get("missing"));
}

TEST_F(QueueTree, PutsTheFirstValuesBack) {
    {
        QueueSettings queue(directory_);
        ASSERT_TRUE(queue.set("scheduler", "bfq "));
        ASSERT_TRUE(queue.set("read_ahead_kb", "128"));
        ASSERT_TRUE(queue.set("read_ahead_kb", "512"));
        EXPECT_EQ(content("read_ahead_kb"), "512");
        EXPECT_EQ(queue.saved().size(), 2U);
        const QueueSettings moved = std::move(queue);
    }
    EXPECT_EQ(content("read_ahead_kb").substr(0, 3), "256");
    EXPECT_EQ(content("scheduler").substr(0, 11), "mq-deadline");
}

TEST_F(QueueTree, LeavesAloneWhatIsAsWanted) {
    QueueSettings queue(directory_);
    ASSERT_TRUE(queue.set("read_ahead_kb", "256"));
    EXPECT_TRUE(queue.saved().empty());
}

}  // namespace
}  // namespace lull::disk
