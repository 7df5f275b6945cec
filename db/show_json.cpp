// SPDX-License-Identifier: MIT
#include "db/show_json.hpp"

#include <nlohmann/json.hpp>

#include "db/text.hpp"

namespace lull::db {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(By by) {
    switch (by) {
        case By::kFile:
            return "file";
        case By::kProcess:
            return "process";
        case By::kUnit:
            break;
    }
    return "unit";
}

const char* name_of(Sort sort) {
    switch (sort) {
        case Sort::kTime:
            return "time";
        case Sort::kDisk:
            return "disk";
        case Sort::kSize:
            return "size";
        case Sort::kPath:
            break;
    }
    return "path";
}

const char* name_of(FileKind kind) {
    switch (kind) {
        case FileKind::kRegular:
            return "file";
        case FileKind::kDevice:
            return "device";
        case FileKind::kDirectory:
            return "directory";
        case FileKind::kInode:
            break;
    }
    return "inode";
}

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

void add_path(Json& object, const std::string& path) {
    object["path"] = path;
    if (!is_utf8(path)) {
        object["path_hex"] = hex(path);
    }
}

Json run_object(const BootSummary& run) {
    const Boot& boot = run.boot;
    const Losses& losses = boot.losses;
    return {{"id", run.id},
            {"boot_id", boot.boot_id},
            {"kernel", boot.kernel},
            {"machine", boot.machine},
            {"command", boot.command},
            {"kernel_cmdline", boot.kernel_cmdline},
            {"started_ns", boot.started_ns},
            {"duration_ns", boot.duration_ns},
            {"rung", boot.rung},
            {"limits", boot.limits},
            {"complete", boot.complete()},
            {"lost",
             {{"blocks", losses.blocks},
              {"names", losses.names},
              {"processes", losses.processes},
              {"opens", losses.opens},
              {"probes", losses.probes}}}};
}

Json tally_object(const Tally& tally) {
    return {{"first_use_ns", or_null(tally.first_use_ns)},
            {"bytes", tally.bytes},
            {"ranges", tally.ranges},
            {"files", tally.files},
            {"from",
             {{"unknown", tally.source[0]},
              {"miss", tally.source[1]},
              {"readahead", tally.source[2]},
              {"memory", tally.source[3]},
              {"replay", tally.source[4]}}},
            {"use", {{"demand", tally.use[0]}, {"mapped", tally.use[1]}, {"cached", tally.use[2]}}},
            {"disk_position", tally.disk ? Json(tally.disk->second) : Json(nullptr)}};
}

Json process_object(const Process& process) {
    return {{"pid", process.pid},       {"parent_pid", process.parent_pid},
            {"comm", process.comm},     {"executable", process.executable},
            {"cgroup", process.cgroup}, {"unit", process.unit}};
}

Json file_object(const Trace& trace, const File& file, const std::string& full_path) {
    const Device& device = trace.devices[file.device];
    Json object{{"kind", name_of(file.kind)}};
    add_path(object, full_path);
    object.update({{"inode", file.inode},
                   {"generation", file.generation},
                   {"size", file.size},
                   {"mtime_ns", file.mtime_ns},
                   {"deleted", file.deleted},
                   {"fs_uuid", device.fs_uuid},
                   {"fs_type", device.fs_type},
                   {"mount_point", device.mount_point},
                   {"source", device.source}});
    return object;
}

Json row_object(const Trace& trace, By by, const Row& row) {
    Json object = tally_object(row.tally);
    if (by == By::kFile) {
        const auto user = row.tally.first_user;
        object["first_user"] = user ? process_object(trace.processes[*user]) : Json(nullptr);
        object.update(file_object(trace, trace.files[*row.index], row.name));
    } else if (by == By::kProcess) {
        object["process"] = row.index ? process_object(trace.processes[*row.index]) : Json(nullptr);
    } else {
        object["unit"] = row.name;
    }
    return object;
}

}  // namespace

void show_json(const ShowOptions& options, const BootSummary& run, const Trace& trace,
               std::ostream& out) {
    Json rows = Json::array();
    for (const Row& row : summarize(trace, options.by, options.sort)) {
        rows.push_back(row_object(trace, options.by, row));
    }
    const Json all{{"database", options.path},  {"run", run_object(run)},
                   {"by", name_of(options.by)}, {"sort", name_of(options.sort)},
                   {"rows", std::move(rows)},   {"totals", tally_object(total(trace))}};
    out << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace lull::db
