// SPDX-License-Identifier: MIT
#include "db/text.hpp"

#include <random>

#include <gtest/gtest.h>

namespace lull::db {
namespace {

TEST(TextTest, ShowsWhatATerminalMustNotObey) {
    EXPECT_EQ(printable("/usr/caf\xc3\xa9"), "/usr/caf\xc3\xa9");
    EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
    EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
    EXPECT_EQ(printable("\\x41"), "\\\\x41");
    EXPECT_EQ(printable("\xe2\x80\xae"), "\\u{202e}");
    EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(TextTest, KnowsUtf8FromOtherBytes) {
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    EXPECT_FALSE(is_utf8("\xc3"));                  // cut short
    EXPECT_FALSE(is_utf8("\x80"));                  // continuation alone
    EXPECT_FALSE(is_utf8("\xc0\xaf"));              // overlong '/'
    EXPECT_FALSE(is_utf8("\xe0\x80\xaf"));          // overlong '/', three bytes
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));          // surrogate
    EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));      // above U+10FFFF
    EXPECT_FALSE(is_utf8("\xf8\x88\x80\x80\x80"));  // five bytes
}

TEST(TextTest, WhatIsPrintableIsUtf8WithoutControls) {
    std::mt19937 random(1);
    for (int round = 0; round < 1000; ++round) {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes) {
            byte = static_cast<char>(random());
        }
        const std::string text = printable(bytes);
        ASSERT_TRUE(is_utf8(text)) << hex(bytes);
        ASSERT_EQ(text.find_first_of("\n\r\x1b\x7f"), std::string::npos) << hex(bytes);
        for (const std::size_t width : {0, 1, 2, 7, 30}) {
            ASSERT_LE(columns(shorten(text, width)), width) << hex(bytes);
            ASSERT_EQ(columns(fit(text, width)), width) << hex(bytes);
        }
    }
}

TEST(TextTest, MeasuresColumns) {
    EXPECT_EQ(columns("abc"), 3U);
    EXPECT_EQ(columns("caf\xc3\xa9"), 4U);
    EXPECT_EQ(columns("e\xcc\x81"), 1U);                 // combining accent
    EXPECT_EQ(columns("\xe6\xbc\xa2\xe5\xad\x97"), 4U);  // two wide characters
}

TEST(TextTest, ShortensInTheMiddleAndKeepsMoreOfTheEnd) {
    EXPECT_EQ(shorten("/usr/lib/libc.so.6", 18), "/usr/lib/libc.so.6");
    EXPECT_EQ(shorten("/usr/lib/x86_64-linux-gnu/libc.so.6", 16), "/usr/…/libc.so.6");
    EXPECT_EQ(shorten("abc", 1), "…");
    EXPECT_EQ(shorten("abc", 0), "");
}

TEST(TextTest, GivesSizesInAtMostEightColumns) {
    EXPECT_EQ(human_size(0), "0 B");
    EXPECT_EQ(human_size(1023), "1023 B");
    EXPECT_EQ(human_size(1024), "1.0 KiB");
    EXPECT_EQ(human_size(102'348), "99.9 KiB");
    EXPECT_EQ(human_size(102'400), "100 KiB");
    EXPECT_EQ(human_size(1024 * 1024 - 1), "1.0 MiB");
    EXPECT_EQ(human_size(77'594'624), "74.0 MiB");
    EXPECT_EQ(human_size(~std::uint64_t{0}), "16.0 EiB");
    for (int shift = 0; shift < 64; ++shift) {
        EXPECT_LE(human_size((std::uint64_t{1} << shift) - 1).size(), 8U) << shift;
    }
}

TEST(TextTest, GivesTimesInUtc) {
    EXPECT_EQ(utc_time(0), "1970-01-01 00:00:00");
    EXPECT_EQ(utc_time(-1), "1969-12-31 23:59:59");
    EXPECT_EQ(utc_time(1'790'000'000'000'000'000), "2026-09-21 14:13:20");
}

TEST(TextTest, BreaksLinesAtSpaces) {
    EXPECT_EQ(wrap("one two three", 20, 2), "one two three");
    EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
    EXPECT_EQ(wrap("", 8, 2), "");
}

}  // namespace
}  // namespace lull::db
