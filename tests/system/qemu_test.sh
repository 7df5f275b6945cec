#!/bin/bash
# SPDX-License-Identifier: MIT
# qemu_test.sh VERSION RUNG INIT LULL TEST_PROGRAM...: boots the newest kernel VERSION (as in 6.1) of
# Debian 12, on which RUNG is the best that works, in an emulated machine and runs there what INIT
# (qemu_init.sh) says: a rung must be tested on a kernel that needs it. Prints TAP. The unpacked
# kernel is kept in ./qemu-VERSION, beside the consoles of the last boot. No hardware virtualisation
# is needed.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
version=$1 best_rung=$2 init=$3
shift 3
work=$PWD/qemu-$version
mkdir -p "$work"
modules=('*/crypto/crc32c_generic' '*/lib/crc16' '*/mbcache' '*/jbd2' '*/ext4' '*/block/loop')
programs=(true cp cat mkfs.ext4 blkid)
boot_seconds=500 # of the test's time; booting and testing takes one or two minutes

# What is missing outside CI is a reason to skip; in CI nothing may be skipped.
cannot() {
    if [[ -n "${CI-}" ]]; then
        echo "Bail out! $1"
        exit 1
    fi
    echo "1..0 # SKIP $1"
    exit 0
}

# Says the name of the newest kernel package of VERSION that apt knows.
newest_package() {
    apt-cache pkgnames "linux-image-$version." | grep -E -- '-[0-9]+-amd64$|\+deb12-amd64$' |
        sort -V | tail -n 1
}

# download DIRECTORY: gets the newest package and unpacks what is booted from it into
# DIRECTORY/NAME, unless it is there.
download() {
    local package
    package=$(newest_package) || return
    [[ -d "$1/$package" ]] && return
    (cd "$scratch" && apt-get download "$package" >&2) || return
    rm -rf "${1:?}"
    mkdir -p "$1/new"
    dpkg-deb --fsys-tarfile "$scratch/$package"_*.deb | tar -x -C "$1/new" --wildcards \
        './boot/vmlinuz-*' "${modules[@]/%/.ko*}" || return
    mv "$1/new" "$1/$package"
}

# Says the directory with the unpacked kernel. One from an earlier day serves where none can be had.
kernel() {
    mkdir -p "$1"
    download "$1" || { apt-get update >&2 && download "$1"; } || true
    find "$1" -maxdepth 1 -name 'linux-image-*' | grep .
} 2>"$work/apt.log"

# put FILE DIRECTORY: copies a program or library without its debug information.
put() {
    mkdir -p "$root/$2"
    strip -o "$root/$2/$(basename "$1")" "$1"
}

libraries_of() {
    ldd "$@" | awk '/=> \// { print $3 } $1 ~ /^\// && NF == 2 && $2 ~ /^\(/ { print $1 }' | sort -u
}

# make_root INIT KERNEL LULL TEST_PROGRAM...
make_root() {
    local init=$1 kernel=$2 files=("${@:3}") name module path
    mkdir -p "$root"/{bin,dev,etc,lib/modules,mnt,proc,sys,tmp}
    install "$(command -v busybox)" "$root/bin/busybox"
    install "$init" "$root/init"
    cp /etc/mke2fs.conf "$root/etc/"
    for module in "${modules[@]}"; do
        find "$kernel/lib" -path "$module.ko*" -exec cp {} "$root/lib/modules/" \;
        basename "$module" >>"$root/lib/modules/order"
    done
    find "$root/lib/modules" -name '*.xz' -exec xz -d {} + # as in 6.12
    for name in "${programs[@]}"; do
        files+=("$(type -P "$name")")
    done
    for path in "${files[@]}"; do
        put "$path" bin
    done
    # The loader finds them where it found them here.
    for path in $(libraries_of "${files[@]}"); do
        put "$path" "$(dirname "$path")"
    done
}

[[ "$(uname -m)" == x86_64 ]] || cannot 'the kernel package and the emulator are those of x86_64'
for tool in qemu-system-x86_64 busybox cpio xz strip ldd dpkg-deb apt-get; do
    command -v "$tool" >/dev/null || cannot "no $tool: run ./dev setup"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
image=$(kernel "$work/kernel") ||
    cannot "apt gives no Linux $version for amd64, see $work/apt.log"

root=$scratch/root
make_root "$init" "$image" "$@"
(cd "$root" && find . | cpio --quiet -o -H newc >"$scratch/initramfs")

status=0
timeout "$boot_seconds" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 1G -nodefaults -no-reboot \
    -display none -kernel "$image"/boot/vmlinuz-* -initrd "$scratch/initramfs" \
    -append "console=ttyS0 panic=-1 quiet best_rung=$best_rung" \
    -serial "file:$work/kernel.log" -serial "file:$work/tests.log" || status=$?
tr -d '\r' <"$work/tests.log"
if ((status != 0)) || ! grep -q '^1\.\.' "$work/tests.log"; then
    tail -n 30 "$work/kernel.log" | tr -d '\r' | sed 's/^/# /'
    echo "Bail out! the machine ended early (emulator status $status)"
    exit 1
fi
