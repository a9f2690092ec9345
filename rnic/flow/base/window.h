/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Window: the captured request packets of one direction, in PSN order. It contains the packets that
 * are not acknowledged yet. While its capacity allows, it also keeps acknowledged packets, so that
 * their retransmissions are recognised.
 *
 * Each packet has one entry; a READ request has one entry for all its PSNs. Entries do not overlap.
 * If the PSNs of two entries are not adjacent, the packets between them were not captured. Used
 * only in rnic/flow.
 */
#ifndef FLOW_BASE_WINDOW_H
#define FLOW_BASE_WINDOW_H

#include "flow/base/mem.h"

/* Bits of roce_sent_packet.flags. */
enum {
    ROCE_SENT_ENDS = 1u << 0, /* Last or Only packet of a message */
    ROCE_SENT_ACKREQ = 1u << 1,
    ROCE_SENT_PSN_CNT_GUESS = 1u << 2, /* READ: psn_cnt is a guess, because the path MTU is unknown:
                                        * at first the lowest possible number, later raised to fill
                                        * a PSN gap */
    ROCE_SENT_OFF_KNOWN = 1u << 3,     /* `off` is exact: the message's First packet was captured */
    ROCE_SENT_DONE = 1u << 4,          /* READ or atomic: all responses were captured */
    ROCE_SENT_IMPLIED =
        1u << 5, /* READ or atomic: implicitly NAKed by a response to a later request */
    ROCE_SENT_RESTARTED = 1u << 6, /* READ: retransmitted, completely or from a PSN offset on */
    ROCE_SENT_ORIG = 1u << 7,      /* atomic: `orig` is valid */
};

/* Bits of roce_sent_packet.marks. */
enum {
    ROCE_MARK_SAMPLED = 1u << 0,     /* the capture has the whole payload, and `sample` includes its
                                      * first and last 8 bytes. So equal samples do not prove equal
                                      * payloads */
    ROCE_MARK_IN_FLIGHT = 1u << 1,   /* the packet is counted as in flight */
    ROCE_MARK_MSN_COUNTED = 1u << 2, /* READ: the MSN in the first response to this READ already
                                      * counted the READ */
    ROCE_MARK_RESP_GAP = 1u << 3,    /* READ: since its latest transmission, a response with a
                                      * later PSN than expected was captured, and not yet the
                                      * expected response */
    ROCE_MARK_REREQUESTED = 1u << 4, /* READ or atomic: retransmitted, and not completely
                                      * answered since */
    ROCE_MARK_OVER_CREDIT = 1u << 5, /* when the packet was captured, no captured response had
                                      * granted a credit for it */
    ROCE_MARK_UNTIMED = 1u << 6,     /* the first transmission of the message's First packet was not
                                      * captured, so the latency of the message is unknown */
    ROCE_MARK_RESP_LATE = 1u << 7, /* READ or atomic: since its latest transmission, a response was
                                    * captured after one with a later PSN */
};

/* value of dma_len if the capture cuts the packet before the end of the RETH */
#define ROCE_LEN_UNKNOWN UINT32_MAX

struct roce_sent_packet {
    uint64_t time;     /* time of the latest transmission, ns */
    uint64_t msg_time; /* time of the first captured packet of the message, ns */
    uint64_t va;       /* virtual address of the RETH or AtomicETH */
    union {
        uint64_t orig; /* atomic: value in the first Atomic ACK */
        struct {
            uint32_t resp_next; /* READ: number of responses captured in order, counted from the
                                 * first PSN. After a restart at an offset, counting continues from
                                 * this offset */
            uint32_t
                resp_high; /* READ: highest PSN offset of a captured response, plus 1; 0 if none */
        };
    };
    uint32_t psn;
    uint32_t psn_cnt;    /* number of PSNs of the packet: for a READ the number of its responses,
                          * otherwise 1 */
    uint32_t frame;      /* frame of the first transmission */
    uint32_t last_frame; /* frame of the latest transmission */
    uint32_t msg_frame;  /* first frame of the message; 0 if not captured */
    uint32_t rkey;
    uint32_t dma_len; /* DMA length in the RETH, bytes; the later packets of a WRITE have the value
                       * of its First packet */
    union {
        uint32_t off;       /* payload bytes of the message before this packet; not for a READ */
        uint32_t resp_seen; /* READ: bit set of captured responses, see roce_sent_has_response() */
    };
    uint32_t cum;        /* number of messages that end at this packet or between it and the
                          * requester's first captured packet */
    uint32_t icrc;       /* ICRC of the latest transmission */
    uint32_t sample;     /* hash over headers and over the first and last bytes of the payload */
    uint32_t resp_frame; /* frame of the first response */
    union {
        uint32_t restart;  /* READ with ROCE_SENT_RESTARTED: PSN offset at which the latest
                            * retransmission began */
        uint32_t resp_cnt; /* READ without ROCE_SENT_RESTARTED: number of captured responses */
    };
    uint16_t run_id; /* all entries between two PSN gaps have the same run_id */
    uint16_t len;    /* payload bytes of the packet */
    uint16_t ip_id;
    uint8_t op;    /* BTH.opcode */
    uint8_t tries; /* number of captured transmissions, at most 255 */
    uint8_t flags;
    uint8_t marks; /* bit set of ROCE_MARK_* */
    uint16_t bad;  /* enum roce_rule that the packet violates, if the responder must refuse the
                    * packet for that; otherwise 0 */
};

