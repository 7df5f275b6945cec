// SPDX-License-Identifier: MIT
// What the running kernel has, asked of its BTF; never of its version number, which distributions
// make meaningless by backports.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

struct btf;

namespace lull::bpf {

class KernelBtf {
  public:
    /// Reads the kernel's own BTF. ENOENT if it has none: libbpf would then search /boot, which at
    /// boot can wait for an automount that waits for the boot, so the file is looked for first.
    static Result<KernelBtf> load(const std::string& path = "/sys/kernel/btf/vmlinux");

    [[nodiscard]] bool has_tracepoint(const std::string& name) const;
    [[nodiscard]] bool has_function(const std::string& name) const;

  private:
    struct Deleter {
        void operator()(btf* types) const;
    };
    explicit KernelBtf(btf* types) : types_(types) {}
    std::unique_ptr<btf, Deleter> types_;
};

}  // namespace lull::bpf
