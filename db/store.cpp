// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "db/database.hpp"

namespace lull::db {
namespace {

constexpr char kCorruptSuffix[] = ".corrupt";

}  // namespace

Result<void> store(const std::string& path, const Trace& trace, std::size_t keep_boots,
                   std::string* warning) {
    const auto target = Target::lock(path);
    if (!target) {
        return target.error();
    }
    auto database = Database::load(target->path());
    const bool damaged = !database && database.error().code == EUCLEAN;
    if (!database && database.error().code != ENOENT && !damaged) {
        return database.error();
    }
    const std::string damage = damaged ? database.error().what : std::string();
    if (!database) {
        database = Database::create();
    }
    if (!database) {
        return database.error();
    }
    if (const auto added = database->add(trace); !added) {
        return added.error().in(target->path());
    }
    if (auto pruned = database->prune(keep_boots); !pruned) {
        return pruned;
    }
    if (damaged) {
        if (auto aside = target->set_aside(kCorruptSuffix); !aside) {
            return aside;
        }
        if (warning != nullptr) {
            *warning = fmt::format("{}; kept as {}{}, a new database was begun", damage,
                                   target->path(), kCorruptSuffix);
        }
    }
    return database->publish(*target);
}

}  // namespace lull::db
