// SPDX-License-Identifier: MIT
// A rung of the ladder by which the collector sees pages. Rungs are tried from the best down:
// events, fentry, add (all BPF), residency (fanotify and mincore, no BPF).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.hpp"
#include "collector/raw_trace.hpp"

namespace lull::collector {

/// What to record.
struct Scope {
    /// File systems by superblock device number; empty: every one that lives on a block device.
    std::vector<KernelDevice> devices;
    /// Most 128 KiB blocks that are kept; more are counted as lost.
    std::uint32_t max_blocks = 114688;
};

class Rung {
  public:
    virtual ~Rung() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// Begins to record. On an error nothing is left attached and the next rung can be tried.
    virtual Result<void> start(const Scope& scope, boost::asio::io_context& io) = 0;
    /// Stops and hands over what was seen. Called once, after start() succeeded.
    virtual Result<RawTrace> finish() = 0;
};

/// By name: "events", "fentry", "add" or "residency".
std::unique_ptr<Rung> make_rung(const std::string& name);

/// The parts of which make_rung() builds: "events", "fentry" or the BPF half of "add"; and the rung
/// without BPF.
std::unique_ptr<Rung> make_bpf_rung(const std::string& name);
std::unique_ptr<Rung> make_residency_rung();

}  // namespace lull::collector
