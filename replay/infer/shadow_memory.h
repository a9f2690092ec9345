/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shadow memory: the memory regions of a replayed responder, and what the capture says about their
 * contents.
 *
 * There is one region for each R_Key, as large as the accesses that the recorded responder
 * accepted and with the permissions they need. Our RNIC reads and writes its `image`. Each byte
 * has a state:
 *
 *   unknown   never seen: the first READ or atomic that shows it gives its initial value
 *   observed  shown by a READ or an atomic: if a later one shows another value, the responder's
 *             program stored it, so we store it too
 *   written   written by a remote WRITE or atomic. If a READ shows another value, nothing is
 *             stored, so our RNIC contradicts the capture: a difference
 *   given     set by the user: as written
 *
 * A written byte may change without a difference in two cases: the same memory was written through
 * another R_Key with the value now seen, or the responder's program refilled the buffer after a
 * message allowed it to. If another connection wrote the byte and an allowed order of execution
 * explains what a READ shows (shared_memory.h), the byte has that value for that READ only.
 */
#ifndef REPLAY_INFER_SHADOW_MEMORY_H
#define REPLAY_INFER_SHADOW_MEMORY_H

#include "device/rnic.h"
#include "util/keymap.h"
#include "util/strbuf.h"

/* Limits of the regions of one responder. Address space is only reserved; pages in use count
 * against the second limit, so that a hostile capture cannot fill the memory. */
#define MEMORY_SPAN_MAX  (UINT64_C(32) << 30)
#define MEMORY_PAGES_MAX (UINT64_C(1) << 18)
#define MEMORY_PAGE      4096u

struct shadow_region {
    uint32_t rkey;
    uint64_t low;  /* first address */
    uint64_t span; /* bytes; 0 before the first access */
    unsigned access;
    bool invalidate; /* a SEND with Invalidate names it */
    uint8_t *image;
    uint8_t *state;
    uint8_t *touched;   /* per page */
    struct rnic_mr *mr; /* NULL while it is not registered */
};

/* A remote write that our RNIC executed. */
struct shadow_write {
    uint32_t dir;
    uint32_t rkey;
    uint32_t pkt; /* index into trace.pkt */
    uint32_t len;
    uint64_t va;
    const uint8_t *data; /* NULL: `value` */
    bool unknown;        /* its bytes were not captured, so they cannot be contradicted */
    uint8_t value[8];
};

/* The READ or atomic for which memory is set, and its callbacks. */
struct shadow_reader {
    uint32_t dir;
    uint32_t pkt;        /* index into trace.pkt of the request */
    uint32_t app_active; /* latest earlier packet that told the responder's program it may reuse its
                            buffers; 0 if none */
    /* Returns whether another allowed order of execution has `value` at `va`; `blank`: the initial
     * value is unknown. NULL: no other direction writes there. */
    bool (*explains)(void *explains_ctx, uint64_t va, uint8_t value, bool blank);
    void *explains_ctx;
    bool unseen_only; /* keep bytes that were seen or written before */
    /* NULL, or called for each byte that shadow_observe() stores; returns -1 without memory */
    int (*store)(void *ctx, const struct shadow_region *region, uint64_t va, uint8_t byte,
                 bool initial);
    void *ctx;
};

/* A byte that is in the image for one READ only, which another order of execution explains. */
struct lent_byte {
    struct shadow_region *region;
    uint64_t off;
    uint8_t byte; /* value to restore */
};

struct shadow_memory {
    struct keymap keys;
    struct shadow_region *region; /* numbered by `keys` */
    size_t region_cap;
    struct shadow_write *write;
    size_t forgotten; /* writes that no longer count */
    size_t write_cnt;
    size_t write_cap;
    struct lent_byte *lent;
    size_t lent_cnt;
    size_t lent_cap;
    uint64_t pages;
    uint64_t effort; /* steps spent on searching for explanations */
    /* Figures for the report. */
    uint64_t initial;     /* bytes of the initial image that were derived */
    uint64_t host_stores; /* bytes that the responder's program stored */
    uint64_t obligations; /* written bytes that were read back */
};

void shadow_init(struct shadow_memory *memory);
void shadow_free(struct shadow_memory *memory); /* delete the RNIC first */

/* Widens the region of an R_Key by an access that the recorded responder accepted. Ignores `len`
 * 0, which needs no valid R_Key (R085), and ranges that wrap. Returns 0, or -1 without memory. */
int shadow_claim(struct shadow_memory *memory, uint32_t rkey, uint64_t va, uint64_t len,
                 unsigned access);

/* Adds an access of no bytes that needs a valid R_Key. Returns 0, or -1 without memory. */
int shadow_claim_key(struct shadow_memory *memory, uint32_t rkey, unsigned access);

/* Notes that a SEND invalidates the R_Key; an unused R_Key gets a region of one page. Returns 0,
 * or -1 without memory. */
int shadow_claim_invalidate(struct shadow_memory *memory, uint32_t rkey);

/* Reserves the images. Returns NULL, or the reason why it cannot. */
const char *shadow_map(struct shadow_memory *memory);

/* Returns the region of an R_Key, or NULL. */
struct shadow_region *shadow_find(const struct shadow_memory *memory, uint32_t rkey);

/* Returns whether the region contains the whole range and grants `access`. */
bool shadow_covers(const struct shadow_region *region, uint64_t va, uint64_t len, unsigned access);

/* The user says that these bytes are at `va` of the region, which covers them. 0, or -1 if too much
 * memory is touched. */
int shadow_set_initial(struct shadow_memory *memory, struct shadow_region *region, uint64_t va,
                       const uint8_t *bytes, uint32_t len);

/* Registers or withdraws a region; 0 or enum rnic_error. */
int shadow_register(struct shadow_region *region, struct rnic_pd *pd);
void shadow_deregister(struct shadow_region *region);

/* The capture shows these bytes at `va` of the region, which covers them: makes the image agree
 * where that is not a remote writer's obligation. 0, or -1 if too much memory is touched. */
int shadow_observe(struct shadow_memory *memory, struct shadow_region *region, uint64_t va,
                   const uint8_t *bytes, uint32_t len, const struct shadow_reader *reader);

/* The READ was executed: puts back what shadow_observe() lent it. Returns 0, or -1 without memory.
 */
int shadow_return_lent(struct shadow_memory *memory, const struct shadow_reader *reader);

/* Our RNIC executed a write (data NULL: the 8 bytes that are in the image now). Returns 0, or -1
 * without memory. */
int shadow_note_write(struct shadow_memory *memory, struct shadow_region *region,
                      const struct shadow_write *write);

/* Returns whether a remote write put the byte at `va` there, which the region covers. */
bool shadow_is_written(const struct shadow_region *region, uint64_t va);

/* The capture lacks requests here, any of which may have written anywhere: what was written before
 * is no obligation any more. */
void shadow_forget_writes(struct shadow_memory *memory);

/* The latest remote write to the byte by a packet before `pkt`; NULL if there is none, or looking
 * took too long. */
const struct shadow_write *shadow_writer(struct shadow_memory *memory, uint32_t rkey, uint64_t va,
                                         uint32_t pkt);

#endif
