// SPDX-License-Identifier: MIT
#include "db/check.hpp"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/database.hpp"
#include "db/progress.hpp"
#include "db/text.hpp"
#include "db/trace_rows.hpp"

namespace lull::db {
namespace {

struct Findings {
    std::vector<std::string> problems;
    std::size_t runs = 0;
    std::size_t files = 0;
    std::size_t ranges = 0;
};

void check_runs(SQLite::Database& connection, Progress& progress, Findings& findings) {
    const auto boots = read_boots(connection);
    if (!boots) {
        findings.problems.push_back(boots.error().what);
        return;
    }
    findings.runs = boots->size();
    for (std::size_t i = 0; i < boots->size(); ++i) {
        progress.now(fmt::format("checking run {} of {}", i + 1, boots->size()));
        const auto trace = read_trace(connection, (*boots)[i].id);
        if (!trace) {
            findings.problems.push_back(trace.error().what);
            continue;
        }
        findings.files += trace->files.size();
        findings.ranges += trace->reads.size();
    }
}

void check_content(SQLite::Database& connection, std::ostream* progress_out, Findings& findings) {
    if (const auto schema = check_schema(connection); !schema) {
        findings.problems.push_back(schema.error().what);
    }
    Progress progress(progress_out, connection, "checking every page");
    auto damage = find_damage(connection);
    if (!damage) {
        findings.problems.push_back(damage.error().what);
        return;
    }
    findings.problems.insert(findings.problems.end(), damage->begin(), damage->end());
    if (findings.problems.empty()) {
        check_runs(connection, progress, findings);
    }
}

/// What is wrong, or an error if the file cannot be judged.
Result<Findings> look(const CheckOptions& options) {
    Findings findings;
    const auto header = read_header(options.path, std::numeric_limits<std::uint64_t>::max());
    if (!header) {
        const int code = header.error().code;
        if (code != EUCLEAN && code != EBUSY && code != EOPNOTSUPP) {
            return header.error();
        }
        findings.problems.push_back(header.error().what);
        return findings;
    }
    std::ostream* const progress_out = progress_stream(options.progress);
    if (header->version != kVersion) {
        // Only what the migration makes of it can be compared with the schema of today.
        const auto migrated = Database::load(options.path);
        if (!migrated) {
            findings.problems.push_back(migrated.error().what);
            return findings;
        }
        check_content(migrated->connection(), progress_out, findings);
        return findings;
    }
    auto connection = connect_immutable(options.path);
    if (!connection) {
        findings.problems.push_back(connection.error().what);
        return findings;
    }
    check_content(*connection, progress_out, findings);
    return findings;
}

}  // namespace

Result<bool> check(const CheckOptions& options, std::ostream& out) {
    const auto findings = look(options);
    if (!findings) {
        return findings.error();
    }
    const std::string name = printable(options.path);
    for (const std::string& problem : findings->problems) {
        // Errors of a file begin with its name already.
        const bool named = problem.starts_with(options.path + ": ");
        out << (named ? "" : name + ": ") << printable(problem) << '\n';
    }
    if (findings->problems.empty()) {
        out << fmt::format("{}: sound: {} runs with {} files and {} ranges\n", name, findings->runs,
                           findings->files, findings->ranges);
    }
    return findings->problems.empty();
}

}  // namespace lull::db
