/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory: what the replayed responder has registered, and what the capture says must be in it.
 *
 * One region for each R_Key, as large as the accesses that the recorded responder accepted, with
 * the permissions these exercised. Its bytes live in `image`, which our RNIC reads and writes.
 * Beside each byte stands how its value is known:
 *
 *   unknown   nobody has seen it: the first READ or atomic that shows it says what it was all along
 *   observed  a READ or an atomic showed it: another value later was stored by the responder's own
 *             program, and so we store it too
 *   written   a remote WRITE or atomic put it there: an obligation. A READ that shows another value
 *             is a difference, so nothing is stored and our RNIC will contradict the capture
 *
 *   given     the user says what it was: an obligation too
 *
 * An obligation ends where another explanation is in the capture: the same bytes written through
 * another key with just the value now seen, or a buffer that the responder's program filled again
 * after a message told it that it may. Where another connection wrote the byte and an allowed order
 * of execution explains what a READ shows (shared_memory.h), it is there for that READ only.
 */
#ifndef REPLAY_INFER_SHADOW_MEMORY_H
#define REPLAY_INFER_SHADOW_MEMORY_H

#include "device/rnic.h"
#include "util/keymap.h"
#include "util/strbuf.h"

/* What all regions of a responder may span together. The pages are only reserved; those touched are
 * counted against the second limit, so that a hostile capture cannot fill the machine. */
#define MEMORY_SPAN_MAX  (UINT64_C(32) << 30)
#define MEMORY_PAGES_MAX (UINT64_C(1) << 18)
#define MEMORY_PAGE      4096u

struct shadow_region {
    uint32_t rkey;
    uint64_t low;  /* first address */
    uint64_t span; /* bytes; 0 until something was accessed */
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
    bool unknown;        /* the capture lacks its bytes, so that they are no obligation */
    uint8_t value[8];
};

/* Who looks: for telling one connection's obligations from another's writes. */
struct shadow_reader {
    uint32_t dir;
    uint32_t pkt;        /* index into trace.pkt of the request */
    uint32_t app_active; /* latest packet before it from which the responder's program may have
                          * learnt that it can use its buffers again; 0 if none */
    /* Returns whether another allowed order of execution has `value` at `va`; `blank`: the initial
     * value is unknown. NULL: no other direction writes there. */
    bool (*explains)(void *explains_ctx, uint64_t va, uint8_t value, bool blank);
    void *explains_ctx;
    bool unseen_only; /* what was seen or written before stays: it may have changed since */
    /* NULL, or told of each byte that shadow_observe() puts into the image; -1 is no memory. */
    int (*store)(void *ctx, const struct shadow_region *region, uint64_t va, uint8_t byte,
                 bool initial);
    void *ctx;
};

/* A byte that is in the image for one READ only, which another order of execution explains. */
struct lent_byte {
    struct shadow_region *region;
    uint64_t off;
    uint8_t byte; /* what belongs there */
};

struct shadow_memory {
    struct keymap keys;
    struct shadow_region *region; /* numbered by `keys` */
    size_t region_cap;
    struct shadow_write *write;
    size_t forgotten; /* writes that are no obligations any more */
    size_t write_cnt;
    size_t write_cap;
    struct lent_byte *lent;
    size_t lent_cnt;
    size_t lent_cap;
    uint64_t pages;
    uint64_t effort; /* events spent on looking for explanations */
    /* For the report. */
    uint64_t initial;     /* bytes of the initial image that were derived */
    uint64_t host_stores; /* bytes that the responder's program stored */
    uint64_t obligations; /* bytes read back that a remote write had put there */
};

void shadow_init(struct shadow_memory *memory);
void shadow_free(struct shadow_memory *memory); /* the RNIC that uses it must be gone */

/* An access that the recorded responder accepted: widens the key's region. Returns 0, or -1 without
 * memory. Nothing for `len` 0, where no key is checked (R085), nor for a range that wraps. */
int shadow_claim(struct shadow_memory *memory, uint32_t rkey, uint64_t va, uint64_t len,
                 unsigned access);

/* An access that touches no byte, but needs the key; Returns 0, or -1 without memory. */
int shadow_claim_key(struct shadow_memory *memory, uint32_t rkey, unsigned access);

/* The key is invalidated by a SEND; a key nobody used gets a region of one page. */
int shadow_claim_invalidate(struct shadow_memory *memory, uint32_t rkey);

/* Reserves the images. NULL, or why it cannot be done. */
const char *shadow_map(struct shadow_memory *memory);

/* The region of a key, or NULL. */
struct shadow_region *shadow_find(const struct shadow_memory *memory, uint32_t rkey);

/* Returns whether the whole range lies in the region and it grants `access`. */
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
