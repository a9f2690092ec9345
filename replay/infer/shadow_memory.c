/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/shadow_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNKNOWN, OBSERVED, WRITTEN };

/* Limit of the search steps in one capture. The search tries to explain a READ that returned other
 * data than the earlier writes stored. A READ that is still unexplained at the limit is reported by
 * the comparison. */
#define EFFORT_MAX (UINT64_C(1) << 27)

/* The responder's program may store bytes in its memory region, and no packet shows this. If a READ
 * returns at least this number of bytes that differ from the last remote write, the program is
 * assumed to have stored them. Fewer bytes need further evidence (program_stored()). */
#define STORED_MIN 4u

void shadow_init(struct shadow_memory *memory)
{
    memset(memory, 0, sizeof(*memory));
    keymap_init(&memory->keys, sizeof(uint32_t));
}

static uint64_t pages_of(const struct shadow_region *region)
{
    return region->span / MEMORY_PAGE + 1;
}

static uint64_t groups_of(const struct shadow_region *region)
{
    return pages_of(region) / MEMORY_GROUP + 1;
}

/* Returns `len` zero bytes. Less than a page comes from the heap, because many captures access a
 * few bytes in each of many regions. For more, reserves address space. The kernel allocates its
 * pages on access. */
static void *reserve_bytes(uint64_t len)
{
    void *p;

    if (len < MEMORY_PAGE)
        return calloc(1, len);
    p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void release_bytes(void *p, uint64_t len)
{
    if (len < MEMORY_PAGE)
        free(p);
    else if (p)
        munmap(p, len);
}

static void unmap_region(struct shadow_region *region)
{
    release_bytes(region->image, region->span);
    release_bytes(region->state, region->span);
    release_bytes(region->touched, pages_of(region));
    release_bytes(region->group, groups_of(region));
}

void shadow_free(struct shadow_memory *memory)
{
    for (uint32_t i = 0; i < memory->keys.cnt; i++)
        unmap_region(&memory->region[i]);
    free(memory->region);
    free(memory->write);
    free(memory->lent);
    keymap_free(&memory->keys);
    memset(memory, 0, sizeof(*memory));
}

/* Returns the index of an R_Key in shadow_memory.recent. */
static uint32_t recent_of(uint32_t rkey)
{
    return (rkey ^ rkey >> 8) % SHADOW_RECENT;
}

static struct shadow_region *region_of(struct shadow_memory *memory, uint32_t rkey)
{
    uint32_t *recent = &memory->recent[recent_of(rkey)];
    uint32_t cnt = memory->keys.cnt;
    uint32_t at;

    if (*recent < cnt && memory->region[*recent].rkey == rkey)
        return &memory->region[*recent];
    if (!VEC_GROW(memory->region, cnt, memory->region_cap))
        return NULL;
    at = keymap_add(&memory->keys, &rkey);
    if (at == KEYMAP_NONE)
        return NULL;
    if (at == cnt)
        memory->region[at] = (struct shadow_region){.rkey = rkey};
    *recent = at;
    return &memory->region[at];
}

int shadow_claim(struct shadow_memory *memory, uint32_t rkey, uint64_t va, uint64_t len,
                 unsigned access)
{
    struct shadow_region *region;

    if (len == 0 || va + len < va)
        return 0;
    region = region_of(memory, rkey);
    if (!region)
        return -1;
    region->access |= access;
    if (region->span == 0) {
        region->low = va;
        region->span = len;
        return 0;
    }
    if (va < region->low) {
        region->span += region->low - va;
        region->low = va;
    }
    if (va + len - region->low > region->span)
        region->span = va + len - region->low;
    return 0;
}

int shadow_claim_key(struct shadow_memory *memory, uint32_t rkey, unsigned access)
{
    struct shadow_region *region = region_of(memory, rkey);

    if (!region)
        return -1;
    region->access |= access;
    return 0;
}

int shadow_claim_invalidate(struct shadow_memory *memory, uint32_t rkey)
{
    struct shadow_region *region = region_of(memory, rkey);

    if (!region)
        return -1;
    region->invalidate = true;
    return 0;
}

const char *shadow_map(struct shadow_memory *memory)
{
    uint64_t span = 0;

    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        struct shadow_region *region = &memory->region[i];

        if (region->span == 0)
            region->span = MEMORY_PAGE;
        if (region->span > MEMORY_SPAN_MAX - span)
            return "the memory accesses span more address space than replay can reserve";
        span += region->span;
        region->image = reserve_bytes(region->span);
        region->state = reserve_bytes(region->span);
        region->touched = reserve_bytes(pages_of(region));
        region->group = reserve_bytes(groups_of(region));
        if (!region->image || !region->state || !region->touched || !region->group)
            return "no memory for the regions of the responder";
    }
    return NULL;
}

