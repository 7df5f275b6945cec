// SPDX-License-Identifier: MIT
// Progress: tells a person that long work on a database goes on.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

namespace lull::db {

/// While it lives, `out` shows one line, "WHAT ... 1.2 s", drawn from within SQLite's work on
/// `connection` once that has taken `patience`, ten times a second; the line is wiped at the end.
class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    /// `out` may be null: nothing is then shown.
    Progress(std::ostream* out, SQLite::Database& connection, std::string what,
             Clock::duration patience = std::chrono::milliseconds(500));
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// From now on it is this that goes on.
    void now(std::string what) { what_ = std::move(what); }

  private:
    static int on_steps(void* self);
    void draw();

    std::ostream* out_;
    SQLite::Database& connection_;
    std::string what_;
    Clock::time_point started_ = Clock::now();
    Clock::time_point next_;
    bool drawn_ = false;
};

/// std::cerr if `wanted` and standard error is a terminal, else null.
[[nodiscard]] std::ostream* progress_stream(bool wanted);

}  // namespace lull::db
