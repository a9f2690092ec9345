/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shadow memory: the memory regions of a replayed responder, and what the capture shows about their
 * contents.
 *
 * There is one region for each R_Key. Its size and permissions are those of the accesses that the
 * recorded responder accepted. Our RNIC reads and writes its `image`. Each byte has a state:
 *
 * - unknown: no packet has shown the byte. The first READ or atomic that shows the byte gives its
 *   initial value.
 * - observed: a READ or an atomic showed the byte. If a later one shows another value, the
 *   responder's program stored that value, so we store the value too.
 * - written: a remote WRITE or atomic wrote the byte. If a READ shows another value, we do not
 *   store that value. So our RNIC's response differs from the recorded one.
 *
 * In two cases, a READ may show another value without a reported difference: a remote write stored
 * this value through another R_Key of the same memory, or the responder's program stored it
 * (program_stored() in shadow_memory.c). If another connection writes the byte, the READ may also
 * show the result of another allowed order of the writes (shared_memory.h). The byte then has this
 * result for this READ only.
 */
#ifndef REPLAY_INFER_SHADOW_MEMORY_H
#define REPLAY_INFER_SHADOW_MEMORY_H

#include "device/rnic.h"
#include "util/keymap.h"
#include "util/strbuf.h"

/* Limits of the regions of one responder: MEMORY_SPAN_MAX limits the reserved address space,
 * MEMORY_PAGES_MAX the pages in use. The limits prevent a hostile capture from exhausting the
 * memory. */
#define MEMORY_SPAN_MAX  (UINT64_C(32) << 30)
#define MEMORY_PAGES_MAX (UINT64_C(1) << 18)
#define MEMORY_PAGE      4096u /* length of a page, bytes */
#define MEMORY_GROUP     4096u /* number of pages of a group */

struct shadow_region {
    uint32_t rkey;
    uint64_t low;  /* lowest address of the region */
    uint64_t span; /* length in bytes; 0 before the first access */
    unsigned access;
    bool invalidate; /* a SEND with Invalidate names this R_Key */
    uint8_t *image;
    uint8_t *state;
    uint8_t *touched;   /* one element for each page: 1 if the replay accessed the page */
    uint8_t *group;     /* one element for each MEMORY_GROUP pages: 1 if at least one of these pages
                         * is touched */
    struct rnic_mr *mr; /* NULL while the region is not registered */
};

/* Remote write that our RNIC executed. */
struct shadow_write {
    uint32_t dir;
    uint32_t rkey;
    uint32_t pkt; /* index into trace.pkt of the request */
    uint32_t req; /* index of the request packet in the `req` array of the direction's setup */
    uint32_t len;
    uint64_t va;
    const uint8_t *data; /* bytes written; NULL if they are in `value` */
    bool unknown;        /* the capture lacks the bytes written, so no READ can contradict them */
    /* For an atomic: true if its response was captured, so that `value` follows from the recorded
     * response. False: `value` is the value that our RNIC stored. It may be wrong, because our RNIC
     * may have executed the requests of several connections in another order. */
    bool confirmed;
    uint8_t value[8];
};

/* READ or atomic that will be played next, with callbacks. */
struct shadow_reader {
    uint32_t dir;
    uint32_t pkt;        /* index into trace.pkt of the request */
    uint32_t app_active; /* index into trace.pkt of the latest earlier packet after which the
                          * responder's program may reuse its buffers; 0 if there is none */
    /* Returns whether another allowed order of the requests results in `value` at `va`. NULL if
     * only the direction of this READ or atomic writes to the bytes. */
    bool (*explains)(void *explains_ctx, uint64_t va, uint8_t value);
    void *explains_ctx;
    /* Returns 1 if other READs suggest that the responder's program changed the byte at `va` from
     * `written`, -1 if other READs contradict such a change, else 0. NULL for an atomic. */
    int (*suggests_store)(void *explains_ctx, uint64_t va, uint8_t written);
    bool unseen_only; /* store only bytes that no earlier response showed and no earlier request
                       * wrote */
    /* Called for each byte that shadow_observe() stores; may be NULL. Returns -1 if out of memory.
     */
    int (*store)(void *ctx, const struct shadow_region *region, uint64_t va, uint8_t byte,
                 bool initial);
    void *ctx;
};

/* A byte of region->image that has another value during one READ: the value in the recorded
 * response, which only another allowed order of the requests explains. */
struct lent_byte {
    struct shadow_region *region;
    uint64_t off;
    uint8_t byte; /* value before and after the READ */
};

/* Number of regions that are found without a search of all regions; a power of 2. */
#define SHADOW_RECENT 16u

struct shadow_memory {
    struct keymap keys;
    struct shadow_region *region; /* array of regions; the index of a region is the number of its
                                   * R_Key in `keys` */
    size_t region_cap;
    uint32_t recent[SHADOW_RECENT]; /* latest region with this hash of its R_Key */
    struct shadow_write *write;
    size_t forgotten; /* number of writes at the start of `write` to ignore */
    size_t write_cnt;
    size_t write_cap;
    struct lent_byte *lent;
    size_t lent_cnt;
    size_t lent_cap;
    uint64_t pages;
    uint64_t effort; /* search steps used so far to find orders of the writes that explain the data
                      * of READs */
    /* Counts for the report. */
    uint64_t initial;     /* number of inferred bytes of the initial contents */
    uint64_t host_stores; /* number of bytes that the responder's program stored */
    uint64_t obligations; /* number of written bytes that a later READ response shows */
};

