// SPDX-License-Identifier: MIT
#include "tests/disk/profiles.hpp"

namespace lull::disk {

std::unique_ptr<Model> make_model(const std::string& profile, const ModelOptions& options) {
    for (const HardDiskProfile& candidate : hard_disk_profiles()) {
        if (candidate.name == profile) {
            return std::make_unique<HardDisk>(candidate, options);
        }
    }
    for (const FlashProfile& candidate : flash_profiles()) {
        if (candidate.name == profile) {
            return std::make_unique<Flash>(candidate, options);
        }
    }
    return nullptr;
}

const std::vector<std::string>& profile_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const HardDiskProfile& profile : hard_disk_profiles()) {
            all.emplace_back(profile.name);
        }
        for (const FlashProfile& profile : flash_profiles()) {
            all.emplace_back(profile.name);
        }
        return all;
    }();
    return names;
}

}  // namespace lull::disk
