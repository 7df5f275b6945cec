#!/bin/bash
# SPDX-License-Identifier: MIT
# demo_image.sh IMAGE: makes the Debian that the demo starts its programs from, an ext4 file system
# in a sparse file, from the archive that this machine installs its own packages from. An image that
# this very script made before is kept. Run in a mount namespace of its own; undoes all but IMAGE.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
image=$1
suite=bookworm
packages=python3,gcc,libc6-dev,postgresql
here=$(dirname "$(readlink -f "$0")")

recipe=$(cat "$0" "$here/demo_programs.sh" | sha256sum)
if [[ -f "$image" && -f "$image.recipe" && "$(<"$image.recipe")" == "$recipe" ]]; then
    exit 0
fi
echo 'demo: making the disk image with the programs, once; takes a minute or two' >&2

scratch=$(mktemp -d)
root=$scratch/root
undo() {
    umount --quiet --lazy "$root" || true
    rm -rf --one-file-system "$scratch"
    [[ -f "$image.recipe" ]] || rm -f "$image"
}
trap undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The archives of Debian among those that apt knows here, one line of sources.list each.
# shellcheck disable=SC2016 # the dollars are for apt-get
debian_sources() {
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' | grep " $suite" | sort -u
}
if ! debian_sources >"$scratch/sources.list"; then
    apt-get update >&2
    debian_sources >"$scratch/sources.list" || {
        echo "demo: apt knows no archive of Debian $suite here" >&2
        exit 1
    }
fi
# How this machine reaches them (proxies, certificates, frozen mirrors) holds for the image too.
apt-config dump | grep -E '^Acquire::(Check-|Retries|https?::)' >"$scratch/apt.conf" || true

rm -f "$image.recipe"
truncate -s 2G "$image"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$image"
mkdir "$root"
mount -o loop "$image" "$root"
mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt="$scratch/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$root" "$scratch/sources.list" >&2

install -D -m 755 "$here/demo_programs.sh" "$root/demo/run"
postgres=$(chroot "$root" sh -c 'echo /usr/lib/postgresql/*/bin')
chroot "$root" install -d -o postgres -g postgres -m 700 /demo/database
chroot "$root" setpriv --reuid=postgres --regid=postgres --init-groups \
    "$postgres/initdb" --auth=trust --no-locale --encoding=UTF8 --pgdata=/demo/database >/dev/null
umount "$root"
printf '%s\n' "$recipe" >"$image.recipe"
