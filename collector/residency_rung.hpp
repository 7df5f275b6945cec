// SPDX-License-Identifier: MIT
// The last rung: no BPF. Files by fanotify (else only by /proc), pages by what is in memory at the
// end. It cannot tell use from readahead: all its pages are RawBlock::cached, and RawBlock::added
// where they certainly came into memory after the file was first seen.
#pragma once

#include <memory>
#include <string>

#include "collector/rung.hpp"

namespace lull::collector {

struct ResidencyOptions {
    std::string proc_root = "/proc";
    std::string mountinfo = "/proc/self/mountinfo";
    bool unlimited_queue = true;  ///< lift the kernel's limit (16384) on opens that wait to be read
};

std::unique_ptr<Rung> make_residency_rung(const ResidencyOptions& options);

}  // namespace lull::collector
