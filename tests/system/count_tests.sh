#!/bin/sh
# SPDX-License-Identifier: MIT
# count_tests.sh BUILD: prints "N passed, N failed" (and ", N skipped" if there are any) of the last
# `meson test`, counted by test case. Status 1 if one failed, or if one was skipped with CI set.
#
# The cases are in testlog.junit.xml, in suites named PROJECT.PROGRAM.SUITE. A program that left no
# cases is a case of its own there, named like the program in a suite named like the project, and
# only testlog.json tells for certain how it ended. A program that went wrong (crash, time-out, a
# leak found at exit) without a failed case counts as one failed case.
set -eu
logs=$1/meson-logs
if ! [ -f "$logs/testlog.junit.xml" ] || ! [ -f "$logs/testlog.json" ]; then
    echo '0 passed, 1 failed'
    exit 1
fi
sed -n 's/^{"name": "\([^"]*\)".*"result": "\([A-Z]*\)".*/\2\t\1/p' "$logs/testlog.json" |
    awk -F '\t' -v ci="${CI-}" '
    function attribute(name) {
        match($0, " " name "=\"[^\"]*\"")
        return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    function end_case() {
        if (whole_program && outcome == "passed" && !ended_well(program)) {
            outcome = "failed"
        }
        count[outcome]++
        if (outcome == "failed") {
            counted[program] = 1
        }
        outcome = ""
    }
    function ended_well(program) { return ended[program] ~ /^(OK|SKIP|EXPECTEDFAIL)$/ }
    # Names of programs and suites may have dots in them.
    function program_of(suite, name, found) {
        sub(/^[^.]*\./, "", suite)
        for (name in ended) {
            if (index(suite ".", name ".") == 1 && length(name) > length(found)) {
                found = name
            }
        }
        return found
    }
    FILENAME == "-" {
        ended[$2] = $1
        next
    }
    /^testsuite / {
        suite = attribute("name")
        whole_program = suite !~ /\./
        program = program_of(suite)
    }
    /^testcase / {
        if (whole_program) {
            program = attribute("name")
        }
        outcome = attribute("status") == "notrun" ? "disabled" : "passed"
    }
    /^(failure|error)/ && outcome != "" { outcome = "failed" }
    /^skipped/ && outcome == "passed" { outcome = "skipped" }
    /^\/testcase/ || (/^testcase / && /\/>[ \n]*$/) { end_case() }
    END {
        for (program in ended) {
            if (!ended_well(program) && !(program in counted)) {
                count["failed"]++
            }
        }
        printf "%d passed, %d failed", count["passed"], count["failed"]
        if (count["skipped"] > 0) {
            printf ", %d skipped", count["skipped"]
        }
        print ""
        exit count["failed"] > 0 || count["passed"] == 0 || (ci != "" && count["skipped"] > 0)
    }' - RS='<' "$logs/testlog.junit.xml"
