#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: MIT
# The init of the machine that qemu_test.sh boots: runs each check, prints TAP on the second serial
# line and switches the machine off. $best_rung comes from the kernel's command line.
/bin/busybox --install -s /bin 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
exec >/dev/ttyS1 2>&1 </dev/null
while read -r module; do
    insmod "/lib/modules/$module.ko"
done </lib/modules/order

checks=0

# check NAME COMMAND...: the output of a check is shown as comments.
check() {
    name=$1 result=ok
    shift
    checks=$((checks + 1))
    "$@" >/tmp/output 2>&1 || result='not ok'
    sed 's/^/# /' /tmp/output
    echo "$result $checks - $name, after $(cut -d ' ' -f 1 /proc/uptime) s"
}

disk() {
    truncate -s 64M /tmp/disk
    mkfs.ext4 -q /tmp/disk && mount -o loop /tmp/disk /mnt && cp /bin/cat /mnt/
}

refuses_events() {
    lull collect --pages=events --db /tmp/none.db --mount /mnt -- true 2>/tmp/said
    status=$?
    cat /tmp/said
    [ "$status" = 2 ] && grep -q 'no tracepoint mm_filemap_get_pages' /tmp/said &&
        ! [ -e /tmp/none.db ]
}

stops_at_best_rung() {
    lull collect --db /tmp/some.db --mount /mnt -- /mnt/cat /mnt/cat >/dev/null 2>/tmp/said
    status=$?
    cat /tmp/said
    lull db info /tmp/some.db | tee /tmp/info
    tried=$(grep -c 'trying the next rung' /tmp/said)
    [ "$status" = 0 ] && grep -q "recording by rung $best_rung" /tmp/said &&
        grep -q " $best_rung " /tmp/info && [ "$tried" = "$worse" ]
}

rung_tests() {
    LULL_TEST_RUNG=$1 collector_kernel_tests
}

case ${best_rung:=none} in
    events) rungs='events fentry' worse=0 ;;
    fentry) rungs='fentry' worse=1 ;;
esac
check "Linux $(uname -r) mounts ext4" disk
[ "$best_rung" = events ] || check 'rung events says what it lacks' refuses_events
check "the ladder stops at $best_rung" stops_at_best_rung
for rung in $rungs; do
    check "rungs $rung and add tell what was read" rung_tests "$rung"
done
check 'rung residency tells what was opened and is in memory' residency_tests
echo "1..$checks"
reboot -f