void shadow_touch(struct shadow_region *region, uint64_t page)
{
    region->touched[page] = 1;
    region->group[page / MEMORY_GROUP] = 1;
}

uint64_t shadow_touched_from(const struct shadow_region *region, uint64_t off)
{
    uint64_t pages = pages_of(region), page = off / MEMORY_PAGE;

    while (page < pages) {
        uint64_t group = page / MEMORY_GROUP, end = (group + 1) * MEMORY_GROUP;
        const uint8_t *at = memchr(region->group + group, 1, groups_of(region) - group);

        if (!at)
            break;
        if (at != region->group + group) {
            page = (uint64_t)(at - region->group) * MEMORY_GROUP;
            continue;
        }
        at = memchr(region->touched + page, 1, (end < pages ? end : pages) - page);
        if (at)
            return (uint64_t)(at - region->touched) * MEMORY_PAGE;
        page = end;
    }
    return UINT64_MAX;
}

struct shadow_region *shadow_find(const struct shadow_memory *memory, uint32_t rkey)
{
    uint32_t at = memory->recent[recent_of(rkey)];

    if (at < memory->keys.cnt && memory->region[at].rkey == rkey)
        return &memory->region[at];
    at = keymap_get(&memory->keys, &rkey);
    return at == KEYMAP_NONE ? NULL : &memory->region[at];
}

bool shadow_covers(const struct shadow_region *region, uint64_t va, uint64_t len, unsigned access)
{
    return (region->access & access) == access && va >= region->low && len <= region->span &&
           va - region->low <= region->span - len;
}

int shadow_register(struct shadow_region *region, struct rnic_pd *pd)
{
    unsigned access = region->access;
    struct rnic_mr_attr attr = {.addr = region->image,
                                .len = region->span,
                                .iova = region->low,
                                .key = region->rkey,
                                .invalidate = region->invalidate};

    if (region->mr)
        return 0;
    if (access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC))
        access |= RNIC_ACCESS_LOCAL_WRITE;
    attr.access = access;
    return rnic_mr_reg(pd, &attr, &region->mr);
}

void shadow_deregister(struct shadow_region *region)
{
    if (region->mr)
        rnic_mr_dereg(region->mr);
    region->mr = NULL;
}

static int touch_pages(struct shadow_memory *memory, struct shadow_region *region, uint64_t off,
                       uint32_t len)
{
    for (uint64_t page = off / MEMORY_PAGE; page <= (off + len - 1) / MEMORY_PAGE; page++) {
        memory->pages += !region->touched[page];
        shadow_touch(region, page);
    }
    return memory->pages > MEMORY_PAGES_MAX ? -1 : 0;
}

/* Returns the byte at `va` that `write` stored, or -1 if `write` does not cover `va`. */
static int byte_of(const struct shadow_write *write, uint64_t va)
{
    if (va < write->va || va - write->va >= write->len)
        return -1;
    return write->data ? write->data[va - write->va] : write->value[va - write->va];
}

/* Returns whether the byte at `va` that write `at` stored was overwritten later: by a write of the
 * same connection with the same R_Key. */
static bool is_replaced(struct shadow_memory *memory, size_t at, uint64_t va)
{
    const struct shadow_write *w = &memory->write[at];

    for (size_t i = at + 1; i < memory->write_cnt && ++memory->effort <= EFFORT_MAX; i++)
        if (memory->write[i].rkey == w->rkey && memory->write[i].dir == w->dir &&
            byte_of(&memory->write[i], va) >= 0)
            return true;
    return false;
}

