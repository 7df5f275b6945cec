// SPDX-License-Identifier: MIT
#include "db/progress.hpp"

#include <iostream>

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "db/text.hpp"

namespace lull::db {
namespace {

// Steps of SQLite's virtual machine between two looks at the clock: below a millisecond of work.
constexpr int kSteps = 10'000;
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr char kWipe[] = "\r\x1b[K";
constexpr std::size_t kWidth = 70;  // with the time behind it within 80 columns

}  // namespace

Progress::Progress(std::ostream* out, SQLite::Database& connection, std::string what,
                   Clock::duration patience)
    : out_(out), connection_(connection), what_(std::move(what)), next_(started_ + patience) {
    if (out_ != nullptr) {
        sqlite3_progress_handler(connection_.getHandle(), kSteps, &Progress::on_steps, this);
    }
}

Progress::~Progress() {
    if (out_ == nullptr) {
        return;
    }
    sqlite3_progress_handler(connection_.getHandle(), 0, nullptr, nullptr);
    if (drawn_) {
        *out_ << kWipe << std::flush;
    }
}

int Progress::on_steps(void* self) {
    static_cast<Progress*>(self)->draw();
    return 0;
}

void Progress::draw() {
    const auto time = Clock::now();
    if (time < next_) {
        return;
    }
    next_ = time + kInterval;
    drawn_ = true;
    const std::chrono::duration<double> elapsed = time - started_;
    *out_ << kWipe << fmt::format("{} ... {:.1f} s", shorten(what_, kWidth), elapsed.count())
          << std::flush;
}

std::ostream* progress_stream(bool wanted) {
    return wanted && ::isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr;
}

}  // namespace lull::db
