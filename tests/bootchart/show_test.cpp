// SPDX-License-Identifier: MIT
#include "bootchart/show.hpp"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/bootchart/charts.hpp"

namespace lull::bootchart {
namespace {

TEST(ShowTest, TellsABootInFigures) {
    const Scratch scratch;
    write_tgz(scratch.path("chart.tgz"), invent({.cmdline = "quiet \x1b[31m"}));
    ShowOptions options;
    options.path = scratch.path("chart.tgz");
    std::ostringstream text;
    std::ostringstream err;
    ASSERT_EQ(run_show(options, text, err), 0) << err.str();
    for (const char* what : {"2 x Example CPU 1", "1.50 to 21.50 s", "quiet-disk", "41 processes",
                             "sda1", "(part of another)", "quiet \\x1b[31m"}) {
        EXPECT_NE(text.str().find(what), std::string::npos) << what << '\n' << text.str();
    }
    options.json = true;
    std::ostringstream out;
    ASSERT_EQ(run_show(options, out, err), 0);
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json["span"], 20.0);
    EXPECT_EQ(json["blocks"]["cpu"], 101);
    EXPECT_EQ(json["processes"].size(), 41U);
    EXPECT_NEAR(json["disk"]["busy"], 12.0, 0.1);

    options.path = scratch.path("absent");
    EXPECT_EQ(run_show(options, out, err), 1);
    EXPECT_NE(err.str().find("absent"), std::string::npos);
}

}  // namespace
}  // namespace lull::bootchart
