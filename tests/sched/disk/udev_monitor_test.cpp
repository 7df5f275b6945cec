// SPDX-License-Identifier: MIT
// The monitor hears of loop devices that come and go. Other devices of the machine may do so at the
// same time, so only the own ones are looked at.
#include "sched/disk/udev_monitor.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "sched/disk/block_device.hpp"
#include "tests/needs.hpp"
#include "tests/sched/disk/loop_file.hpp"

namespace lull::sched {
namespace {

using Kind = BlockEvent::Kind;

UdevMonitor::Options from_kernel() {
    UdevMonitor::Options options;
    options.source = UdevMonitor::Source::kKernel;
    return options;
}

/// Has the kernel tell of a device once more.
void send_events(const LoopFile& loop, int count) {
    const auto device = BlockDevice::find(loop.device().number());
    ASSERT_TRUE(device);
    for (int i = 0; i < count; ++i) {
        std::ofstream(device->directory() / "uevent") << "change" << std::flush;
    }
}

class UdevMonitorTest : public testing::Test {
  protected:
    void listen(const UdevMonitor::Options& options = from_kernel()) {
        auto monitor = UdevMonitor::open(io_, options);
        ASSERT_TRUE(monitor) << monitor.error().message();
        monitor_.emplace(*std::move(monitor));
    }
    void start() {
        monitor_->start([this](const BlockEvent& event) { events_.push_back(event); });
    }
    /// Runs the loop until such an event has come; a failure when it does not.
    template <typename Wanted>
    void expect_event(const char* what, const Wanted& wanted) {
        constexpr auto kLongest = std::chrono::seconds(20);
        const auto end = std::chrono::steady_clock::now() + kLongest;
        const auto come = [&] { return std::any_of(events_.begin(), events_.end(), wanted); };
        while (!come() && std::chrono::steady_clock::now() < end) {
            io_.run_one_until(end);
        }
        EXPECT_TRUE(come()) << what;
    }
    void expect_event(Kind kind, const std::string& name) {
        expect_event(name.c_str(), [&](const BlockEvent& event) {
            return event.kind == kind && event.name == name;
        });
    }

    boost::asio::io_context io_;
    std::optional<UdevMonitor> monitor_;
    std::vector<BlockEvent> events_;
};

TEST_F(UdevMonitorTest, HearsOfALoopDeviceThatComesAndGoes) {
    LULL_NEEDS_ROOT();
    listen();
    EXPECT_EQ(monitor_->source(), UdevMonitor::Source::kKernel);
    std::string name;
    {
        const LoopFile loop;
        ASSERT_TRUE(loop.attached()) << loop.error();
        name = loop.device().path().filename();
        start();
        expect_event(Kind::kChanged, name);
        const auto own = std::find_if(events_.begin(), events_.end(),
                                      [&](const auto& event) { return event.name == name; });
        EXPECT_EQ(own->number, loop.device().number());
        EXPECT_FALSE(own->partition);
        events_.clear();
    }
    expect_event(Kind::kChanged, name);
    const auto facts = BlockDevice::find(name)->facts();
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->sectors, 0U);
}

TEST_F(UdevMonitorTest, HearsOfPartitionsThatComeAndGo) {
    LULL_NEEDS_ROOT();
    listen();
    start();
    std::string first;
    {
        LoopFile loop;
        ASSERT_TRUE(loop.attached()) << loop.error();
        ASSERT_TRUE(loop.make_two_partitions()) << loop.error();
        first = loop.device().path().filename().string() + "p1";
        expect_event(Kind::kAdded, first);
        const auto own = std::find_if(events_.begin(), events_.end(),
                                      [&](const auto& event) { return event.name == first; });
        EXPECT_TRUE(own->partition);
    }
    expect_event(Kind::kRemoved, first);
}

TEST_F(UdevMonitorTest, SaysThatItLostEvents) {
    LULL_NEEDS_ROOT();
    auto options = from_kernel();
    options.receive_buffer = 1;  // the kernel makes it the least that it allows
    listen(options);
    const LoopFile loop;
    ASSERT_TRUE(loop.attached()) << loop.error();
    constexpr int kMoreThanItHolds = 50;
    send_events(loop, kMoreThanItHolds);
    start();
    expect_event("lost", [](const BlockEvent& event) { return event.kind == Kind::kLost; });
}

TEST_F(UdevMonitorTest, CallsNobodyOnceItIsGone) {
    LULL_NEEDS_ROOT();
    listen();
    const LoopFile loop;
    ASSERT_TRUE(loop.attached()) << loop.error();
    send_events(loop, 3);
    int calls = 0;
    // At the first of the events that wait, the handler does away with the monitor.
    monitor_->start([&](const BlockEvent&) {
        ++calls;
        monitor_.reset();
    });
    io_.run();
    EXPECT_EQ(calls, 1);
}

TEST_F(UdevMonitorTest, TakesUdevsEventsWhereUdevRuns) {
    const auto run =
        std::filesystem::path(testing::TempDir()) / ("run-" + std::to_string(::getpid()));
    UdevMonitor::Options options;
    options.roots.run = run;
    listen(options);
    EXPECT_EQ(monitor_->source(), UdevMonitor::Source::kKernel);
    std::filesystem::create_directories(run / "udev/control");
    listen(options);
    EXPECT_EQ(monitor_->source(), UdevMonitor::Source::kUdev);
    std::filesystem::remove_all(run);
}

}  // namespace
}  // namespace lull::sched
