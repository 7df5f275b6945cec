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

/* Sends the record of one file or directory; true if its parent may have to be told as well. */
static __always_inline bool tell_name(u32 kind, u32 device, struct inode* inode,
                                      struct dentry* dentry, struct dentry* parent) {
    u64 number = BPF_CORE_READ(inode, i_ino);
    u64 print = fingerprint(number, device);
    u64* slot = unannounced(print);
    union record* record = slot ? scratch_record() : NULL;
    if (!record) {
        return false;
    }
    struct file_record* file = &record->file;
    file->kind = kind;
    file->device = device;
    file->inode = number;
    file->generation = BPF_CORE_READ(inode, i_generation);
    file->parent = 0;
    u32 bytes = 0;
    if (parent && parent != dentry) {
        file->parent = BPF_CORE_READ(parent, d_inode, i_ino);
        bytes = BPF_CORE_READ(dentry, d_name.len) & (NAME_BYTES - 1);
        bpf_probe_read_kernel(file->names, bytes, BPF_CORE_READ(dentry, d_name.name));
    }
    file->names_bytes = bytes;
    if (bpf_ringbuf_output(&ring, file, offsetof(struct file_record, names) + bytes,
                           wakeup_flags()) != 0) {
        __sync_fetch_and_add(&lost_names, 1);
        return false;
    }
    *slot = print;
    return bytes != 0;
}

/* `address` is that of a struct inode; 0 is let pass. Tells the file, and the directories above it
 * as far as they have not been told. */
__noinline int announce_file(u64 address) {
    struct inode* inode = (void*)address;
    if (!inode) {
        return 0;
    }
    u32 device = BPF_CORE_READ(inode, i_sb, s_dev);
    struct hlist_node* alias = BPF_CORE_READ(inode, i_dentry.first);
    if (!alias) {
        tell_name(RECORD_FILE, device, inode, NULL, NULL);
        return 0;
    }
    struct dentry* dentry = (void*)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
    u32 kind = RECORD_FILE;
    for (int depth = 0; depth < PATH_DEPTH; depth++) {
        struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
        if (!tell_name(kind, device, inode, dentry, parent)) {
            break;
        }
        kind = RECORD_DIRECTORY;
        dentry = parent;
        inode = BPF_CORE_READ(dentry, d_inode);
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
    process->kind = RECORD_PROCESS;
    process->pid = pid;
    process->exec_id = exec_id;
    process->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
    process->first_use_ns = now;
    struct inode* exe = BPF_CORE_READ(task, mm, exe_file, f_inode);
    process->exe_device = exe ? BPF_CORE_READ(exe, i_sb, s_dev) : 0;
    process->exe_inode = exe ? BPF_CORE_READ(exe, i_ino) : 0;
    bpf_get_current_comm(process->comm, sizeof(process->comm));
    u32 names_bytes = cgroup_names(process->names, task) & (2 * CGROUP_BYTES - 1);
    process->names_bytes = names_bytes;
    u64 bytes = offsetof(struct process_record, names) + names_bytes;
    if (bytes > sizeof(*process)) {
        return 0;
    }
    if (bpf_ringbuf_output(&ring, process, bytes, wakeup_flags()) == 0) {
        *slot = print;
    } else {
        __sync_fetch_and_add(&lost_processes, 1);
    }
    /* The executable may have been read long before the recording: its path is told here. */
    announce_file((u64)exe);
    return 0;
}

#endif