void shadow_init(struct shadow_memory *memory);
/* Frees all regions and lists. The caller must have deleted the RNIC that uses the regions. */
void shadow_free(struct shadow_memory *memory);

/* Widens the region of an R_Key by an access that the recorded responder accepted. Ignores an
 * access with `len` 0, which needs no valid R_Key (R085), and a range that wraps. Returns 0, or
 * -1 if out of memory. */
int shadow_claim(struct shadow_memory *memory, uint32_t rkey, uint64_t va, uint64_t len,
                 unsigned access);

/* Adds `access` to the permissions of an R_Key. Call for a FLUSH, which needs a valid R_Key even if
 * it flushes 0 bytes (A19). Returns 0, or -1 if out of memory. */
int shadow_claim_key(struct shadow_memory *memory, uint32_t rkey, unsigned access);

/* Records that a SEND invalidates the R_Key. If no request used the R_Key, makes a region of one
 * page. Returns 0, or -1 if out of memory. */
int shadow_claim_invalidate(struct shadow_memory *memory, uint32_t rkey);

/* Reserves the address space for the image of each region. Returns NULL on success, or the reason
 * of the failure. */
const char *shadow_map(struct shadow_memory *memory);

/* Marks a page as touched. `page` is its index in the region. */
void shadow_touch(struct shadow_region *region, uint64_t page);

/* Returns the offset of the first touched page at or after the page at `off`, or UINT64_MAX if
 * there is none. A region can span gigabytes, of which a few pages are touched. */
uint64_t shadow_touched_from(const struct shadow_region *region, uint64_t off);

/* Returns the region of an R_Key, or NULL if there is none. */
struct shadow_region *shadow_find(const struct shadow_memory *memory, uint32_t rkey);

/* Returns whether the region contains the whole range and grants `access`. */
bool shadow_covers(const struct shadow_region *region, uint64_t va, uint64_t len, unsigned access);

/* Register a region with our RNIC, or deregister it. shadow_register() returns 0 or an enum
 * rnic_error. */
int shadow_register(struct shadow_region *region, struct rnic_pd *pd);
void shadow_deregister(struct shadow_region *region);

/* Compares the image of the region with bytes that the capture shows at `va`. If they differ,
 * stores the bytes that the responder's program must have stored. Does not change bytes that a
 * remote write stored. The region must cover the bytes. Returns 0, or -1 if too much memory is
 * used. */
int shadow_observe(struct shadow_memory *memory, struct shadow_region *region, uint64_t va,
                   const uint8_t *bytes, uint32_t len, const struct shadow_reader *reader);

/* Restores the bytes that shadow_observe() changed for one READ only, after that READ was executed.
 * Returns 0, or -1 if out of memory. */
int shadow_return_lent(struct shadow_memory *memory, const struct shadow_reader *reader);

/* Records a write that our RNIC executed. For an atomic without a captured response
 * (`write->confirmed` is false), copies the value written from the image. Returns 0, or -1 if out
 * of memory. */
int shadow_note_write(struct shadow_memory *memory, struct shadow_region *region,
                      const struct shadow_write *write);

/* Records an atomic that our RNIC executed, if its response was not captured. Records nothing
 * unless earlier remote writes determine the result of the atomic. Returns 0, or -1 if out of
 * memory. */
int shadow_note_atomic(struct shadow_memory *memory, struct shadow_region *region,
                       const struct shadow_write *write);

/* Returns whether a direction other than `dir` wrote into the range. */
bool shadow_written_by_other(const struct shadow_memory *memory, uint32_t rkey, uint64_t va,
                             uint64_t len, uint32_t dir);

/* Bytes that a READ response or an Atomic ACK shows. */
struct shadow_view {
    uint32_t dir; /* direction of the READ or atomic */
    uint32_t req; /* index of its packet in the `req` array of the direction's setup */
    bool atomic;  /* true: an atomic, which the responder executes before all later requests of the
                   * direction. false: a READ, which later requests may overtake */
    uint64_t va;
    const uint8_t *byte; /* the `len` bytes that the response shows, all in one 8-byte word of the
                          * memory */
    uint32_t len;
};

/* Returns whether a response shows values that the memory cannot have had: an earlier request of
 * the same direction wrote to these bytes, and no write that may precede the response stored these
 * values. Returns false if the capture lacks the data of one of these writes, or after
 * shadow_forget_writes(). */
bool shadow_never_had(struct shadow_memory *memory, const struct shadow_view *view);

/* Returns whether a remote write set the byte at `va`. The region must cover the byte. */
bool shadow_is_written(const struct shadow_region *region, uint64_t va);

/* Makes all later checks ignore the writes so far. Call at a gap in the captured requests, because
 * a missing request may have written anywhere. */
void shadow_forget_writes(struct shadow_memory *memory);

/* Returns the latest remote write to the byte by a packet before `pkt`. Returns NULL if there is
 * none or the search took too long. */
const struct shadow_write *shadow_writer(struct shadow_memory *memory, uint32_t rkey, uint64_t va,
                                         uint32_t pkt);

#endif