struct roce_window {
    struct roce_sent_packet *buf;
    uint32_t cap;  /* capacity in entries, a power of two; 0 without a buffer */
    uint32_t head; /* index of the oldest entry */
    uint32_t cnt;
    uint32_t acked;      /* number of acknowledged entries; they are the oldest ones */
    uint32_t hint;       /* index at which the previous lookup ended */
    uint32_t read_bytes; /* number of bytes that READs in flight requested and that are missing in
                          * the responses captured so far, at most UINT32_MAX */
};

#define ROCE_WINDOW_MIN 4u /* initial number of entries of a window */
/* A full window grows up to this number of entries if its oldest entry is an unanswered READ. The
 * requester may retransmit this READ, so the window must not drop its entry. */
#define ROCE_WINDOW_READS 64u

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

/* Returns whether `e` is a READ that is not complete: some of its responses were not captured, so
 * the requester may retransmit it. */
static inline bool roce_sent_is_unread(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST && !(e->flags & ROCE_SENT_DONE);
}

/* Appends an entry without allocating memory, and returns the entry, which is not zeroed. If the
 * window is full, drops its oldest entry first. Returns NULL if the oldest entry must stay: at most
 * half of the entries are acknowledged, or the oldest is an unanswered READ. */
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

/* Returns the number of payload bytes of the message before `e`; 0 for a READ, which is one packet.
 */
static inline uint32_t roce_sent_off(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST ? 0 : e->off;
}

/* Encoding of resp_seen, which records the captured responses to a READ in any order. The upper 20
 * bits are the number of responses before the first missing one. Each of the lower 12 bits
 * represents one response after the missing one. Later responses than these are not recorded. */
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

/* Returns whether all responses to a READ were captured, in any order. If the READ was
 * retransmitted, counts only responses after its latest transmission. The order does not matter
 * here: most requesters treat responses out of order as a loss, but some accept them. */
static inline bool roce_sent_has_all_responses(const struct roce_sent_packet *e)
{
    return (e->op & 0x1F) == ROCE_OP_RC_READ_REQUEST &&
           (roce_sent_responses_in_order(e) == e->psn_cnt ||
            (e->resp_cnt == e->psn_cnt && !(e->flags & ROCE_SENT_RESTARTED))) &&
           !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Returns the number of messages of the requester before the message of `e`. */
static inline uint32_t roce_sent_number(const struct roce_sent_packet *e)
{
    return e->cum - ((e->flags & ROCE_SENT_ENDS) != 0);
}

/* Returns whether the PSN range of `e` contains `psn`. */
static inline bool roce_sent_has(const struct roce_sent_packet *e, uint32_t psn)
{
    return ((psn - e->psn) & 0xFFFFFFu) < e->psn_cnt;
}

/* Returns the index of the entry that contains `psn`. If no entry does, returns the index of the
 * first entry after `psn`, or cnt if there is none. */
uint32_t roce_window_find(struct roce_window *w, uint32_t psn);

/* Returns the entry that contains `psn`, or NULL. */
static inline struct roce_sent_packet *roce_window_get(struct roce_window *w, uint32_t psn)
{
    uint32_t i = w->hint;
    struct roce_sent_packet *e;

    if (i >= w->cnt || !roce_sent_has(roce_window_at(w, i), psn)) {
        i = roce_window_find(w, psn);
        if (i >= w->cnt)
            return NULL;
    }
    e = roce_window_at(w, i);
    return roce_sent_has(e, psn) ? e : NULL;
}

/* If the window is full, grows it for one more entry, up to `max` entries. Returns true if the
 * window is now not full. Otherwise an insertion drops the oldest entry. */
bool roce_window_room(struct roce_window *w, uint32_t max, struct roce_mem *mem);

/* Drops the oldest entry of the window, which must not be empty. */
void roce_window_drop(struct roce_window *w);

/* Inserts a zeroed entry at index *at (0..cnt) and returns it. The window grows up to `max`
 * entries. If the window cannot grow, the function drops the oldest entry and subtracts 1 from *at.
 * It adds 1 to *overflow if the dropped entry was not acknowledged. Returns NULL if the window
 * cannot grow and *at is 0, or if there is no memory for the first entry. */
struct roce_sent_packet *roce_window_insert(struct roce_window *w, uint32_t *at, uint32_t max,
                                            struct roce_mem *mem, uint64_t *overflow);

/* Appends a zeroed entry to a window that is not full. */
struct roce_sent_packet *roce_window_append(struct roce_window *w);

/* Drops all entries of the window and frees its buffer. */
void roce_window_free(struct roce_window *w, struct roce_mem *mem);

#endif
