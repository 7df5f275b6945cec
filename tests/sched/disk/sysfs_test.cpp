// SPDX-License-Identifier: MIT
#include "sched/disk/sysfs.hpp"

#include <fstream>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lull::sched {
namespace {

class Sysfs : public testing::Test {
  protected:
    void write(const std::string& text) const { std::ofstream(file_) << text; }
    void TearDown() override { std::filesystem::remove(file_); }

    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / ("sysfs-value-" + std::to_string(::getpid()));
};

TEST_F(Sysfs, ReadsOneLineWithoutItsPadding) {
    write("  ST2000DM008-2FR1   \nmore\n");
    EXPECT_EQ(*read_value(file_), "ST2000DM008-2FR1");
    write("");
    EXPECT_EQ(*read_value(file_), "");
}

TEST_F(Sysfs, ReadsANumberAndNothingElse) {
    write("1024\n");
    EXPECT_EQ(*read_number(file_), 1024U);
    for (const char* wrong : {"", "-1\n", "12kB\n", "99999999999999999999\n"}) {
        write(wrong);
        ASSERT_FALSE(read_number(file_)) << wrong;
        EXPECT_EQ(read_number(file_).error().code, EBADMSG) << wrong;
    }
    std::filesystem::remove(file_);
    EXPECT_EQ(read_number(file_).error().code, ENOENT);
}

TEST(Choice, KnowsTheOneInBrackets) {
    const auto choice = parse_choice("none [mq-deadline] kyber bfq");
    EXPECT_EQ(choice.chosen, "mq-deadline");
    EXPECT_EQ(choice.offered, (std::vector<std::string>{"none", "mq-deadline", "kyber", "bfq"}));
    EXPECT_EQ(parse_choice("none").chosen, "");
    EXPECT_TRUE(parse_choice("").offered.empty());
}

TEST_F(Sysfs, PutsAValueBack) {
    write("128\n");
    {
        auto value = TemporaryValue::set(file_, "4096");
        ASSERT_TRUE(value) << value.error().message();
        EXPECT_EQ(value->before(), "128");
        EXPECT_EQ(*value->now(), "4096");
        const TemporaryValue moved(*std::move(value));
        EXPECT_EQ(*read_value(file_), "4096");
    }
    EXPECT_EQ(*read_value(file_), "128");
}

TEST_F(Sysfs, PutsBackTheChosenWordOfAChoice) {
    write("none [mq-deadline] bfq\n");
    { ASSERT_TRUE(TemporaryValue::set(file_, "bfq")); }
    EXPECT_EQ(*read_value(file_), "mq-deadline");
}

TEST_F(Sysfs, PutsBackOnce) {
    write("1\n");
    auto value = TemporaryValue::set(file_, "2");
    ASSERT_TRUE(value);
    EXPECT_TRUE(value->restore());
    write("3\n");
    EXPECT_TRUE(value->restore());
    EXPECT_EQ(*read_value(file_), "3");
}

TEST_F(Sysfs, ADeviceThatIsGoneHasNothingToPutBack) {
    write("1\n");
    auto value = TemporaryValue::set(file_, "2");
    ASSERT_TRUE(value);
    std::optional<TemporaryValue> kept(*std::move(value));
    std::filesystem::remove(file_);
    // The device is gone: to restore is an error, to forget is none.
    EXPECT_EQ(kept->restore().error().code, ENOENT);
    kept.reset();
    EXPECT_FALSE(std::filesystem::exists(file_));
    EXPECT_EQ(TemporaryValue::set(file_, "1").error().code, ENOENT);
}

}  // namespace
}  // namespace lull::sched
