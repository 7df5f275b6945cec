// SPDX-License-Identifier: MIT
// What a test needs of the machine. With CI set nothing may be skipped: a missing need is a
// failure.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

/// Ends the test unless `condition` holds: skipped with the reason, or failed where CI is set.
#define LULL_NEEDS(condition, reason)                                \
    do {                                                             \
        if (!(condition)) {                                          \
            if (std::getenv("CI") != nullptr) {                      \
                FAIL() << "needs " << (reason) << ", and CI is set"; \
            }                                                        \
            GTEST_SKIP() << "needs " << (reason);                    \
        }                                                            \
    } while (false)

#define LULL_NEEDS_ROOT() LULL_NEEDS(::geteuid() == 0, "root")
