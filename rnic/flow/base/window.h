/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Window: the request packets of one direction that were seen, in PSN order: those not yet
 * acknowledged, and before them as many old ones as there is room for, so that a repetition is
 * recognised. One entry a packet; a READ request has one entry for all its PSNs. Entries do not
 * overlap; where two do not touch, packets between them were not seen. Private to flow/.
 */
#ifndef FLOW_BASE_WINDOW_H
#define FLOW_BASE_WINDOW_H

#include "flow/base/mem.h"

/* Bits of roce_sent.flags. */
enum {
    ROCE_SENT_ENDS = 1u << 0, /* Last or Only */
    ROCE_SENT_ACKREQ = 1u << 1,
    ROCE_SENT_PSN_CNT_GUESS = 1u << 2, /* a READ whose PSNs are not known: the MTU is not */
    ROCE_SENT_OFF_KNOWN = 1u << 3,     /* `off` counts from the message's First */
    ROCE_SENT_DONE = 1u << 4,          /* READ, atomic: fully answered */
    ROCE_SENT_IMPLIED = 1u << 5,       /* READ, atomic: passed over by a later response */
    ROCE_SENT_RESTARTED = 1u << 6,     /* READ: asked for again, in whole or its tail */
    ROCE_SENT_ORIG = 1u << 7,          /* atomic: `orig` is valid */
};

/* Bits of roce_sent.marks. */
enum {
    ROCE_MARK_SAMPLED = 1u << 0,     /* the sample covers the payload: it can be compared */
    ROCE_MARK_IN_FLIGHT = 1u << 1,   /* counted as in flight */
    ROCE_MARK_MSN_COUNTED = 1u << 2, /* READ: its first response had the MSN of all that was seen */
    ROCE_MARK_RESP_GAP = 1u << 3, /* READ: since it was asked for and answered last, a response came
                                whose PSN is not the next */
    ROCE_MARK_REREQUESTED = 1u << 4, /* READ, atomic: asked for again, and not answered since */
    ROCE_MARK_OVER_CREDIT = 1u << 5, /* no response seen before it gave credits for it */
};

#define ROCE_LEN_UNKNOWN UINT32_MAX /* dma_len: the capture is cut before the RETH's end */

struct roce_sent_packet {
    uint64_t time;     /* ns, latest transmission */
    uint64_t msg_time; /* ns, of the message's first packet seen */
    uint64_t va;       /* RETH or AtomicETH */
    union {
        uint64_t orig; /* atomic: the value first returned */
        struct {
            uint32_t
                resp_next; /* READ: responses seen without a hole from its start (or restart) */
            uint32_t resp_high; /* READ: one more than the highest response seen, 0 none */
        };
    };
    uint32_t psn;
    uint32_t psn_cnt;    /* PSNs it takes, >= 1 */
    uint32_t frame;      /* first transmission */
    uint32_t last_frame; /* latest transmission */
    uint32_t msg_frame;  /* first packet of the message; 0 if not captured */
    uint32_t rkey;
    uint32_t dma_len; /* of RETH; on a WRITE's later packets that of its First */
    union {
        uint32_t off;       /* payload bytes of the message before this packet; not of a READ */
        uint32_t resp_seen; /* READ: see roce_sent_has_response() */
    };
    uint32_t cum;        /* messages of this requester ended up to and with this packet */
    uint32_t icrc;       /* of the latest transmission */
    uint32_t sample;     /* over headers and the ends of the payload */
    uint32_t resp_frame; /* first response */
    uint32_t restart;    /* READ: offset of the latest restart */
    uint16_t run_id;     /* entries of one chain touch one another */
    uint16_t len;        /* payload bytes */
    uint16_t ip_id;
    uint8_t op;    /* BTH.opcode */
    uint8_t tries; /* transmissions seen, at most 255 */
    uint8_t flags;
    uint8_t marks; /* ROCE_MARK_ */
    uint16_t bad;  /* enum roce_rule that obliges the responder to refuse it; 0 none */
};

struct roce_window {
    struct roce_sent_packet *buf;
    uint32_t cap;  /* power of two, 0 without a buffer */
    uint32_t head; /* index of the oldest */
    uint32_t cnt;
    uint32_t acked; /* the first so many are acknowledged */
    uint32_t hint;  /* where the last look-up ended */
};

#define ROCE_WINDOW_MIN   4u
#define ROCE_WINDOW_READS 64u /* for READs that may be asked for again it grows so far */

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

/* Whether it is a READ whose answer has not come: it may be asked for again, and answered then. */
static inline bool roce_sent_is_unread(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST && !(e->flags & ROCE_SENT_DONE);
}

/* Room behind all others where that takes no memory, and the oldest, which goes if it must, was
 * acknowledged and answered; NULL otherwise. What stood there stands there still. */
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

/* Payload bytes of the message before it: a READ is one packet. */
static inline uint32_t roce_sent_off(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST ? 0 : e->off;
}

/* Which responses of a READ came in any order: all before the first 20 bits' number, and of the
 * twelve after that one those whose bit is set. What comes later still is not noted. */
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

/* Whether all responses of a READ came since it was asked for last, in whatever order: to most
 * requesters that is loss, but not to all. */
static inline bool roce_sent_has_all_responses(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST &&
           roce_sent_responses_in_order(e) == e->psn_cnt && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Messages of the requester before the one it belongs to. */
static inline uint32_t roce_sent_number(const struct roce_sent_packet *e)
{
    return e->cum - ((e->flags & ROCE_SENT_ENDS) != 0);
}

/* Whether `psn` is one of the entry's. */
static inline bool roce_sent_has(const struct roce_sent_packet *e, uint32_t psn)
{
    return ((psn - e->psn) & 0xFFFFFFu) < e->psn_cnt;
}

/* The index of the first entry that does not end before or at `psn`; cnt if there is none. The
 * entry holds `psn` or stands after it. */
uint32_t roce_window_find(struct roce_window *w, uint32_t psn);

/* The entry that holds `psn`, or NULL. */
struct roce_sent_packet *roce_window_get(struct roce_window *w, uint32_t psn);

/* Makes room for one more by growing up to `max` entries, if that is due. False if it is full: an
 * insertion then drops the oldest. */
bool roce_window_room(struct roce_window *w, uint32_t max, struct roce_mem *mem);

/* Forgets the oldest entry; there is one. */
void roce_window_drop(struct roce_window *w);

/*
 * Room for one entry at index `at` (0..cnt), zeroed. Grows up to `max` entries, beyond that the
 * oldest goes, acknowledged or not (*overflow is then counted). NULL if there is no memory at all;
 * `at` may be 0 only while there is room. The index of the new entry is *at afterwards.
 */
struct roce_sent_packet *roce_window_insert(struct roce_window *w, uint32_t *at, uint32_t max,
                                            struct roce_mem *mem, uint64_t *overflow);

/* The same behind all others, where there is room. */
struct roce_sent_packet *roce_window_append(struct roce_window *w);

/* Forgets everything and gives the buffer back. */
void roce_window_free(struct roce_window *w, struct roce_mem *mem);

#endif
