/* SPDX-License-Identifier: MIT */
/* Maps, settings and counters of the page programs. */
#ifndef LULL_COLLECTOR_BPF_STATE_H
#define LULL_COLLECTOR_BPF_STATE_H

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shared.h"

/* The skeleton repeats all that follows in C++: no types of ours and no bool, which becomes _Bool,
 * a name that clang does not know there. */

/* Settings, 0 or 1, fixed before the programs are loaded. */
const volatile unsigned char scope_is_listed = 0; /* only the devices in `scope` */
const volatile unsigned char record_cached = 0; /* add rung: the record is what enters the cache */

const volatile unsigned int slot_mask = 0;   /* slots of `blocks`, less one */
const volatile unsigned int most_blocks = 0; /* that are kept */

unsigned long long told_files = 0;
unsigned long long kept_blocks = 0;
unsigned long long lost_blocks = 0;
unsigned long long lost_names = 0;
unsigned long long lost_processes = 0;
/* mm_filemap_get_pages began by giving the page after the last and came to give the last. Lull
 * reads one page of its own executable and looks: 0 or 1. */
unsigned int measuring_pid = 0;
unsigned long long measured_pages = ~0ull;
unsigned int one_past_last = 1;
unsigned long long own_exe =
    0; /* address of the inode of the lull executable: what it reads is not a use */

/* The table of blocks: open addressing in an array, since a hash map costs several cache misses and
 * a lock where this costs one miss and, for a new block, one atomic operation. The fingerprint
 * alone tells blocks apart: with 64 bits, two of 100 000 blocks are taken for one in 4e-10 of all
 * traces. Slots are tried at odd steps of the fingerprint's own; at 7/8 full, the most that user
 * space allows, 128 tries miss a free slot once in 3e7. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, u32);
    __type(value, struct block_slot);
    __uint(max_entries, 1); /* a power of two, set by user space */
} blocks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, u32);
    __type(value, u8);
    __uint(max_entries, 64);
} scope SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} ring SEC(".maps");

/* Fingerprints of the files and processes that the ring has told. A lost or overwritten slot only
 * costs a repeated record. One 64-bit word a slot, so that a slot is never half of two. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, u32);
    __type(value, u64);
    __uint(max_entries, ANNOUNCED_SLOTS);
} announced SEC(".maps");

static __always_inline bool in_scope(struct super_block* sb) {
    if (scope_is_listed) {
        u32 device = sb->s_dev;
        return bpf_map_lookup_elem(&scope, &device) != NULL;
    }
    return sb->s_bdev != NULL;
}

static __always_inline bool in_exec(struct task_struct* task) {
    return BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* A read by lull itself. During exec the kernel reads the new program while the old one, which is
 * lull when a recorded command starts, is still in place: those reads are the command's. */
static __always_inline bool by_lull(struct task_struct* task) {
    struct mm_struct* mm = task->mm;
    if (!mm) {
        return false;
    }
    struct file* exe = mm->exe_file;
    if (!exe) {
        return false;
    }
    if ((u64)exe->f_inode != own_exe) {
        return false;
    }
    return !in_exec(task);
}

/* Wakes the reader once for each 64 KiB of records, since a wake-up costs more than a record; what
 * is left is read in the end. `size` is that of the record to come. */
static __always_inline u64 wakeup_flags(u64 size) {
    u64 position = bpf_ringbuf_query(&ring, BPF_RB_PROD_POS);
    return position / WAKEUP_BYTES != (position + size) / WAKEUP_BYTES ? BPF_RB_FORCE_WAKEUP
                                                                       : BPF_RB_NO_WAKEUP;
}

/* True once for each fingerprint, as far as its slot keeps it. */
static __always_inline u64* unannounced(u64 fingerprint) {
    u32 slot = (fingerprint ^ fingerprint >> 32) & (ANNOUNCED_SLOTS - 1);
    u64* kept = bpf_map_lookup_elem(&announced, &slot);
    return kept && *kept != fingerprint ? kept : NULL;
}

#define GOLDEN_RATIO 0x9e3779b97f4a7c15ull

static __always_inline u64 fingerprint(u64 a, u64 b) {
    u64 hash = a * GOLDEN_RATIO + b;
    hash ^= hash >> 29;
    return hash * GOLDEN_RATIO | 1; /* 0 is an empty slot */
}

#endif
