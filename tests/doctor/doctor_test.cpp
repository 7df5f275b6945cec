// SPDX-License-Identifier: MIT
// The report on systems made on the spot.
#include "doctor/doctor.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "db/text.hpp"
#include "tests/sched/disk/fake_system.hpp"

namespace lull::doctor {
namespace {

/// No line is broken.
constexpr std::size_t kWide = 1000;

class Doctor : public testing::Test {
  protected:
    Doctor() {
        system_.disk("sda", "8:0",
                     {{"size", "3907029168"},
                      {"queue/rotational", "1"},
                      {"queue/scheduler", "none [mq-deadline] kyber bfq"},
                      {"queue/iosched/prio_aging_expire", "10000"},
                      {"queue/nr_requests", "64"},
                      {"queue/read_ahead_kb", "128"},
                      {"mq/0/nr_tags", "32"},
                      {"device/queue_depth", "31"},
                      {"device/vendor", "ATA"},
                      {"device/model", "ST2000DM008-2FR1"}},
                     "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0");
        system_.partition("sda", "sda1", "8:1");
        system_.partition("sda", "sda2", "8:2");
        system_.mapper("dm-0", "253:0", "home", "CRYPT-LUKS2-1-home", {"sda2"});
        system_.disk("nvme0n1", "259:0",
                     {{"queue/scheduler", "[none] mq-deadline"},
                      {"queue/nr_requests", "1023"},
                      {"mq/0/nr_tags", "1023"},
                      {"mq/1/nr_tags", "1023"},
                      {"device/model", "Samsung SSD 980"}},
                     "pci0000:00/0000:01:00.0/nvme/nvme0");
        system_.mount("8:1", "/", "ext4", "/dev/root");
        system_.mount("0:22", "/sys", "sysfs", "sysfs");
        system_.mount("253:0", "/home", "xfs", "/dev/mapper/home");
        system_.mount("8:1", "/bind", "ext4", "/dev/root");
        options_.examine.roots = system_.roots();
    }

    std::string text() {
        std::ostringstream out;
        const auto complete = doctor(options_, out);
        EXPECT_TRUE(complete) << complete.error().message();
        complete_ = complete && *complete;
        return out.str();
    }
    nlohmann::json json() {
        options_.json = true;
        return nlohmann::json::parse(text());
    }

