/* SPDX-License-Identifier: MIT */
/* Which pages are used, and which enter the page cache. Three rungs share the maps:
 * - events: the tracepoints mm_filemap_get_pages, mm_filemap_fault and mm_filemap_map_pages
 * (6.12+);
 * - fentry: the functions behind them, for kernels without those tracepoints;
 * - add: only mm_filemap_add_to_page_cache; what was used cannot be told from readahead.
 * Each loads the programs that it names (bpf_rung.cpp). add_to_page_cache and block_touch_buffer
 * (file-system metadata) belong to all. */
#include "blocks.h"

static __always_inline bool wanted(struct inode* inode, struct page_range* range) {
    struct super_block* sb = inode->i_sb;
    if (!is_regular(inode) || !in_scope(sb)) {
        return false;
    }
    range->key.device = sb->s_dev;
    range->key.inode = inode->i_ino;
    u64 size = inode->i_size;
    u64 pages = (size + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
    if (range->end > pages) {
        range->end = pages;
    }
    return range->first < range->end && !by_lull(bpf_get_current_task_btf());
}

static __always_inline void demand(struct inode* inode, u64 first, u64 end) {
    struct page_range range = {.first = first, .end = end, .what = MARK_DEMAND};
    if (wanted(inode, &range)) {
        mark_range(&range, inode);
    }
}

/* A read of many pages calls filemap_get_pages again and again for what is left of it. Marking the
 * rest each time would cost the square of the length: what the last event on this CPU covered is
 * passed over. */
struct last_get_pages {
    u64 task;
    u64 inode;
    u64 number;
    u64 first;
    u64 end;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, u32);
    __type(value, struct last_get_pages);
    __uint(max_entries, 1);
} last_get_pages SEC(".maps");

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_get_pages, struct address_space* mapping, unsigned long first,
             unsigned long last_page) {
    struct inode* inode = mapping->host;
    if (measuring_pid && (u64)inode == own_exe &&
        bpf_get_current_pid_tgid() >> 32 == measuring_pid) {
        measured_pages = last_page - first;
        return 0;
    }
    u64 end = last_page + one_past_last;
    u32 zero = 0;
    struct last_get_pages* last = bpf_map_lookup_elem(&last_get_pages, &zero);
    if (!last) {
        return 0;
    }
    u64 task = bpf_get_current_task();
    if (last->task == task && last->inode == (u64)inode && last->number == inode->i_ino &&
        last->end == end && last->first < first) {
        return 0;
    }
    demand(inode, first, end);
    last->task = task;
    last->inode = (u64)inode;
    last->number = inode->i_ino;
    last->first = first;
    last->end = end;
    return 0;
}

/* mm_filemap_get_pages comes when the pages have been read, so it cannot tell what was waited for;
 * this comes before they are. */
SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(on_sync_readahead, struct inode* inode, unsigned long first, void* state,
             unsigned long count) {
    struct page_range range = {.first = first, .end = first + count, .what = MARK_MISS};
    if (wanted(inode, &range)) {
        mark_range(&range, inode);
    }
    return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space* mapping, unsigned long page) {
    demand(mapping->host, page, page + 1);
    return 0;
}

static __always_inline void window(struct inode* inode, u64 first, u64 last) {
    struct page_range range = {.first = first, .end = last + 1, .what = MARK_WINDOW};
    if (wanted(inode, &range)) {
        mark_range(&range, inode);
    }
}

/* Where the current fault of this CPU is. mm_filemap_map_pages tells the window and not the page.
 */
struct last_fault {
    u64 task;
    u64 address;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __type(key, u32);
    __type(value, struct last_fault);
    __uint(max_entries, 1);
} last_fault SEC(".maps");

static __always_inline int fault_at(u64 address) {
    u32 zero = 0;
    struct last_fault* last = bpf_map_lookup_elem(&last_fault, &zero);
    if (last) {
        last->task = bpf_get_current_task();
        last->address = address;
    }
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_user_fault, unsigned long address) {
    return fault_at(address);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_kernel_fault, unsigned long address) {
    return fault_at(address);
}

