/* SPDX-License-Identifier: MIT */
/* What pages.bpf.c and bpf_rung.cpp share: map keys and values, ring records. Included by C (BPF)
 * and C++; fixed-width names come from the includer. */
#ifndef LULL_COLLECTOR_BPF_SHARED_H
#define LULL_COLLECTOR_BPF_SHARED_H

enum {
    PID_BITS = 22,          /* PID_MAX_LIMIT is 2^22, include/linux/threads.h */
    PAGES_PER_BLOCK = 32,   /* 128 KiB: a bit a page in a 32-bit mask */
    COMM_BYTES = 16,        /* TASK_COMM_LEN */
    NAME_BYTES = 256,       /* NAME_MAX + 1 */
    CGROUP_BYTES = 1024,    /* of a cgroup's path, a power of two; a longer one loses its top */
    PATH_DEPTH = 24,        /* directories above a file that are followed at once */
    CGROUP_DEPTH = 12,      /* components of a cgroup path that are followed */
    ANNOUNCED_SLOTS = 8192, /* fingerprints of what the ring has told already; power of two */
    RING_BYTES = 1 << 19,
    NAMES_AT_USE = 4096,    /* files told at their first use, where the rest can be found later */
    BLOCK_PROBES = 128,     /* slots looked at for a block, see state.h */
    WAKEUP_BYTES = 1 << 16, /* records that wake the reader */
};

/* A block of a block device itself (file-system metadata) has inode 0, which no file has. */
struct block_key {
    u32 device; /* superblock: major << 20 | minor */
    u32 block;
    u64 inode;
};

/* One slot of the table of blocks, a cache line. Meaning of the masks: collector/raw_trace.hpp. */
struct block_slot {
    u64 print; /* fingerprint of the key; 0: free */
    u64 inode;
    u32 device;
    u32 block;
    u64 first_use_ns;
    u32 demand;
    u32 mapped;
    u32 unsure; /* RawBlock::window; in the add rung RawBlock::cached */
    u32 generation;
    u32 added;
    u32 miss;
    u32 own;
    u32 user; /* first user: pid | exec id << PID_BITS; 0 if not known yet */
};

enum record_kind { RECORD_FILE = 1, RECORD_DIRECTORY = 2, RECORD_PROCESS = 3 };

/* A file, or a directory on the way to one, under the name by which its parent knows it. The top of
 * a file system has no name and no parent. */
struct file_head {
    u32 kind; /* RECORD_FILE or RECORD_DIRECTORY */
    u32 device;
    u64 inode;
    u64 parent; /* inode of the directory; 0 for the top, and for a file that has no name */
    u32 generation;
    u32 names_bytes;
};

struct file_record {
    struct file_head head;
    char names[NAME_BYTES]; /* one name without an end */
};

struct process_head {
    u32 kind; /* RECORD_PROCESS */
    u32 pid;
    u32 exec_id;
    u32 parent_pid;
    u64 exe_inode;
    u64 first_use_ns;
    u32 exe_device;
    u32 names_bytes;
    char comm[COMM_BYTES];
};

struct process_record {
    struct process_head head;
    /* The components of the cgroup's path from the last to the first, each ended by a 0 byte. */
    char names[CGROUP_BYTES + NAME_BYTES];
};

#endif
