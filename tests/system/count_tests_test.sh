#!/bin/sh
# SPDX-License-Identifier: MIT
# count_tests_test.sh COUNT_TESTS: feeds it the results of made-up runs, as Meson writes them.
set -eu
count=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir "$build/meson-logs"
unset CI

# expect STATUS LINE
expect() {
    status=0
    line=$("$count" "$build") || status=$?
    if [ "$status" != "$1" ] || [ "$line" != "$2" ]; then
        echo "expected status $1, \"$2\"; got status $status, \"$line\"" >&2
        exit 1
    fi
}
program() { printf '{"name": "%s", "stdout": "\\"result\\": \\"OK\\"", "result": "%s"}\n' "$1" "$2"; }
cases() {
    {
        echo '<?xml version="1.0"?><testsuites tests="0" errors="0" failures="0">'
        cat
        echo '</testsuites>'
    } >"$build/meson-logs/testlog.junit.xml"
}

expect 1 '0 passed, 1 failed' # nothing ran

program 'lull:unit / good' OK >"$build/meson-logs/testlog.json"
cases <<'XML'
<testsuite name="lull.lull:unit / good.A"><testcase name="one" status="run" classname="A" />
<testcase name="DISABLED_two" status="notrun" classname="A" /></testsuite>
<testsuite name="lull.lull:unit / good.Q/B"><testcase name="x/0" value_param="1"
 status="run" classname="Q/B"></testcase></testsuite>
XML
expect 0 '2 passed, 0 failed'

cases <<'XML'
<testsuite name="lull.lull:unit / good.A"><testcase name="one" status="run" classname="A" />
<testcase name="two" status="run" classname="A"><skipped message="a.cpp:1&#10;needs root" />
</testcase></testsuite>
XML
expect 0 '1 passed, 0 failed, 1 skipped'
export CI=true
expect 1 '1 passed, 0 failed, 1 skipped'
unset CI

# One case failed, one program crashed, one hung (Meson writes no element for that), one left a good
# report and failed then, two are plain commands, one speaks TAP and has a dot in its name.
{
    program 'lull:unit / bad' FAIL
    program 'lull:unit / crash' FAIL
    program 'lull:unit / hang' TIMEOUT
    program 'lull:unit / late' FAIL
    program 'lull / true' OK
    program 'lull:kernel / linux-6.1' FAIL
    program 'lull / false' FAIL
} >"$build/meson-logs/testlog.json"
cases <<'XML'
<testsuite name="lull.lull:unit / bad.A"><testcase name="one" status="run" classname="A" />
<testcase name="two" status="run" classname="A"><failure message="&lt;testcase /&gt;" type="">
first</failure><failure message="again" type="">second</failure></testcase></testsuite>
<testsuite name="lull.lull:unit / late.A"><testcase name="one" status="run" classname="A" />
</testsuite><testsuite name="lull" tests="4">
<testcase name="lull:unit / crash" classname="lull"><failure /><system-out>x</system-out></testcase>
<testcase name="lull:unit / hang" classname="lull"><system-out>x</system-out></testcase>
<testcase name="lull / true" classname="lull" time="0.1" />
<testcase name="lull / false" classname="lull"><failure /></testcase></testsuite>
<testsuite name="lull.lull:kernel / linux-6.1"><testcase name="a" classname="x"><failure /></testcase>
<testcase name="b" classname="x" /></testsuite>
XML
expect 1 '4 passed, 6 failed'
