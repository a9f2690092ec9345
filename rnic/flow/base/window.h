/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Window: the request packets of one direction that were captured, in PSN order. It holds the
 * packets that are not acknowledged yet and, as far as there is room, older ones, so that a
 * retransmission is recognised.
 *
 * Each packet has one entry; a READ request has one entry for all its PSNs. Entries do not overlap.
 * Where two entries do not touch, packets between them were not captured. Private to flow/.
 */
#ifndef FLOW_BASE_WINDOW_H
#define FLOW_BASE_WINDOW_H

#include "flow/base/mem.h"

/* Bits of roce_sent_packet.flags. */
enum {
    ROCE_SENT_ENDS = 1u << 0, /* Last or Only packet of a message */
    ROCE_SENT_ACKREQ = 1u << 1,
    ROCE_SENT_PSN_CNT_GUESS =
        1u << 2,                   /* READ: psn_cnt is a guess, because the path MTU is not known */
    ROCE_SENT_OFF_KNOWN = 1u << 3, /* `off` counts from the First packet of the message */
    ROCE_SENT_DONE = 1u << 4,      /* READ, atomic: all responses came */
    ROCE_SENT_IMPLIED =
        1u << 5, /* READ, atomic: implicitly NAKed by a response to a later request */
    ROCE_SENT_RESTARTED = 1u << 6, /* READ: was sent again, in whole or its tail */
    ROCE_SENT_ORIG = 1u << 7,      /* atomic: `orig` is valid */
};

/* Bits of roce_sent_packet.marks. */
enum {
    ROCE_MARK_SAMPLED =
        1u << 0, /* the sample covers the whole payload, so that it can be compared */
    ROCE_MARK_IN_FLIGHT = 1u << 1,   /* is counted as in flight */
    ROCE_MARK_MSN_COUNTED = 1u << 2, /* READ: its first response already counted it in the MSN */
    ROCE_MARK_RESP_GAP = 1u << 3,    /* READ: since its latest transmission and response, a response
                                        had an unexpected PSN */
    ROCE_MARK_REREQUESTED = 1u << 4, /* READ, atomic: was sent again, and not answered since */
    ROCE_MARK_OVER_CREDIT = 1u << 5, /* no response captured before it granted a credit for it */
};

#define ROCE_LEN_UNKNOWN UINT32_MAX /* dma_len: the capture is cut before the RETH's end */

struct roce_sent_packet {
    uint64_t time;     /* latest transmission, ns */
    uint64_t msg_time; /* first captured packet of the message, ns */
    uint64_t va;       /* virtual address of the RETH or AtomicETH */
    union {
        uint64_t orig; /* atomic: the value that was returned first */
        struct {
            uint32_t resp_next; /* READ: responses without a hole, from its start or its latest
                                   restart */
            uint32_t resp_high; /* READ: one more than the highest response captured, 0 none */
        };
    };
    uint32_t psn;
    uint32_t psn_cnt;    /* PSNs it takes, at least 1 */
    uint32_t frame;      /* frame of the first transmission */
    uint32_t last_frame; /* frame of the latest transmission */
    uint32_t msg_frame;  /* first frame of the message; 0 if it was not captured */
    uint32_t rkey;
    uint32_t dma_len; /* length in the RETH; a WRITE's later packets have that of the First */
    union {
        uint32_t off;       /* payload bytes of the message before this packet; not of a READ */
        uint32_t resp_seen; /* READ: see roce_sent_has_response() */
    };
    uint32_t cum;        /* messages of this requester that ended up to and including this packet */
    uint32_t icrc;       /* ICRC of the latest transmission */
    uint32_t sample;     /* hash over headers and the ends of the payload */
    uint32_t resp_frame; /* frame of the first response */
    uint32_t restart;    /* READ: PSN offset of the latest restart */
    uint16_t run_id;     /* entries whose PSNs touch have one run_id */
    uint16_t len;        /* payload bytes */
    uint16_t ip_id;
    uint8_t op;    /* BTH.opcode */
    uint8_t tries; /* transmissions captured, at most 255 */
    uint8_t flags;
    uint8_t marks; /* ROCE_MARK_ */
    uint16_t bad;  /* enum roce_rule for which the responder has to refuse it; 0 none */
};

struct roce_window {
    struct roce_sent_packet *buf;
    uint32_t cap;  /* capacity, a power of two; 0 without a buffer */
    uint32_t head; /* index of the oldest */
    uint32_t cnt;
    uint32_t acked; /* entries at the front that are acknowledged */
    uint32_t hint;  /* index where the last look-up ended */
};

#define ROCE_WINDOW_MIN   4u
#define ROCE_WINDOW_READS 64u /* capacity up to which it grows for READs that may be sent again */

