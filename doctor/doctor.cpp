// SPDX-License-Identifier: MIT
#include "doctor/doctor.hpp"

#include <ostream>

namespace lull::doctor {

Result<bool> doctor(const DoctorOptions& options, std::ostream& out) {
    const auto report = examine(options.examine);
    if (!report) {
        return report.error();
    }
    if (options.json) {
        write_json(*report, out);
    } else {
        write_text(*report, options.width, out);
    }
    return report->complete();
}

}  // namespace lull::doctor
