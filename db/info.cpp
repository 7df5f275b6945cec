// SPDX-License-Identifier: MIT
#include "db/info.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/database.hpp"
#include "db/progress.hpp"
#include "db/text.hpp"

namespace lull::db {
namespace {

struct RunSize {
    std::uint64_t ranges = 0;
    std::uint64_t bytes = 0;
};

std::map<std::int64_t, RunSize> run_sizes(const Database& database) {
    std::map<std::int64_t, RunSize> sizes;
    SQLite::Statement query(database.connection(),
                            "SELECT boot, count(*), total(pages) FROM reads GROUP BY boot");
    while (query.executeStep()) {
        const auto pages =
            static_cast<std::uint64_t>(std::max(0.0, query.getColumn(2).getDouble()));
        sizes[query.getColumn(0).getInt64()] = {
            static_cast<std::uint64_t>(query.getColumn(1).getInt64()), pages * kPageSize};
    }
    return sizes;
}

std::int64_t count(const Database& database, const std::string& rows) {
    return database.connection().execAndGet("SELECT count(*) FROM " + rows).getInt64();
}

void write_head(const InfoOptions& options, const Database& database, std::ostream& out) {
    const std::string text = fmt::format(
        "{}: {}, schema version {}; {} runs, {} processes, {} ranges in {} regular files, {} "
        "directories, {} inodes and the metadata of {} devices",
        printable(options.path), human_size(std::filesystem::file_size(options.path)), kVersion,
        count(database, "boots"), count(database, "processes"), count(database, "reads"),
        count(database, "files WHERE kind = 0"), count(database, "files WHERE kind = 2"),
        count(database, "files WHERE kind = 3"), count(database, "files WHERE kind = 1"));
    out << wrap(text, options.width, 2) << '\n';
}

void write_runs(const std::vector<BootSummary>& boots, const Database& database, std::size_t width,
                std::ostream& out) {
    auto sizes = run_sizes(database);
    out << "\n run  recorded (UTC)      seconds     read ranges  rung      what\n";
    for (const auto& [id, boot] : boots) {
        const RunSize size = sizes[id];
        const std::string what =
            fmt::format("{}{}", boot.complete() ? "" : "INCOMPLETE ",
                        boot.command.empty() ? "boot" : printable(boot.command));
        const std::string line =
            fmt::format("{:>4}  {} {:>7.1f} {:>8} {:>6}  {} ", id, utc_time(boot.started_ns),
                        static_cast<double>(boot.duration_ns) / 1e9, human_size(size.bytes),
                        size.ranges, fit(printable(boot.rung), 9));
        const std::size_t used = columns(line);
        out << line << shorten(what, width > used ? width - used : 0) << '\n';
    }
}

void write_devices(const Database& database, std::size_t width, std::ostream& out) {
    out << "\nfile systems\n";
    SQLite::Statement query(
        database.connection(),
        "SELECT mount_point, fs_type, fs_uuid, source FROM devices ORDER BY id");
    while (query.executeStep()) {
        const std::string uuid = printable(query.getColumn(2).getString());
        out << shorten(fmt::format("  {}  {} {}, last seen as {}",
                                   printable(query.getColumn(0).getString()),
                                   printable(query.getColumn(1).getString()),
                                   uuid.empty() ? "without UUID" : uuid,
                                   printable(query.getColumn(3).getString())),
                       width)
            << '\n';
    }
}

}  // namespace

Result<void> info(const InfoOptions& options, std::ostream& out) {
    const auto database = Database::open(options.path);
    if (!database) {
        return database.error();
    }
    const auto boots = database->boots();
    if (!boots) {
        return boots.error().in(options.path);
    }
    return guarded(options.path, [&]() -> Result<void> {
        const Progress progress(progress_stream(options.progress), database->connection(),
                                "counting");
        InfoOptions page = options;
        page.width = std::max<std::size_t>(options.width, 60);
        write_head(page, *database, out);
        write_runs(*boots, *database, page.width, out);
        write_devices(*database, page.width, out);
        return {};
    });
}

}  // namespace lull::db
