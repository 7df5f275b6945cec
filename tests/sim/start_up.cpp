// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/sim/foregrounds.hpp"

namespace lull::sim {

namespace {

constexpr std::uint32_t kPage = 8;  ///< sectors
constexpr double kPageBytes = 4096;
constexpr double kMebibyte = 1 << 20;
constexpr std::uint64_t kCgroup = 10;
constexpr std::uint32_t kTask = 1000;

/// Where a program's files lie: a few clusters, as packages were unpacked.
class Places {
  public:
    Places(const CaseOptions& options, Random& random) : options_(options), random_(random) {
        // The system's part of the disk: the first eighth.
        constexpr std::size_t kClusters = 12;
        const std::uint64_t system = options.sectors / 8;
        for (std::size_t i = 0; i < kClusters; ++i) {
            clusters_.push_back(random.below(system / kPage) * kPage);
        }
    }

    /// The beginning of a file.
    std::uint64_t file() {
        constexpr std::uint64_t kCluster = 1 << 17;  // sectors: 64 MiB
        return clusters_[random_.below(clusters_.size())] + random_.below(kCluster / kPage) * kPage;
    }
    /// An inode, directory or extent block: at the head of a block group of 128 MiB.
    std::uint64_t metadata() {
        constexpr std::uint64_t kGroup = 1 << 18;
        constexpr std::uint64_t kTable = 4096;
        return file() / kGroup * kGroup + random_.below(kTable / kPage) * kPage;
    }
    std::uint64_t anywhere() { return random_.below(options_.sectors / 8 / kPage) * kPage; }

  private:
    const CaseOptions& options_;
    Random& random_;
    std::vector<std::uint64_t> clusters_;
};

/// Sizes in pages whose logarithm is uniform from one page up, scaled to the volume that is due.
std::vector<std::uint32_t> sizes(std::size_t count, double pages, Random& random) {
    constexpr double kSpread = 32;
    constexpr std::uint32_t kMost = 32;  // pages: the kernel's readahead, 128 KiB
    std::vector<double> raw;
    raw.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        raw.push_back(random.log_between(1, kSpread));
    }
    // Rounding and the bounds make the sum grow slower than the scale: look for it by halves.
    const auto sum = [&raw](double scale) {
        double all = 0;
        for (const double size : raw) {
            all += std::clamp<double>(std::round(size * scale), 1, kMost);
        }
        return all;
    };
    double low = 0;
    double high = kMost;
    constexpr int kHalvings = 40;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (sum(middle) < pages ? low : high) = middle;
    }
    std::vector<std::uint32_t> all;
    all.reserve(count);
    for (const double size : raw) {
        all.push_back(
            static_cast<std::uint32_t>(std::clamp<double>(std::round(size * high), 1, kMost)));
    }
    return all;
}

enum class What : std::uint8_t { kMetadata, kReadahead, kPlain };

std::vector<What> kinds(const StartUp& program, Random& random) {
    std::vector<What> all(program.requests, What::kPlain);
    const auto count = [&](double share) {
        return static_cast<std::ptrdiff_t>(share * static_cast<double>(program.requests));
    };
    std::fill_n(all.begin(), count(program.metadata), What::kMetadata);
    std::fill_n(all.begin() + count(program.metadata), count(program.readahead), What::kReadahead);
    random.shuffle(all);
    return all;
}

Step stray(Step step, Places& places) {
    step.sector = step.metadata ? places.metadata() : places.anywhere();
    return step;
}

Script one_start(const StartUp& program, Places& places, Random& random) {
    const std::vector<What> what = kinds(program, random);
    const auto metadata =
        static_cast<double>(std::count(what.begin(), what.end(), What::kMetadata));
    const double pages = program.mebibytes * kMebibyte / kPageBytes - metadata;
    const std::vector<std::uint32_t> size =
        sizes(program.requests - static_cast<std::size_t>(metadata), pages, random);
    const std::vector<double> gaps = spread_over(program.gaps, program.requests, random);

    Script script;
    std::uint64_t position = places.file();
    std::size_t data = 0;
    for (std::size_t i = 0; i < program.requests; ++i) {
        Step step{.gap = milliseconds(gaps[i]), .task = kTask, .cgroup = kCgroup};
        if (what[i] == What::kMetadata) {
            step.metadata = true;
            step.sector = places.metadata();
            step.sectors = kPage;
        } else {
            // Readahead goes on where the file was read; of the other requests half do, near by,
            // and half begin another file.
            constexpr double kNewFile = 0.5;
            constexpr std::uint64_t kNear = 64;
            if (what[i] == What::kPlain) {
                position = random.chance(kNewFile) ? places.file()
                                                   : position + random.below(kNear) * kPage;
            }
            step.sector = position;
            step.sectors = size[data++] * kPage;
            position += step.sectors;
        }
        script.push_back(step);
    }
    return script;
}

}  // namespace

const std::vector<StartUp>& start_ups() {
    // Percentiles without a published figure: the shortest gap; of xterm the median and the points
    // at 0.95 and 0.995, put so that a start computes for about the 2.4 s that were published.
    static const std::vector<StartUp> programs{
        {.name = "gnometerm",
         .requests = 2781,
         .mebibytes = 20.1,
         .metadata = 0.10,
         .readahead = 0.65,
         .gaps = {{0, 0.005}, {0.5, 0.03}, {0.9, 0.33}, {0.99, 3.0}, {1, 26}}},
        {.name = "lowriter",
         .requests = 1268,
         .mebibytes = 46.4,
         .metadata = 0.06,
         .readahead = 0.77,
         .gaps = {{0, 0.005}, {0.5, 0.085}, {0.9, 15.7}, {0.99, 45.5}, {1, 361}}},
        {.name = "xterm",
         .requests = 718,
         .mebibytes = 5.9,
         .metadata = 0.13,
         .readahead = 0.52,
         .gaps = {{0, 0.005},
                  {0.5, 0.05},
                  {0.9, 11.6},
                  {0.95, 15},
                  {0.99, 45.9},
                  {0.995, 60},
                  {1, 325}}},
    };
    return programs;
}

Foreground start_up(const StartUp& program, const CaseOptions& options) {
    Random random(options.seed);
    Places places(options, random);
    const Script first = one_start(program, places, random);
    Script all;
    for (std::size_t i = 0; i < program.starts; ++i) {
        for (const Step& step : first) {
            all.push_back(random.below(program.strays) == 0 ? stray(step, places) : step);
            all.back().gap = static_cast<Nanoseconds>(static_cast<double>(step.gap) *
                                                      random.log_normal(1, program.jitter));
        }
        Step& begin = all[all.size() - first.size()];
        constexpr double kShortest = 500;
        constexpr double kLongest = 2000;
        begin.gap = milliseconds(random.log_between(kShortest, kLongest));
        begin.gap_kind = GapKind::kPause;
    }
    return {program.name, {all}};
}

}  // namespace lull::sim
