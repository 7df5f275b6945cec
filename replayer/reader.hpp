// SPDX-License-Identifier: MIT
// Reads the chunks of a plan, in its order, so many at a time, and accounts for each page.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "replayer/account.hpp"
#include "replayer/engine.hpp"
#include "replayer/plan.hpp"
#include "replayer/target.hpp"

namespace lull::replayer {

struct ReaderOptions {
    EngineOptions engine;
    /// Descriptors of files open at once; at least the depth, or the depth is lowered to it.
    std::uint32_t max_open = 64;
    /// SIGINT and SIGTERM end the reading after what is under way.
    bool stop_on_signals = false;
    /// Told after every completion how many pages of this plan are settled.
    std::function<void(std::uint64_t pages)> progress;
};

/// Belongs to the thread that made it, whose I/O class it sets. Files are opened when their turn
/// comes, metadata of the disk has arrived by then. Pages that are in memory are not asked for.
class Reader {
  public:
    /// Errors are those of make_engine.
    static Result<std::unique_ptr<Reader>> make(const ReaderOptions& options);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) = delete;
    Reader& operator=(Reader&&) = delete;

    /// Reads all chunks, or those before a stop; returns when nothing is under way any more. What
    /// goes wrong with a file is a skip in `account`; an error is one of the engine, after which
    /// the reader is of no more use.
    Result<void> read(const Target& target, const Demand& demand, const std::vector<Chunk>& chunks,
                      Account& account);

    [[nodiscard]] bool stopped() const;  ///< by a signal
    [[nodiscard]] const Engine& engine() const;

  private:
    class Loop;
    explicit Reader(std::unique_ptr<Loop> loop);
    std::unique_ptr<Loop> loop_;
};

/// Asks the kernel which of the chunks' pages are in memory (fs::resident_count); fills
/// resident_after and unknown_after. Reads nothing.
void verify(const Target& target, const Demand& demand, const std::vector<Chunk>& chunks,
            Tally& tally);

}  // namespace lull::replayer