static inline struct roce_sent_packet *roce_window_at(const struct roce_window *w, uint32_t i)
{
    return &w->buf[(w->head + i) & (w->cap - 1)];
}

static inline struct roce_sent_packet *roce_window_tail(const struct roce_window *w)
{
    return w->cnt ? roce_window_at(w, w->cnt - 1) : NULL;
}

static inline uint32_t roce_sent_end(const struct roce_sent_packet *e)
{
    return (e->psn + e->psn_cnt) & 0xFFFFFFu;
}

/* Returns whether `e` is a READ without all its responses: it may be sent again, and answered then.
 */
static inline bool roce_sent_is_unread(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST && !(e->flags & ROCE_SENT_DONE);
}

/* Appends an entry if that takes no memory. Drops the oldest one if that was acknowledged and
 * answered. Returns NULL otherwise. The entry is not cleared. */
static inline struct roce_sent_packet *roce_window_next(struct roce_window *w)
{
    if (w->cnt == w->cap) {
        if (w->acked <= w->cap / 2 || roce_sent_is_unread(&w->buf[w->head]))
            return NULL;
        w->head = (w->head + 1) & (w->cap - 1);
        w->cnt--;
        w->acked--;
        w->hint -= w->hint > 0;
    }
    return roce_window_at(w, w->cnt++);
}

/* Returns the payload bytes of the message before `e`. A READ is one packet. */
static inline uint32_t roce_sent_off(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST ? 0 : e->off;
}

/* READ responses received in any order: the upper 20 bits of resp_seen count those without a hole.
 * Each of the lower 12 bits is one of the responses after that hole. Later ones are not noted. */
#define ROCE_RESP_SEEN_BITS 12u

static inline uint32_t roce_sent_responses_in_order(const struct roce_sent_packet *e)
{
    return e->resp_seen >> ROCE_RESP_SEEN_BITS;
}

static inline bool roce_sent_has_response(const struct roce_sent_packet *e, uint32_t k)
{
    uint32_t before = roce_sent_responses_in_order(e);

    return k < before ||
           (k - before - 1 < ROCE_RESP_SEEN_BITS && (e->resp_seen >> (k - before - 1) & 1));
}

static inline void roce_sent_mark_response(struct roce_sent_packet *e, uint32_t k)
{
    uint32_t before = roce_sent_responses_in_order(e),
             late = e->resp_seen & ((1u << ROCE_RESP_SEEN_BITS) - 1);

    if (k > before && k - before - 1 < ROCE_RESP_SEEN_BITS)
        late |= 1u << (k - before - 1);
    if (k == before) {
        for (before++; late & 1; before++)
            late >>= 1;
        late >>= 1;
    }
    e->resp_seen = before << ROCE_RESP_SEEN_BITS | late;
}

/* Returns whether all responses of a READ came since its latest transmission, in any order. Most
 * requesters take another order for a loss, but not all. */
static inline bool roce_sent_has_all_responses(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST &&
           roce_sent_responses_in_order(e) == e->psn_cnt && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Returns how many messages of the requester precede the one of `e`. */
static inline uint32_t roce_sent_number(const struct roce_sent_packet *e)
{
    return e->cum - ((e->flags & ROCE_SENT_ENDS) != 0);
}

/* Returns whether `psn` is one of the PSNs of `e`. */
static inline bool roce_sent_has(const struct roce_sent_packet *e, uint32_t psn)
{
    return ((psn - e->psn) & 0xFFFFFFu) < e->psn_cnt;
}

/* Returns the index of the first entry that holds `psn` or comes after it; cnt if there is none. */
uint32_t roce_window_find(struct roce_window *w, uint32_t psn);

/* Returns the entry that holds `psn`, or NULL. */
struct roce_sent_packet *roce_window_get(struct roce_window *w, uint32_t psn);

/* Grows the window if it is full and may have up to `max` entries. Returns whether there is room:
 * otherwise an insertion drops the oldest entry. */
bool roce_window_room(struct roce_window *w, uint32_t max, struct roce_mem *mem);

/* Drops the oldest entry. The window must not be empty. */
void roce_window_drop(struct roce_window *w);

/* Inserts a zeroed entry at index *at (0..cnt) and returns it, or NULL without memory. Grows up to
 * `max` entries; a full window drops its oldest entry, and counts it in *overflow if it was not
 * acknowledged. *at may be 0 only if there is room. Sets *at to the new index. */
struct roce_sent_packet *roce_window_insert(struct roce_window *w, uint32_t *at, uint32_t max,
                                            struct roce_mem *mem, uint64_t *overflow);

/* Appends a zeroed entry. There must be room. */
struct roce_sent_packet *roce_window_append(struct roce_window *w);

/* Drops all entries and frees the buffer. */
void roce_window_free(struct roce_window *w, struct roce_mem *mem);

#endif