struct page_of_address {
    u64 address;
    u64 page;
};

static long find_page(struct task_struct* task, struct vm_area_struct* vma, void* context) {
    struct page_of_address* found = context;
    found->page = vma->vm_pgoff + ((found->address - vma->vm_start) >> PAGE_SHIFT);
    return 0;
}

/* True if nothing new can be told of the window: each page is known as used or mapped, or was not
 * in memory before and still is not. Faults on the same libraries come from each process anew, and
 * finding the page of an address is dear. */
static __always_inline bool window_is_known(const struct page_range* range) {
    struct block_key key = range->key;
    u64 page = range->first;
    for (int i = 0; i < 2 && page < range->end; i++) {
        u64 block_start = page / PAGES_PER_BLOCK * PAGES_PER_BLOCK;
        u64 block_end = block_start + PAGES_PER_BLOCK;
        u64 end = range->end < block_end ? range->end : block_end;
        u32 mask = bits(page - block_start, end - block_start);
        key.block = page / PAGES_PER_BLOCK;
        struct block_slot* value = slot_of(&key, false, NULL);
        if (!value || mask & ~(value->demand | value->mapped | (value->unsure & ~value->added))) {
            return false;
        }
        page = end;
    }
    return page >= range->end;
}

/* Fault-around: the page that faulted is used, its neighbours are mapped if they are in memory. If
 * a writer holds the address space, or the fault was on another CPU, the page stays one of the
 * window: mapped, use unknown. So does one that faults in a window which was told before. */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map_pages, struct address_space* mapping, unsigned long first, unsigned long last) {
    struct inode* inode = mapping->host;
    struct page_range range = {.first = first, .end = last + 1, .what = MARK_WINDOW};
    if (!wanted(inode, &range) || window_is_known(&range)) {
        return 0;
    }
    u32 zero = 0;
    struct last_fault* fault = bpf_map_lookup_elem(&last_fault, &zero);
    if (fault && fault->task == bpf_get_current_task()) {
        struct page_of_address found = {.address = fault->address, .page = ~0ull};
        bpf_find_vma(bpf_get_current_task_btf(), found.address, find_page, &found, 0);
        if (found.page >= first && found.page <= last) {
            demand(inode, found.page, found.page + 1);
        }
    }
    mark_range(&range, inode);
    return 0;
}

/* Fault-around: the page that faulted is used, its neighbours are mapped if they are in memory. */
SEC("fentry/filemap_map_pages")
int BPF_PROG(enter_map_pages, struct vm_fault* vmf, unsigned long first, unsigned long last) {
    struct inode* inode = vmf->vma->vm_file->f_inode;
    u64 page = vmf->pgoff;
    demand(inode, page, page + 1);
    if (first != last) {
        window(inode, first, last);
    }
    return 0;
}

SEC("fentry/filemap_fault")
int BPF_PROG(enter_fault, struct vm_fault* vmf) {
    u64 page = vmf->pgoff;
    demand(vmf->vma->vm_file->f_inode, page, page + 1);
    return 0;
}

SEC("fentry/filemap_read")
int BPF_PROG(enter_read, struct kiocb* iocb, struct iov_iter* iter) {
    u64 position = iocb->ki_pos;
    u64 count = iter->count;
    if (count) {
        demand(iocb->ki_filp->f_mapping->host, position >> PAGE_SHIFT,
               ((position + count - 1) >> PAGE_SHIFT) + 1);
    }
    return 0;
}

/* sendfile and splice, 6.5 and later; before, they came through filemap_read. */
SEC("fentry/filemap_splice_read")
int BPF_PROG(enter_splice_read, struct file* file, s64* position, void* pipe, unsigned long count) {
    u64 start = 0; /* unsigned, or the verifier cannot tell that the loop over blocks repeats */
    if (count && bpf_probe_read_kernel(&start, sizeof(start), position) == 0) {
        demand(file->f_mapping->host, start >> PAGE_SHIFT, ((start + count - 1) >> PAGE_SHIFT) + 1);
    }
    return 0;
}