/* Returns whether a remote write stored `value` at `va` through another R_Key. Then both R_Keys are
 * assumed to name the same memory. */
static bool written_by_other_key(struct shadow_memory *memory, const struct shadow_region *region,
                                 uint64_t va, uint8_t value)
{
    for (size_t i = memory->write_cnt; i-- > 0;) {
        const struct shadow_write *w = &memory->write[i];

        if (++memory->effort > EFFORT_MAX)
            return false;
        if (w->rkey != region->rkey && byte_of(w, va) == value && !is_replaced(memory, i, va))
            return true;
    }
    return false;
}

/* Returns whether the responder's program stored the bytes that differ from the last remote write.
 * Returns true if other READs suggest such a store (suggests_store()). Returns true, too, if all of
 * these hold: no READ contradicts the store; the program could reuse its buffers after the write
 * (app_active); STORED_MIN bytes changed, or the program has already stored other bytes. */
static bool program_stored(struct shadow_memory *memory, const struct shadow_region *region,
                           uint64_t va, const uint8_t *bytes, uint32_t len,
                           const struct shadow_reader *reader)
{
    uint64_t off = va - region->low;
    uint32_t differ = 0, first = 0;
    const struct shadow_write *writer;
    int other;

    if (!reader->suggests_store)
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (region->state[off + i] == WRITTEN && region->image[off + i] != bytes[i] &&
            differ++ == 0)
            first = i;
    writer = differ ? shadow_writer(memory, region->rkey, va + first, reader->pkt) : NULL;
    if (!writer || byte_of(writer, va + first) == bytes[first])
        return false;
    other = reader->suggests_store(reader->explains_ctx, va + first, region->image[off + first]);
    return other > 0 || (other == 0 && reader->app_active > writer->pkt &&
                         (differ >= STORED_MIN || memory->host_stores > 0));
}

static int lend_byte(struct shadow_memory *memory, struct shadow_region *region, uint64_t off,
                     uint8_t byte, const struct shadow_reader *reader)
{
    if (!VEC_GROW(memory->lent, memory->lent_cnt, memory->lent_cap))
        return -1;
    memory->lent[memory->lent_cnt++] =
        (struct lent_byte){.region = region, .off = off, .byte = region->image[off]};
    region->image[off] = byte;
    return reader->store ? reader->store(reader->ctx, region, region->low + off, byte, false) : 0;
}

int shadow_return_lent(struct shadow_memory *memory, const struct shadow_reader *reader)
{
    int rc = 0;

    while (memory->lent_cnt > 0) {
        const struct lent_byte *l = &memory->lent[--memory->lent_cnt];

        l->region->image[l->off] = l->byte;
        if (rc == 0 && reader->store)
            rc = reader->store(reader->ctx, l->region, l->region->low + l->off, l->byte, false);
    }
    return rc;
}

int shadow_observe(struct shadow_memory *memory, struct shadow_region *region, uint64_t va,
                   const uint8_t *bytes, uint32_t len, const struct shadow_reader *reader)
{
    uint64_t off = va - region->low;
    uint8_t *image = region->image + off;
    uint8_t *state = region->state + off;
    bool stored;

    if (len == 0)
        return 0;
    if (touch_pages(memory, region, off, len) != 0)
        return -1;
    stored = program_stored(memory, region, va, bytes, len, reader);
    for (uint32_t i = 0; i < len; i++) {
        bool differs = image[i] != bytes[i], other_key = false;

        if (reader->unseen_only && state[i] != UNKNOWN)
            continue;
        if (state[i] == WRITTEN) {
            memory->obligations++;
            if (!differs)
                continue;
            if (reader->explains && reader->explains(reader->explains_ctx, va + i, bytes[i])) {
                if (lend_byte(memory, region, off + i, bytes[i], reader) != 0)
                    return -1;
                continue;
            }
            other_key = !stored && written_by_other_key(memory, region, va + i, bytes[i]);
            if (!stored && !other_key)
                continue;
        }
        if (state[i] == UNKNOWN)
            memory->initial++;
        else if (differs && !other_key)
            memory->host_stores++;
        if (reader->store && (state[i] == UNKNOWN || differs) &&
            reader->store(reader->ctx, region, va + i, bytes[i], state[i] == UNKNOWN) != 0)
            return -1;
        image[i] = bytes[i];
        if (!other_key)
            state[i] = OBSERVED;
    }
    return 0;
}

