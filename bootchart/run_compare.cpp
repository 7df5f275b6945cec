// SPDX-License-Identifier: MIT
#include "bootchart/compare.hpp"
#include "bootchart/read.hpp"

namespace lull::bootchart {

int run_compare(const CompareOptions& options, std::ostream& out, std::ostream& err) {
    const auto failed = [&err](const Error& error) {
        err << "lull: " << error.message() << '\n';
        return 1;
    };
    std::vector<std::string> paths = options.a;
    paths.insert(paths.end(), options.b.begin(), options.b.end());
    auto boots = read_boots(paths);
    if (!boots) {
        return failed(boots.error());
    }
    const auto middle = boots->begin() + static_cast<std::ptrdiff_t>(options.a.size());
    const std::vector<Boot> a(std::make_move_iterator(boots->begin()),
                              std::make_move_iterator(middle));
    const std::vector<Boot> b(std::make_move_iterator(middle),
                              std::make_move_iterator(boots->end()));
    const auto comparison = compare(a, b, options.milestone);
    if (!comparison) {
        return failed(comparison.error());
    }
    if (options.json) {
        write_json(*comparison, out);
    } else {
        write_text(*comparison, options.report, out);
    }
    const bool slower = options.fail_if_slower && comparison->slower_by(*options.fail_if_slower);
    return slower ? kExitSlower : 0;
}

}  // namespace lull::bootchart
