// SPDX-License-Identifier: MIT
#include "tests/system/demo_image.hpp"

#include <system_error>

namespace lull::demo {

Result<std::filesystem::path> prepare_image(Runner& runner, const std::filesystem::path& work,
                                            const std::filesystem::path& sources) {
    std::error_code failed;
    std::filesystem::create_directories(work, failed);
    const std::filesystem::path image = work / "debian.img";
    const auto made = runner.run(
        {"unshare", "--mount", "--propagation=private", sources / "demo_image.sh", image});
    if (!made) {
        return made.error();
    }
    return image;
}

}  // namespace lull::demo