static __always_inline u64 folio_pages(struct folio* folio) {
    unsigned long flags = 0; /* the first word of every folio; its type changed in 6.18 */
    bpf_probe_read_kernel(&flags, sizeof(flags), folio);
    if (!(flags & 1ul << bpf_core_enum_value(enum pageflags, PG_head))) {
        return 1;
    }
    if (bpf_core_field_exists(folio->_nr_pages)) {
        return folio->_nr_pages;
    }
    struct folio___older* older = (void*)folio;
    if (bpf_core_field_exists(older->_folio_nr_pages)) {
        return BPF_CORE_READ(older, _folio_nr_pages);
    }
    return 1;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_add, struct folio* folio) {
    struct address_space* mapping = folio->mapping;
    struct inode* inode = mapping->host;
    if (!inode) {
        return 0;
    }
    struct page_range range = {.first = folio->index, .what = MARK_ADDED};
    range.end = range.first + folio_pages(folio);
    range.own = by_lull(bpf_get_current_task_btf());
    if (is_regular(inode)) {
        if (!in_scope(inode->i_sb)) {
            return 0;
        }
        range.key.device = inode->i_sb->s_dev;
        range.key.inode = inode->i_ino;
        mark_range(&range, inode);
    } else if (is_block_device(inode)) {
        range.key.device = inode->i_rdev;
        if (scope_is_listed && !bpf_map_lookup_elem(&scope, &range.key.device)) {
            return 0;
        }
        mark_range(&range, NULL);
    }
    return 0;
}

/* A buffer of file-system metadata is looked up to be used, or to be read ahead; in the second case
 * on_bio takes the mark back. */
SEC("tp_btf/block_touch_buffer")
int BPF_PROG(on_touch, struct buffer_head* buffer) {
    struct block_device* device = buffer->b_bdev;
    struct page_range range = {.what = MARK_DEMAND};
    range.key.device = device->bd_dev;
    if (scope_is_listed && !bpf_map_lookup_elem(&scope, &range.key.device)) {
        return 0;
    }
    if (by_lull(bpf_get_current_task_btf())) {
        return 0;
    }
    u64 size = buffer->b_size;
    u64 start = buffer->b_blocknr * size;
    range.first = start >> PAGE_SHIFT;
    range.end = ((start + size - 1) >> PAGE_SHIFT) + 1;
    bool up_to_date = buffer->b_state & 1; /* BH_Uptodate */
    u32 page = range.first % PAGES_PER_BLOCK;
    mark_range(&range, NULL);
    if (!up_to_date) {
        struct block_slot* value = slot_of(&range.key, false, NULL);
        if (value) {
            __sync_fetch_and_or(&value->miss, 1u << page);
        }
    }
    return 0;
}

/* ext4 reads inode tables ahead buffer by buffer, touching each (ext4_sb_breadahead_unmovable); the
 * read that follows at once says REQ_RAHEAD. A page that must be read for that was not in memory,
 * so nobody has used it yet. Pages of files never stand in the map under inode 0. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio, struct bio* bio) {
    if (!(bio->bi_opf & 1u << bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD))) {
        return 0;
    }
    struct block_device* device = bio->bi_bdev;
    struct block_key key = {.device = device->bd_dev};
    u64 start = bio->bi_iter.bi_sector - device->bd_start_sect;
    u64 page = start >> (PAGE_SHIFT - SECTOR_SHIFT);
    key.block = page / PAGES_PER_BLOCK;
    struct block_slot* value = slot_of(&key, false, NULL);
    if (value) {
        u32 unused = ~(1u << page % PAGES_PER_BLOCK);
        __sync_fetch_and_and(&value->demand, unused);
        __sync_fetch_and_and(&value->miss, unused);
    }
    return 0;
}

/* Run once, by lull in its own process, before anything is attached. */
SEC("raw_tp")
int learn_own_exe(void* context) {
    struct task_struct* task = bpf_get_current_task_btf();
    own_exe = (u64)BPF_CORE_READ(task, mm, exe_file, f_inode);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