int shadow_note_write(struct shadow_memory *memory, struct shadow_region *region,
                      const struct shadow_write *write)
{
    uint64_t off = write->va - region->low;
    struct shadow_write *w;

    if (write->len == 0)
        return 0;
    if (!VEC_GROW(memory->write, memory->write_cnt, memory->write_cap) ||
        touch_pages(memory, region, off, write->len) != 0)
        return -1;
    w = &memory->write[memory->write_cnt++];
    *w = *write;
    if (!w->data && !w->confirmed)
        memcpy(w->value, region->image + off, sizeof(w->value));
    memset(region->state + off, write->unknown ? OBSERVED : WRITTEN, write->len);
    return 0;
}

int shadow_note_atomic(struct shadow_memory *memory, struct shadow_region *region,
                       const struct shadow_write *write)
{
    const uint8_t *state = region->state + (write->va - region->low);
    bool written = true;

    for (uint32_t i = 0; i < write->len; i++)
        written = written && state[i] == WRITTEN;
    return written ? shadow_note_write(memory, region, write) : 0;
}

bool shadow_written_by_other(const struct shadow_memory *memory, uint32_t rkey, uint64_t va,
                             uint64_t len, uint32_t dir)
{
    for (size_t i = 0; i < memory->write_cnt; i++) {
        const struct shadow_write *w = &memory->write[i];

        if (w->dir != dir && w->rkey == rkey && w->va < va + len && va < w->va + w->len)
            return true;
    }
    return false;
}

/* Compares the bytes that a write stored with the bytes that a response shows. Returns 1 if all
 * overlapping bytes are equal, 0 if some differ, or -1 if the two ranges do not overlap. */
static int stores_view(const struct shadow_write *write, const struct shadow_view *view)
{
    int found = -1;

    for (uint32_t i = 0; i < view->len && found != 0; i++) {
        int byte = byte_of(write, view->va + i);

        if (byte >= 0)
            found = byte == view->byte[i];
    }
    return found;
}

bool shadow_never_had(struct shadow_memory *memory, const struct shadow_view *view)
{
    bool before = false;

    for (size_t i = 0; i < memory->write_cnt; i++) {
        const struct shadow_write *w = &memory->write[i];
        int stores = stores_view(w, view);

        if (++memory->effort > EFFORT_MAX)
            return false;
        if (stores < 0 || (view->atomic && w->dir == view->dir && w->req >= view->req))
            continue;
        if (stores > 0 || w->unknown || (!w->data && !w->confirmed))
            return false;
        before |= w->dir == view->dir && w->req < view->req;
    }
    return before && memory->forgotten == 0;
}

bool shadow_is_written(const struct shadow_region *region, uint64_t va)
{
    return region->state[va - region->low] == WRITTEN;
}

void shadow_forget_writes(struct shadow_memory *memory)
{
    for (; memory->forgotten < memory->write_cnt; memory->forgotten++) {
        const struct shadow_write *w = &memory->write[memory->forgotten];
        struct shadow_region *region = shadow_find(memory, w->rkey);

        memset(region->state + (w->va - region->low), OBSERVED, w->len);
    }
}

const struct shadow_write *shadow_writer(struct shadow_memory *memory, uint32_t rkey, uint64_t va,
                                         uint32_t pkt)
{
    for (size_t i = memory->write_cnt; i-- > 0 && ++memory->effort <= EFFORT_MAX;)
        if (memory->write[i].pkt < pkt && memory->write[i].rkey == rkey &&
            byte_of(&memory->write[i], va) >= 0)
            return &memory->write[i];
    return NULL;
}
