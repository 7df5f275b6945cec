// SPDX-License-Identifier: MIT
#include "tests/bench/gaps_figure.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lull::bench {

namespace {

// One panel, in pixels.
constexpr double kWidth = 250;
constexpr double kHeight = 170;
constexpr double kLeft = 46;   // of the axis' words
constexpr double kTop = 28;    // of the title
constexpr double kBelow = 44;  // of the other axis' words
constexpr std::size_t kColumns = 3;
constexpr double kHead = 60;  // above all panels

// What the axes show, and what lies outside is drawn at their ends: slowdowns from 0.03 % to
// 1000 %, shares up to 1.
constexpr double kLeast = 3e-4;
constexpr double kMost = 10;

double place_x(double slowdown) {
    const double shown = std::clamp(slowdown - 1, kLeast, kMost);
    return kWidth * std::log(shown / kLeast) / std::log(kMost / kLeast);
}
double place_y(double share) {
    return kHeight * (1 - std::clamp(share, 0.0, 1.0));
}

struct Mark {
    const char* rule = nullptr;
    const char* label = nullptr;
    const char* style = nullptr;  ///< class of the SVG
    double radius = 0;
    double below = 14;  ///< of the label
};
constexpr Mark kMarks[] = {
    {"cfq_2_6_35", "cfq", "kernel", 4},       {"bfq", "bfq", "kernel", 4},
    {"mq_deadline", "mq-d", "kernel", 4, 26}, {"clairvoyant", "", "ceiling", 5},
    {"hindsight", "", "hindsight", 5},        {"learned", "", "learned", 5.5},
};

const char* const kStyle = R"(<style>
  text { font: 11px sans-serif; fill: #7a7a7a; }
  .title { font-weight: bold; font-size: 12px; }
  .axis { stroke: #888; fill: none; }
  .grid { stroke: #888; stroke-opacity: .25; fill: none; }
  .budget { fill: #2a9d4a; fill-opacity: .10; }
  .fixed { fill: #888; } .way { stroke: #888; fill: none; stroke-opacity: .6; }
  .kernel { fill: #c0392b; }
  .hindsight { fill: none; stroke: #1f6fb2; stroke-width: 2; }
  .ceiling { fill: none; stroke: #8e5bb5; stroke-width: 2; }
  .learned { fill: #2a9d4a; }
  @media (prefers-color-scheme: light) { text { fill: #333; } }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .kernel { fill: #ff7b6b; } .hindsight { stroke: #6db3f2; }
    .ceiling { stroke: #c79bea; } .learned { fill: #58d68d; } .fixed { fill: #aaa; }
  }
</style>
)";

std::string text(double x, double y, const std::string& words, const std::string& more = "") {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' {}>{}</text>\n", x, y, more, words);
}
std::string circle(double x, double y, double radius, const std::string& style) {
    return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='{}' class='{}'/>\n", x, y, radius,
                       style);
}
std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
    return fmt::format("<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}' class='{}'/>\n", x1, y1, x2, y2,
                       style);
}

std::string axes() {
    std::string out = fmt::format("<rect width='{:.1f}' height='{}' class='budget'/>\n",
                                  place_x(1 + sim::kBudget), kHeight);
    for (const auto& [slowdown, words] :
         {std::pair{0.001, "0.1 %"}, {0.01, "1 %"}, {0.1, "10 %"}, {1.0, "100 %"}}) {
        const double x = place_x(1 + slowdown);
        out += line(x, 0, x, kHeight, "grid");
        out += text(x, kHeight + 14, words, "text-anchor='middle'");
    }
    for (const double share : {0.0, 0.5, 1.0}) {
        out += line(0, place_y(share), kWidth, place_y(share), "grid");
        out +=
            text(-6, place_y(share) + 4, fmt::format("{:.0f} %", 100 * share), "text-anchor='end'");
    }
    return out + fmt::format("<rect width='{}' height='{}' class='axis'/>\n", kWidth, kHeight);
}

std::string points(const sim::CaseResult& result) {
    std::string way;
    std::string out;
    for (const sim::RuleResult& rule : result.rules) {
        if (rule.rule.rfind("fixed_", 0) != 0) {
            continue;
        }
        const double x = place_x(rule.foreground_slowdown);
        const double y = place_y(rule.background_share_of_idle);
        way += fmt::format("{}{:.1f} {:.1f}", way.empty() ? "M" : "L", x, y);
        out += circle(x, y, 2.5, "fixed");
    }
    out += fmt::format("<path d='{}' class='way'/>\n", way);
    for (const Mark& mark : kMarks) {
        const sim::RuleResult& rule = result.of(mark.rule);
        const double x = place_x(rule.foreground_slowdown);
        const double y = place_y(rule.background_share_of_idle);
        out += circle(x, y, mark.radius, mark.style);
        if (*mark.label != '\0') {
            out += text(x - 6, y + mark.below, mark.label, "text-anchor='end'");
        }
    }
    return out;
}

std::string legend(double y) {
    std::string out;
    double x = kLeft;
    const auto entry = [&](const char* style, const char* words, double room) {
        out += circle(x, y - 4, 5, style);
        out += text(x + 10, y, words);
        x += room;
    };
    entry("learned", "learned", 80);
    entry("hindsight", "best fixed window and size", 185);
    entry("ceiling", "clairvoyant", 100);
    entry("fixed", "fixed windows, 1 to 100 ms", 190);
    entry("kernel", "idle classes of Linux", 150);
    return out;
}

}  // namespace

std::string gaps_figure(const std::string& profile, const std::vector<Panel>& panels) {
    const double column = kLeft + kWidth + 14;
    const double row = kTop + kHeight + kBelow;
    const std::size_t rows = (panels.size() + kColumns - 1) / kColumns;
    std::string out = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' "
        "viewBox='0 0 {0:.0f} {1:.0f}'>\n<title>What background reading gets of the idle time of "
        "a disk ({2}), and what the foreground pays</title>\n",
        column * kColumns, kHead + row * static_cast<double>(rows), profile);
    out += kStyle;
    out += text(kLeft, 18,
                "Share of the disk's idle time that background reading gets (up), against what "
                "the foreground is slowed down (right); " +
                    profile);
    out += legend(42);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const double x = column * static_cast<double>(i % kColumns) + kLeft;
        const std::size_t above = i / kColumns;
        const double y = kHead + row * static_cast<double>(above) + kTop;
        out += fmt::format("<g transform='translate({:.0f} {:.0f})'>\n", x, y);
        out += text(0, -8, panels[i].title, "class='title'");
        out += axes() + points(panels[i].result) + "</g>\n";
    }
    return out + "</svg>\n";
}

}  // namespace lull::bench
