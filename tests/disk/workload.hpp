// SPDX-License-Identifier: MIT
// Loads that a model is measured with: closed loops in simulated time.
#pragma once

#include <cstdint>

#include "tests/disk/model.hpp"

namespace lull::disk {

struct RandomLoad {
    Operation operation = Operation::kRead;
    std::uint32_t sectors = 8;  ///< per request; also their alignment
    std::uint32_t depth = 1;    ///< requests inside at any time
    std::uint32_t requests = 4000;
    std::uint64_t seed = 1;
};
/// Requests per second of uniformly random requests over the whole model.
[[nodiscard]] double random_rate(Model& model, const RandomLoad& load);

struct SequentialLoad {
    Operation operation = Operation::kRead;
    std::uint64_t first = 0;
    std::uint32_t sectors = 256;  ///< per request
    std::uint32_t depth = 1;
    std::uint32_t requests = 1000;
    Nanoseconds think = 0;  ///< between a completion and the request that follows from it
};
/// Bytes per second of requests one behind the other.
[[nodiscard]] double sequential_rate(Model& model, const SequentialLoad& load);

struct ReadersLoad {
    std::uint32_t readers = 1;        ///< one file each, spread evenly over the model
    Nanoseconds slice = 100'000'000;  ///< the disk belongs to one reader that long
    std::uint32_t sectors = 256;      ///< per request, one at a time
    Nanoseconds duration = 30'000'000'000;
};
/// Bytes per second, all readers together, each reading its file in turn for one slice. The slice
/// begins with the first completion, as in CFQ.
[[nodiscard]] double sliced_readers_rate(Model& model, const ReadersLoad& load);

/// Serves one request on a model with nothing inside; gives its completion time.
Nanoseconds serve_one(Model& model, const Request& request, Nanoseconds now);

}  // namespace lull::disk
