/* SPDX-License-Identifier: MIT */
/* Tells user space, once each, the path of a file and what a process is. Both are read at the first
 * use, in the process that uses, so that a file deleted or a process gone a moment later is known.
 */
#ifndef LULL_COLLECTOR_BPF_ANNOUNCE_H
#define LULL_COLLECTOR_BPF_ANNOUNCE_H

#include "state.h"

/* Room to build a record: too large for the stack. One a CPU; a program that is interrupted by
 * another one on its CPU could see it overwritten, hence the user's check of what it gets. */
union record {
    struct file_record file;
    struct process_record process;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, u32);
    __type(value, union record);
    __uint(max_entries, 1);
} scratch SEC(".maps");

static __always_inline union record* scratch_record(void) {
    u32 zero = 0;
    return bpf_map_lookup_elem(&scratch, &zero);
}

/* The walks below have few branches a turn and masks instead of checks, and the two announcers are
 * global functions that take plain numbers: so the verifier looks at them once, not on each of the
 * many ways that lead to them. */

static __always_inline struct kernfs_node* kernfs_parent(struct kernfs_node* node) {
    struct kernfs_node___renamed* renamed = (void*)node;
    if (bpf_core_field_exists(renamed->__parent)) {
        return BPF_CORE_READ(renamed, __parent);
    }
    return BPF_CORE_READ(node, parent);
}

static __always_inline u32 cgroup_names(char* names, struct task_struct* task) {
    struct kernfs_node* node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
    u32 length = 0;
    for (int depth = 0; depth < CGROUP_DEPTH; depth++) {
        struct kernfs_node* parent = kernfs_parent(node);
        if (!parent) {
            break;
        }
        length &= CGROUP_BYTES - 1;
        u32 bytes =
            bpf_probe_read_kernel_str(names + length, NAME_BYTES, BPF_CORE_READ(node, name));
        length += bytes & (NAME_BYTES - 1);
        node = parent;
    }
    return length;
}

/* The part of a dentry that the walk needs. */
struct dentry_head {
    struct dentry* parent;
    u32 hash;
    u32 name_bytes;
    const unsigned char* name;
    struct inode* inode;
};

/* Each read of kernel memory costs more than what it copies: one for all where the four fields lie
 * together, as they have since 3.x. */
static __always_inline void read_dentry(struct dentry_head* head, struct dentry* dentry) {
    const u32 start = bpf_core_field_offset(struct dentry, d_parent);
    if (bpf_core_field_offset(struct dentry, d_name) ==
            start + offsetof(struct dentry_head, hash) &&
        bpf_core_field_offset(struct dentry, d_inode) ==
            start + offsetof(struct dentry_head, inode) &&
        bpf_core_field_offset(struct qstr, len) == sizeof(u32) &&
        bpf_core_field_offset(struct qstr, name) == 2 * sizeof(u32)) {
        bpf_probe_read_kernel(head, sizeof(*head), (void*)dentry + start);
        return;
    }
    head->parent = BPF_CORE_READ(dentry, d_parent);
    head->name_bytes = BPF_CORE_READ(dentry, d_name.len);
    head->name = BPF_CORE_READ(dentry, d_name.name);
    head->inode = BPF_CORE_READ(dentry, d_inode);
}

/* Sends the record of one file or directory, if it has not been told. True if it was sent and has a
 * parent. */
static __always_inline bool tell_name(const struct file_head* head, const unsigned char* name) {
    u64 print = fingerprint(head->inode, head->device);
    u64* slot = unannounced(print);
    union record* record = slot ? scratch_record() : NULL;
    if (!record) {
        return false;
    }
    u32 bytes = head->names_bytes & (NAME_BYTES - 1);
    record->file.head = *head;
    bpf_probe_read_kernel(record->file.names, bytes, name);
    u64 size = sizeof(*head) + bytes;
    if (bpf_ringbuf_output(&ring, record, size, wakeup_flags(size)) != 0) {
        __sync_fetch_and_add(&lost_names, 1);
        return false;
    }
    *slot = print;
    return head->parent != 0;
}

/* Tells a file, and the directories above it as far as they have not been told. `alias` is the
 * address of the d_alias of one of its names, 0 if it has none. */
__noinline int announce_file(u64 alias, u32 device, u64 number, u32 generation) {
    struct dentry_head here = {};
    struct dentry_head above = {};
    struct dentry* dentry = NULL;
    if (alias) {
        dentry = (void*)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
        read_dentry(&here, dentry);
    }
    u32 kind = RECORD_FILE;
    for (int depth = 0; depth < PATH_DEPTH; depth++) {
        bool is_top = !here.parent || here.parent == dentry;
        u64 parent = 0;
        if (!is_top) {
            read_dentry(&above, here.parent);
            struct inode* directory = above.inode;
            parent = BPF_CORE_READ(directory, i_ino);
        }
        struct file_head head = {
            .kind = kind,
            .device = device,
            .inode = number,
            .parent = parent,
            .generation = generation,
            .names_bytes = is_top ? 0 : here.name_bytes & (NAME_BYTES - 1),
        };
        if (!tell_name(&head, here.name)) {
            break;
        }
        kind = RECORD_DIRECTORY;
        generation = 0;
        number = parent;
        dentry = here.parent;
        here = above;
    }
    return 0;
}

/* The current process, which uses something for the first time at `now`. */
__noinline int announce_process(u64 now) {
    struct task_struct* task = bpf_get_current_task_btf();
    u32 pid = task->tgid;
    u32 exec_id = task->self_exec_id;
    u64 print = fingerprint(~(u64)pid, exec_id);
    u64* slot = unannounced(print);
    union record* record = slot ? scratch_record() : NULL;
    if (!record) {
        return 0;
    }
    struct process_record* process = &record->process;
    process->head.kind = RECORD_PROCESS;
    process->head.pid = pid;
    process->head.exec_id = exec_id;
    process->head.parent_pid = BPF_CORE_READ(task, real_parent, tgid);
    process->head.first_use_ns = now;
    struct inode* exe = BPF_CORE_READ(task, mm, exe_file, f_inode);
    process->head.exe_device = exe ? BPF_CORE_READ(exe, i_sb, s_dev) : 0;
    process->head.exe_inode = exe ? BPF_CORE_READ(exe, i_ino) : 0;
    bpf_get_current_comm(process->head.comm, sizeof(process->head.comm));
    u32 names_bytes = cgroup_names(process->names, task) & (2 * CGROUP_BYTES - 1);
    process->head.names_bytes = names_bytes;
    u64 bytes = sizeof(process->head) + names_bytes;
    if (bytes > sizeof(*process)) {
        return 0;
    }
    if (bpf_ringbuf_output(&ring, process, bytes, wakeup_flags(bytes)) == 0) {
        *slot = print;
    } else {
        __sync_fetch_and_add(&lost_processes, 1);
    }
    /* The executable may have been read long before the recording: its path is told here. */
    if (exe) {
        announce_file((u64)BPF_CORE_READ(exe, i_dentry.first), process->head.exe_device,
                      process->head.exe_inode, BPF_CORE_READ(exe, i_generation));
    }
    return 0;
}

#endif