    sched::FakeSystem system_;
    DoctorOptions options_;
    bool complete_ = false;
};

TEST_F(Doctor, TellsOfEveryDiskAndFileSystem) {
    options_.width = kWide;
    const auto report = text();
    EXPECT_TRUE(complete_);
    for (const char* part :
         {"/ (ext4): sda1 > sda\n", "/home (xfs): dm-0 (LUKS2 home) > sda2 > sda\n",
          "nvme0n1: Samsung SSD 980, 1.0 GiB, nvme\n", "sda: ST2000DM008-2FR1, 1.8 TiB, ata\n",
          "mq-deadline (of none, mq-deadline, kyber, bfq), 64 requests;", "depth 31;",
          "depth 1023 in each of 2 hardware queues", "Worth nothing: no scheduler looks at it."}) {
        EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
    }
    EXPECT_EQ(report.find("/bind"), std::string::npos);
    EXPECT_EQ(report.find("sysfs"), std::string::npos);
}

TEST_F(Doctor, KeepsToTheWidth) {
    for (const std::size_t width : {80U, 60U}) {
        options_.width = width;
        std::istringstream lines(text());
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(db::columns(line), width) << line;
        }
    }
}

TEST_F(Doctor, TellsTheSameInJson) {
    const auto report = json();
    ASSERT_EQ(report["disks"].size(), 2U);
    const auto& disk = report["disks"][1];
    EXPECT_EQ(disk["name"], "sda");
    EXPECT_EQ(disk["transport"], "ata");
    EXPECT_EQ(disk["sectors"], 3'907'029'168U);
    EXPECT_EQ(disk["scheduler"], "mq-deadline");
    EXPECT_EQ(disk["schedulers"].size(), 4U);
    EXPECT_EQ(disk["queue_depth"], 31U);
    EXPECT_EQ(disk["idle_class"]["worth"], "inverts");
    EXPECT_EQ(disk["idle_class"]["longest_hold_ns"], 10'000'000'000);
    EXPECT_TRUE(disk["measured"].is_null());
    EXPECT_EQ(disk["lull"]["basis"], "assumed");
    EXPECT_EQ(disk["lull"]["seeks"], true);
    EXPECT_EQ(disk["lull"]["idle_depth"], 1U);
    EXPECT_EQ(report["disks"][0]["lull"]["head_start"], false);
    EXPECT_EQ(report["events"], "kernel");
    ASSERT_EQ(report["places"].size(), 2U);
    const auto& home = report["places"][1];
    EXPECT_EQ(home["mount_point"], "/home");
    EXPECT_EQ(home["devices"][0]["layer"], "crypt");
    EXPECT_EQ(home["devices"][0]["below"][0]["below"][0]["name"], "sda");
}

TEST_F(Doctor, LooksOnlyAtWhatIsNamed) {
    options_.examine.names = {"dm-0", "sda"};
    const auto report = json();
    EXPECT_TRUE(complete_);
    ASSERT_EQ(report["disks"].size(), 1U);
    EXPECT_EQ(report["disks"][0]["name"], "sda");
    EXPECT_EQ(report["places"].size(), 2U);
}

TEST_F(Doctor, FindsTheDiskOfAPath) {
    options_.examine.names = {system_.root().string()};
    const auto report = text();
    EXPECT_NE(report.find(" (ext4 at /): sda1 > sda"), std::string::npos) << report;
    EXPECT_EQ(report.find("nvme"), std::string::npos);
}

TEST_F(Doctor, TellsWhichNameIsNone) {
    options_.examine.names = {"sda", "sdz"};
    const auto report = text();
    EXPECT_FALSE(complete_);
    EXPECT_NE(report.find("sdz: No such file or directory\n"), std::string::npos) << report;
    EXPECT_NE(report.find("sda: ST2000DM008-2FR1"), std::string::npos);
    const auto same = json();
    EXPECT_FALSE(complete_);
    EXPECT_EQ(same["places"][1]["error"], "sdz: No such file or directory");
}

TEST_F(Doctor, TellsOfAProbeThatFailed) {
    options_.examine.names = {"sda"};
    options_.examine.probe = true;  // there is no node to open
    const auto report = text();
    EXPECT_FALSE(complete_);
    EXPECT_NE(report.find("Failed: "), std::string::npos) << report;
    const auto same = json();
    EXPECT_EQ(same["disks"][0]["lull"]["basis"], "assumed");
    EXPECT_TRUE(same["disks"][0]["measured"].contains("error"));
}

TEST_F(Doctor, AsksTheWatchWhatItCanDo) {
    options_.examine.watch = [](const sched::BlockDevice& device) {
        return WatchFacts{"bpf", "Needs nothing more on " + device.name() + "."};
    };
    EXPECT_NE(text().find("watch       bpf. Needs nothing more on sda."), std::string::npos);
    EXPECT_EQ(json()["disks"][1]["watch"]["rung"], "bpf");
}

TEST_F(Doctor, IsNotSteeredByANameOnTheDisk) {
    system_.disk("loop0", "7:0", {{"loop/backing_file", "/evil\x1b[2J.img"}});
    options_.examine.names = {"loop0"};
    const auto report = text();
    EXPECT_EQ(report.find('\x1b'), std::string::npos) << report;
    EXPECT_NE(report.find("\\x1b"), std::string::npos) << report;
}

DiskReport measured_disk(const sched::FakeSystem& system, bool seeks) {
    const auto device = sched::BlockDevice::find("sda", system.roots());
    sched::ServiceTimes times;
    times.random_mean = seeks ? 12'900 * sched::kMicrosecond : 83 * sched::kMicrosecond;
    times.random_median = times.random_mean;
    times.ns_per_byte = 10;
    times.depths = {{16, seeks ? 1.8 : 9.0}};
    auto report = DiskReport{*device, *device->facts(), {}, times, times.traits(), {}};
    report.idle = idle_class(report.device, report.facts, report.traits);
    return report;
}

TEST_F(Doctor, BelievesWhatItMeasured) {
    for (const bool seeks : {true, false}) {
        Report report;
        report.disks.push_back(measured_disk(system_, seeks));
        std::ostringstream text;
        write_text(report, kWide, text);
        const auto written = text.str();
        EXPECT_EQ(written.find("It seeks.") != std::string::npos, seeks) << written;
        EXPECT_EQ(written.find("It does not seek.") == std::string::npos, seeks) << written;
        EXPECT_EQ(written.find("The driver says otherwise") == std::string::npos, seeks) << written;
        EXPECT_EQ(written.find("A head start pays") != std::string::npos, seeks) << written;
        EXPECT_NE(written.find("100 MB/s"), std::string::npos) << written;
    }
}

TEST_F(Doctor, SaysThatTheDiskWasBusy) {
    Report report;
    report.disks.push_back(measured_disk(system_, true));
    (*report.disks.front().times)->other_bytes = 3 << 20;
    std::ostringstream text;
    write_text(report, kWide, text);
    EXPECT_NE(text.str().find("Others moved 3.0 MiB"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace lull::doctor
