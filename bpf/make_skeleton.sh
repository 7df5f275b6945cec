#!/bin/sh
# SPDX-License-Identifier: MIT
# make_skeleton.sh CLANG STRIP BPFTOOL ARCH INPUT OUTPUT DEPFILE NAME: compiles one BPF program, drops
# its DWARF (the BTF stays) and writes it as the C++ header that embeds it.
set -eu
clang=$1 strip=$2 bpftool=$3 arch=$4 input=$5 output=$6 depfile=$7 name=$8

# <asm/types.h> stands in the directory of the machine, which the bpf target does not search.
"$clang" -O2 -g -mcpu=v3 -target bpf "-D__TARGET_ARCH_$arch" \
    -idirafter "/usr/include/$("$clang" -print-multiarch)" -Wall -Wextra -Werror \
    -Wno-unused-parameter -MD -MF "$depfile" -MT "$output" -c "$input" -o "$output.full.o"
"$strip" -g "$output.full.o" -o "$output.o"
# What bpftool writes is not ours to tidy.
{
    echo '// NOLINTBEGIN'
    "$bpftool" gen skeleton "$output.o" name "$name"
    echo '// NOLINTEND'
} >"$output.new"
mv "$output.new" "$output"
