// SPDX-License-Identifier: MIT
// A tree like /sys, with the files and links that a kernel makes for block devices, and a
// mountinfo.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "sched/disk/block_device.hpp"

namespace lull::sched {

class FakeSystem {
  public:
    using Values = std::vector<std::pair<std::string, std::string>>;

    FakeSystem();
    ~FakeSystem();
    FakeSystem(const FakeSystem&) = delete;
    FakeSystem& operator=(const FakeSystem&) = delete;
    FakeSystem(FakeSystem&&) = delete;
    FakeSystem& operator=(FakeSystem&&) = delete;

    [[nodiscard]] const SystemRoots& roots() const { return roots_; }
    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

    /// A whole device. `parent` is where the bus puts it below /sys/devices; `number` "8:0".
    /// `values`: files, relative to the device ("queue/rotational"), beside size, dev, ro.
    void disk(const std::string& name, const std::string& number, const Values& values = {},
              const std::string& parent = "virtual");
    void partition(const std::string& disk, const std::string& name, const std::string& number);
    /// `upper` lies on `lower`, as dm and md tell it.
    void put_on(const std::string& upper, std::initializer_list<std::string> lower);
    /// dm device with its name and UUID, on others.
    void mapper(const std::string& name, const std::string& number, const std::string& dm_name,
                const std::string& uuid, std::initializer_list<std::string> lower);
    void btrfs(const std::string& uuid, std::initializer_list<std::string> devices);
    /// One more mount. `source` as given to mount(2).
    void mount(const std::string& number, const std::string& point, const std::string& type,
               const std::string& source);
    void remove(const std::string& name);

    [[nodiscard]] std::filesystem::path directory(const std::string& name) const;

  private:
    void add(const std::filesystem::path& directory, const std::string& number,
             const Values& values);

    std::filesystem::path root_;
    SystemRoots roots_;
    int mounts_ = 20;
};

}  // namespace lull::sched
