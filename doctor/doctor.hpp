// SPDX-License-Identifier: MIT
// `lull doctor`: what each disk is like, and what lull will do there.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "base/result.hpp"
#include "doctor/examine.hpp"

namespace lull::doctor {

struct DoctorOptions {
    ExamineOptions examine;
    bool json = false;
    std::size_t width = 80;  ///< columns of the text
};

/// Writes the report to `out`. False if a name was none of something on a disk or a probe failed:
/// the report tells which.
Result<bool> doctor(const DoctorOptions& options, std::ostream& out);

void write_text(const Report& report, std::size_t width, std::ostream& out);
void write_json(const Report& report, std::ostream& out);

}  // namespace lull::doctor
