// SPDX-License-Identifier: MIT
#include "tests/disk/workload.hpp"

#include <algorithm>
#include <random>

namespace lull::disk {

namespace {

/// Keeps `depth` requests inside until `requests` are done; `next` gives each request's first
/// sector. Gives the time of the last completion.
template <typename Next>
Nanoseconds closed_loop(Model& model, Request request, std::uint32_t depth, std::uint32_t requests,
                        Nanoseconds think, Next next) {
    Nanoseconds now = 0;
    std::uint32_t submitted = 0;
    const auto submit = [&](Nanoseconds at) {
        request.id = submitted++;
        request.sector = next();
        model.submit(request, at);
    };
    for (std::uint32_t i = 0; i < std::min(depth, requests); ++i) {
        submit(now);
    }
    while (const auto at = model.next_completion()) {
        for (const Completion& completion : model.advance(*at)) {
            now = completion.at;
            if (submitted < requests) {
                submit(now + think);
            }
        }
    }
    return now;
}

double per_second(double count, Nanoseconds time) {
    return count * 1e9 / static_cast<double>(time);
}

}  // namespace

double random_rate(Model& model, const RandomLoad& load) {
    std::mt19937_64 random(load.seed);
    const std::uint64_t places = model.sectors() / load.sectors;
    const Nanoseconds end =
        closed_loop(model, {0, load.operation, 0, load.sectors}, load.depth, load.requests, 0,
                    [&] { return random() % places * load.sectors; });
    return per_second(load.requests, end);
}

double sequential_rate(Model& model, const SequentialLoad& load) {
    std::uint64_t sector = load.first;
    const Nanoseconds end = closed_loop(model, {0, load.operation, 0, load.sectors}, load.depth,
                                        load.requests, load.think, [&] {
                                            const std::uint64_t here = sector;
                                            sector += load.sectors;
                                            return here;
                                        });
    const double bytes = static_cast<double>(load.requests) * load.sectors * kSectorSize;
    return per_second(bytes, end);
}

double sliced_readers_rate(Model& model, const ReadersLoad& load) {
    std::vector<std::uint64_t> next(load.readers);
    for (std::uint32_t i = 0; i < load.readers; ++i) {
        next[i] = model.sectors() / load.readers * i / 8 * 8;
    }
    Nanoseconds now = 0;
    std::uint64_t requests = 0;
    for (std::uint32_t reader = 0; now < load.duration; reader = (reader + 1) % load.readers) {
        std::optional<Nanoseconds> slice_end;
        while (!slice_end || now < *slice_end) {
            now = serve_one(model, {requests++, Operation::kRead, next[reader], load.sectors}, now);
            next[reader] += load.sectors;
            slice_end = slice_end.value_or(now + load.slice);
        }
    }
    return per_second(static_cast<double>(requests * load.sectors * kSectorSize), now);
}

Nanoseconds serve_one(Model& model, const Request& request, Nanoseconds now) {
    model.submit(request, now);
    const Nanoseconds at = model.next_completion().value_or(now);
    model.advance(at);
    return at;
}

}  // namespace lull::disk
