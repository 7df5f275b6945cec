/* SPDX-License-Identifier: MIT */
/* Marks pages in the block map. */
#ifndef LULL_COLLECTOR_BPF_BLOCKS_H
#define LULL_COLLECTOR_BPF_BLOCKS_H

#include "announce.h"

#define PAGE_SHIFT 12
#define SECTOR_SHIFT 9
/* Most blocks that one event may mark: 2 GiB, the longest read(2). */
#define BLOCKS_PER_EVENT 16384
/* The same without bpf_loop (before 5.17): what the verifier takes unrolled. */
#define BLOCKS_PER_EVENT_UNROLLED 64

enum mark { MARK_DEMAND, MARK_WINDOW, MARK_ADDED, MARK_MISS };

static __always_inline bool is_regular(struct inode* inode) {
    return (inode->i_mode & 0170000) == 0100000;
}

static __always_inline bool is_block_device(struct inode* inode) {
    return (inode->i_mode & 0170000) == 0060000;
}

/* The bits [from, to) of a block; 0 <= from < to <= 32. */
static __always_inline u32 bits(u32 from, u32 to) {
    return (u32)((1ull << (to & 63)) - (1ull << (from & 63)));
}

/* The address as a plain number, which the verifier makes of no pointer but of what is read. */
static __always_inline u64 first_alias(struct inode* inode) {
    u64 address = 0;
    bpf_probe_read_kernel(&address, sizeof(address), &inode->i_dentry.first);
    return address;
}

/* What a program start reads belongs to the program that it will become, not to the one that called
 * exec: such a block waits for its first user. */
static __always_inline void first_use(struct block_slot* value) {
    if (value->user) {
        return;
    }
    u64 now = bpf_ktime_get_ns();
    if (!value->first_use_ns) {
        value->first_use_ns = now;
    }
    struct task_struct* task = bpf_get_current_task_btf();
    if (in_exec(task)) {
        return;
    }
    value->user = (u32)task->tgid | (u32)task->self_exec_id << PID_BITS;
    announce_process(now);
}

static __always_inline void mark_demand(struct block_slot* value, u32 mask) {
    if (mask & ~value->demand || !value->user) {
        first_use(value);
        __sync_fetch_and_or(&value->demand, mask);
    }
}

/* A page that was in the cache when it lay in a fault-around window was mapped; of one that the
 * program has not seen enter the cache only user space can tell, at the end. */
static __always_inline void mark_window(struct block_slot* value, u32 mask) {
    u32 mapped = mask & value->added & ~value->mapped;
    u32 unknown = mask & ~value->added & ~value->unsure;
    if (mapped | unknown) {
        first_use(value);
    }
    if (mapped) {
        __sync_fetch_and_or(&value->mapped, mapped);
    }
    if (unknown) {
        __sync_fetch_and_or(&value->unsure, unknown);
    }
}

/* A page that is used and then enters the cache for the first time was waited for. */
static __always_inline void mark_added(struct block_slot* value, u32 mask, bool own) {
    u32 fresh = mask & ~value->added;
    if (!fresh) {
        return;
    }
    u32 missed = fresh & value->demand;
    if (missed) {
        __sync_fetch_and_or(&value->miss, missed);
    }
    if (own) {
        __sync_fetch_and_or(&value->own, fresh);
    } else if (record_cached) {
        first_use(value);
        __sync_fetch_and_or(&value->unsure, fresh);
    }
    __sync_fetch_and_or(&value->added, fresh);
}

struct page_range {
    struct block_key key;
    u64 first; /* page */
    u64 end;   /* page after the last */
    u32 what;
    bool own;
};

static __always_inline void apply(struct block_slot* value, const struct page_range* range,
                                  u32 mask) {
    if (range->what == MARK_DEMAND) {
        mark_demand(value, mask);
    } else if (range->what == MARK_WINDOW) {
        mark_window(value, mask);
    } else if (range->what == MARK_ADDED) {
        mark_added(value, mask, range->own);
    } else {
        __sync_fetch_and_or(&value->miss, mask);
    }
}

#define SLOT_IS_NEW (1 << 30)
#define NO_SLOT (-1)

