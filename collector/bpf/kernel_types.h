/* SPDX-License-Identifier: MIT */
/* The kernel types in use, written by hand with only the fields in use; libbpf finds their real
 * offsets in the BTF of the running kernel (CO-RE). A type or field that differs between kernels
 * has a flavour (___x), with the kernel that made the difference. */
#ifndef LULL_COLLECTOR_BPF_KERNEL_TYPES_H
#define LULL_COLLECTOR_BPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct block_device {
    u32 bd_dev;
    u64 bd_start_sect;
};

struct super_block {
    u32 s_dev;
    unsigned long s_magic;
    struct block_device* s_bdev;
};

struct hlist_node {
    struct hlist_node* next;
};

struct hlist_head {
    struct hlist_node* first;
};

struct inode {
    u16 i_mode;
    struct super_block* i_sb;
    unsigned long i_ino;
    u32 i_rdev;
    s64 i_size;
    u32 i_generation;
    struct hlist_head i_dentry;
    struct address_space* i_mapping;
};

struct address_space {
    struct inode* host;
};

struct qstr {
    u32 len;
    const unsigned char* name;
};

struct dentry {
    struct dentry* d_parent;
    struct qstr d_name;
    struct inode* d_inode;
    union {
        struct hlist_node d_alias;
    } d_u;
};

struct file {
    struct inode* f_inode;
    struct address_space* f_mapping;
};

struct kernfs_node {
    struct kernfs_node* parent;
    const char* name;
};

/* 6.15 renamed kernfs_node.parent to __parent. */
struct kernfs_node___renamed {
    struct kernfs_node* __parent;
};

struct cgroup {
    struct kernfs_node* kn;
};

struct css_set {
    struct cgroup* dfl_cgrp;
};

struct mm_struct {
    struct file* exe_file;
};

struct task_struct {
    int pid;
    int tgid;
    unsigned int in_execve : 1;
    u64 self_exec_id;
    struct mm_struct* mm;
    struct task_struct* real_parent;
    struct css_set* cgroups;
};

struct vm_area_struct {
    unsigned long vm_start;
    unsigned long vm_pgoff;
    struct file* vm_file;
};

struct vm_fault {
    struct vm_area_struct* vma;
    unsigned long pgoff;
};

struct kiocb {
    struct file* ki_filp;
    s64 ki_pos;
};

struct iov_iter {
    unsigned long count;
};

struct folio {
    struct address_space* mapping;
    unsigned long index;
    u32 _nr_pages;
};

/* Before 6.15 the field was called _folio_nr_pages. */
struct folio___older {
    u32 _folio_nr_pages;
};

/* Before 5.16 the page cache held pages, not folios. */
struct page {
    struct address_space* mapping;
    unsigned long index;
};

struct buffer_head {
    unsigned long b_state;
    u64 b_blocknr;
    unsigned long b_size;
    struct block_device* b_bdev;
};

struct bvec_iter {
    u64 bi_sector;
};

struct bio {
    struct block_device* bi_bdev;
    u32 bi_opf;
    struct bvec_iter bi_iter;
};

#pragma clang attribute pop

/* Only the names: the values are those of the running kernel. */
enum pageflags { PG_head };
enum req_flag_bits { __REQ_RAHEAD };

#endif
