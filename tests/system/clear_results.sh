#!/bin/sh
# SPDX-License-Identifier: MIT
# clear_results.sh BUILD: removes the results of earlier runs. Without this a test program that dies
# before it writes its results would be counted with those of its last good run.
set -eu
rm -f "$1"/meson-logs/testlog.junit.xml "$1"/meson-logs/testlog.json
find "$1" -maxdepth 1 -name '*.xml' -delete