/* The index of the slot of a block, with SLOT_IS_NEW if it was made for it now; NO_SLOT if there is
 * none. `place`: device << 32 | block. A global function that takes numbers, so that the verifier
 * follows its loop once and not from each of its callers. */
__noinline int find_slot(u64 inode, u64 place, u32 may_add) {
    u64 print = fingerprint(inode, place);
    u32 at = print >> 32;
    u32 step = (u32)print | 1;
    for (int i = 0; i < BLOCK_PROBES; i++) {
        u32 index = at & slot_mask;
        struct block_slot* slot = bpf_map_lookup_elem(&blocks, &index);
        if (!slot) {
            return NO_SLOT;
        }
        u64 held = slot->print;
        if (held == print) {
            return index;
        }
        if (held == 0) {
            if (!may_add) {
                return NO_SLOT;
            }
            if (kept_blocks >= most_blocks) {
                break;
            }
            held = __sync_val_compare_and_swap(&slot->print, 0, print);
            if (held == print) {
                return index;
            }
            if (held == 0) {
                __sync_fetch_and_add(&kept_blocks, 1);
                slot->inode = inode;
                slot->device = place >> 32;
                slot->block = place;
                return index | SLOT_IS_NEW;
            }
        }
        at += step;
    }
    if (may_add) {
        __sync_fetch_and_add(&lost_blocks, 1);
    }
    return NO_SLOT;
}

/* What ext2, ext3 and ext4 call themselves (include/uapi/linux/magic.h). */
#define EXT_SUPER_MAGIC 0xEF53

/* To tell a name costs as much as all the rest of a first use. On ext file systems, user space can
 * also find a file by its inode number in the end, unless it was deleted: there only the first
 * thousands are told, more than a boot uses. */
static __always_inline void tell_file(const struct block_key* key, struct inode* inode) {
    if (inode->i_sb->s_magic == EXT_SUPER_MAGIC) {
        if (told_files >= NAMES_AT_USE) {
            return;
        }
        __sync_fetch_and_add(&told_files, 1);
    }
    announce_file(first_alias(inode), key->device, key->inode, inode->i_generation);
}

/* The slot of a block; a new one if `may_add`. Null if there is none. `inode` is told to user space
 * with a new block; null for a block device, which has no path, and for the later blocks of a
 * range. */
static __always_inline struct block_slot* slot_of(const struct block_key* key, bool may_add,
                                                  struct inode* inode) {
    int found = find_slot(key->inode, (u64)key->device << 32 | key->block, may_add);
    if (found == NO_SLOT) {
        return NULL;
    }
    u32 index = found & slot_mask;
    struct block_slot* slot = bpf_map_lookup_elem(&blocks, &index);
    if (slot && found & SLOT_IS_NEW && inode) {
        slot->generation = inode->i_generation;
        tell_file(key, inode);
    }
    return slot;
}

static __always_inline void mark_block(struct page_range* range, struct inode* inode) {
    u64 block = range->first / PAGES_PER_BLOCK;
    u64 block_end = (block + 1) * PAGES_PER_BLOCK;
    u64 end = range->end < block_end ? range->end : block_end;
    u32 mask = bits(range->first - block * PAGES_PER_BLOCK, end - block * PAGES_PER_BLOCK);
    range->key.block = block;
    range->first = end;
    struct block_slot* slot = slot_of(&range->key, true, inode);
    if (slot) {
        apply(slot, range, mask);
    }
}

static long mark_next_block(u32 i, void* range) {
    mark_block(range, NULL);
    return ((struct page_range*)range)->first >= ((struct page_range*)range)->end;
}

/* Marks all of `range`: one block nearly always, seldom two, a large read many. The file is told
 * with its first block. */
static __always_inline void mark_range(struct page_range* range, struct inode* inode) {
    if (range->first >= range->end) {
        return;
    }
    mark_block(range, inode);
    if (range->first >= range->end) {
        return;
    }
    if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
        bpf_loop(BLOCKS_PER_EVENT, mark_next_block, range, 0);
    } else {
        for (int i = 0; i < BLOCKS_PER_EVENT_UNROLLED && range->first < range->end; i++) {
            mark_block(range, NULL);
        }
    }
    if (range->first < range->end) {
        __sync_fetch_and_add(&lost_blocks, (range->end - range->first) / PAGES_PER_BLOCK + 1);
    }
}

#endif
