// SPDX-License-Identifier: MIT
// What holds for every profile, whatever the load.
#include "tests/disk/model.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/disk/workload.hpp"

namespace lull::disk {
namespace {

struct Arrival {
    Request request;
    Nanoseconds at = 0;
};

/// Bursts and gaps, near and far, reads, writes and flushes.
std::vector<Arrival> random_load(const Model& model, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Arrival> load;
    Nanoseconds now = 0;
    std::uint64_t sector = 0;
    for (std::uint64_t id = 0; id < 3000; ++id) {
        constexpr Nanoseconds kGaps[] = {0, 0, 20'000, 300'000, 9'000'000, 200'000'000};
        now += static_cast<Nanoseconds>(random() % 1000) * kGaps[random() % 6] / 1000;
        Request request{id, Operation::kRead, 0, static_cast<std::uint32_t>(1 + random() % 300)};
        const std::uint64_t kind = random() % 20;
        if (kind == 0) {
            request.operation = Operation::kFlush;
            request.sectors = 0;
        } else if (kind < 6) {
            request.operation = Operation::kWrite;
        }
        if (random() % 3 == 0 || sector + request.sectors > model.sectors()) {
            sector = random() % (model.sectors() - 300);
        }
        request.sector = sector;
        sector += request.sectors;
        load.push_back({request, now});
    }
    return load;
}

std::vector<Completion> run_to_the_end(Model& model, const std::vector<Arrival>& load) {
    std::vector<Completion> all;
    const auto take = [&](Nanoseconds now) {
        const auto done = model.advance(now);
        all.insert(all.end(), done.begin(), done.end());
    };
    for (const Arrival& arrival : load) {
        model.submit(arrival.request, arrival.at);
    }
    while (const auto at = model.next_completion()) {
        take(*at);
    }
    return all;
}

bool same(const std::vector<Completion>& a, const std::vector<Completion>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const Completion& x, const Completion& y) { return x.id == y.id && x.at == y.at; });
}

class EveryModel : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] std::unique_ptr<Model> make() const { return make_model(GetParam()); }
};

TEST_P(EveryModel, CompletesEachRequestOnceAfterItsArrival) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto model = make();
        const auto load = random_load(*model, seed);
        const auto done = run_to_the_end(*model, load);
        ASSERT_EQ(done.size(), load.size());
        std::vector<bool> seen(load.size());
        Nanoseconds before = 0;
        for (const Completion& completion : done) {
            ASSERT_FALSE(seen[completion.id]);
            seen[completion.id] = true;
            ASSERT_GT(completion.at, load[completion.id].at);
            ASSERT_GE(completion.at, before);
            before = completion.at;
        }
        EXPECT_EQ(model->next_completion(), std::nullopt);
    }
}

TEST_P(EveryModel, GivesTheSameForTheSame) {
    const auto one = make();
    const auto other = make();
    const auto load = random_load(*one, 11);
    EXPECT_TRUE(same(run_to_the_end(*one, load), run_to_the_end(*other, load)));
}

TEST_P(EveryModel, DoesNotCareHowOftenItIsAsked) {
    for (std::uint64_t seed = 21; seed <= 23; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto asked_late = make();
        const auto asked_often = make();
        const auto load = random_load(*asked_late, seed);
        const auto expected = run_to_the_end(*asked_late, load);

        std::mt19937_64 random(seed);
        std::vector<Completion> done;
        Nanoseconds now = 0;
        const auto ask = [&](Nanoseconds at) {
            const auto next = asked_often->next_completion();
            const auto some = asked_often->advance(at);
            ASSERT_EQ(!some.empty(), next && *next <= at);
            ASSERT_TRUE(some.empty() || some.front().at == *next);
            ASSERT_TRUE(some.empty() || some.back().at <= at);
            done.insert(done.end(), some.begin(), some.end());
            const auto rest = asked_often->next_completion();
            ASSERT_TRUE(!rest || *rest > at);
        };
        for (const Arrival& arrival : load) {
            while (now < arrival.at) {
                now =
                    std::min(arrival.at, now + 1 + static_cast<Nanoseconds>(random() % 5'000'000));
                ask(now);
            }
            asked_often->submit(arrival.request, arrival.at);
        }
        while (asked_often->next_completion()) {
            now += static_cast<Nanoseconds>(random() % 5'000'000);
            ask(now);
        }
        EXPECT_TRUE(same(done, expected));
    }
}

TEST_P(EveryModel, CountsExactly) {
    const auto model = make();
    const auto load = random_load(*model, 31);
    std::map<Operation, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const Arrival& arrival : load) {
        ++sums[arrival.request.operation].first;
        sums[arrival.request.operation].second += arrival.request.sectors;
    }
    const auto done = run_to_the_end(*model, load);

    // Busy is the union of all stays.
    std::vector<std::pair<Nanoseconds, Nanoseconds>> stays;
    stays.reserve(done.size());
    for (const Completion& completion : done) {
        stays.emplace_back(load[completion.id].at, completion.at);
    }
    std::sort(stays.begin(), stays.end());
    Nanoseconds busy = 0;
    Nanoseconds end = 0;
    for (const auto& [from, to] : stays) {
        busy += std::max<Nanoseconds>(0, to - std::max(from, end));
        end = std::max(end, to);
    }

    const Counters& counters = model->counters();
    EXPECT_EQ(counters.reads, sums[Operation::kRead].first);
    EXPECT_EQ(counters.sectors_read, sums[Operation::kRead].second);
    EXPECT_EQ(counters.writes, sums[Operation::kWrite].first);
    EXPECT_EQ(counters.sectors_written, sums[Operation::kWrite].second);
    EXPECT_EQ(counters.busy, busy);
    EXPECT_LE(counters.cache_hits, counters.reads);
    EXPECT_LE(counters.seeks, counters.reads + counters.writes);
    if (!model->rotational()) {
        EXPECT_EQ(counters.seeks, 0U);
        EXPECT_EQ(counters.cache_hits, 0U);
    }
}

TEST_P(EveryModel, BusyTimeGrowsWhileARequestIsInside) {
    const auto model = make();
    model->submit({0, Operation::kRead, 4096, 8}, 1000);
    const Nanoseconds done = *model->next_completion();
    model->advance(1000 + (done - 1000) / 2);
    EXPECT_EQ(model->counters().busy, (done - 1000) / 2);
    EXPECT_EQ(model->counters().reads, 0U);
    model->advance(done + 1'000'000);
    EXPECT_EQ(model->counters().busy, done - 1000);
    EXPECT_EQ(model->counters().reads, 1U);
}

TEST_P(EveryModel, ASmallerOneIsTheBeginningOfTheSame) {
    const auto whole = make();
    const auto part = make_model(GetParam(), {.capacity = 1 << 20});
    EXPECT_EQ(part->sectors(), 1U << 20);
    EXPECT_GT(whole->sectors(), part->sectors());
    EXPECT_EQ(sequential_rate(*whole, {}), sequential_rate(*part, {}));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Profiles, EveryModel, testing::ValuesIn(profile_names()), test_name);

TEST(Profiles, AreTheOnesThatWerePromised) {
    const std::vector<std::string> promised = {"hdd-7200", "hdd-5400", "hdd-2004", "hdd-2012",
                                               "dvd",      "sd-card",  "sata-ssd", "nvme"};
    EXPECT_EQ(profile_names(), promised);
    EXPECT_EQ(make_model("floppy"), nullptr);
}

}  // namespace
}  // namespace lull::disk
