// SPDX-License-Identifier: MIT
// The report on an emulated disk, under each scheduler of this kernel.
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "doctor/doctor.hpp"
#include "tests/disk/fixture.hpp"
#include "tests/needs.hpp"

namespace lull::doctor {
namespace {

nlohmann::json report_on(const std::string& name, bool probe) {
    DoctorOptions options;
    options.json = true;
    options.examine.names = {name};
    options.examine.probe = probe;
    std::ostringstream out;
    const auto complete = doctor(options, out);
    EXPECT_TRUE(complete && *complete) << out.str();
    return nlohmann::json::parse(out.str());
}

TEST(DoctorOnTheKernel, KnowsTheDiskOfAFileUnderEachScheduler) {
    LULL_NEEDS_ROOT();
    disk::EmulatedDiskOptions options;
    options.bytes = std::uint64_t{256} << 20;
    options.profile = "hdd-7200";
    auto emulated = disk::EmulatedDisk::create(options);
    ASSERT_TRUE(emulated) << emulated.error().message();
    ASSERT_TRUE(emulated->settle());
    const auto measured = report_on(emulated->mount_point().string(), true);
    ASSERT_EQ(measured["disks"].size(), 1U);
    const auto& disk = measured["disks"][0];
    EXPECT_EQ(disk["node"], emulated->device().string());
    EXPECT_EQ(disk["lull"]["basis"], "measured");
    EXPECT_EQ(disk["lull"]["seeks"], true) << disk;

    const std::map<std::string, std::string> worths{
        {"none", "nothing"}, {"kyber", "nothing"}, {"mq-deadline", "inverts"}, {"bfq", "leaks"}};
    const auto schedulers = emulated->queue().schedulers();
    ASSERT_TRUE(schedulers);
    for (const std::string& scheduler : *schedulers) {
        ASSERT_TRUE(emulated->set_queue("scheduler", scheduler)) << scheduler;
        const auto report = report_on(emulated->device().string(), false);
        const auto& idle = report["disks"][0]["idle_class"];
        EXPECT_EQ(report["disks"][0]["scheduler"], scheduler);
        EXPECT_EQ(idle["worth"], worths.at(scheduler)) << scheduler;
    }
}

}  // namespace
}  // namespace lull::doctor
