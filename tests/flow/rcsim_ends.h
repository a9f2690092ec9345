/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Internals of rcsim.h, shared by the network (rcsim.c) and by requester and responder
 * (rcsim_ends.c).
 */
#ifndef TEST_RCSIM_ENDS_H
#define TEST_RCSIM_ENDS_H

#include "rcsim.h"

#define RCSIM_WQES      128u
#define RCSIM_EVENTS    4096u
#define RCSIM_RESPONSES 1024u

enum rcsim_op { SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, ATOMIC, AWRITE, FLUSH };

struct rcsim_wqe {
    enum rcsim_op op;
    uint32_t len, first, cnt; /* length in bytes; number of the first packet, counted from the
                               * start of the connection; number of packets */
    uint32_t got;             /* READ: number of responses received */
    bool done;                /* READ or atomic: all responses were received */
    bool out;                 /* the request was sent, but is not complete yet */
    uint64_t orig;
};

/* A packet in flight. */
struct rcsim_event {
    uint64_t time;
    int to;
    bool request;
    uint32_t n, skip; /* number of the packet, counted from the start of the connection; READ
                       * request: number of packets of the READ that are not requested again,
                       * because the requester has their responses */
    uint8_t opcode, syndrome;
    uint32_t msn, len;
    bool ackreq;
};

struct rcsim_end {
    /* State of the requester. */
    struct rcsim_wqe wqe[RCSIM_WQES];
    unsigned wqe_cnt;
    uint32_t total, snd, una, high;
    uint64_t timer, hold;
    uint32_t lsn;
    bool credit_seen;
    uint64_t rto;
    /* State of the responder. */
    uint32_t epsn, msn;
    bool nak, rnr, ack_due;
    uint64_t ack_at;
    uint32_t posted; /* number of posted receive WQEs */
    struct rcsim_event rsp[RCSIM_RESPONSES];
    unsigned rsp_cnt;
    uint64_t sent_at; /* time at which the latest packet for the peer arrives there, ns; packets do
                       * not overtake each other */
};

struct rcsim {
    struct flowgen *g;
    struct rng *rng;
    struct rcsim_opts o;
    uint32_t base[2];
    struct rcsim_end end[2];
    struct rcsim_event event[RCSIM_EVENTS];
    unsigned event_cnt;
    uint64_t now;
};

static inline bool rcsim_is_answered(enum rcsim_op op)
{
    return op >= READ;
}

static inline bool rcsim_uses_rq(enum rcsim_op op)
{
    return op <= SEND_INV || op == WRITE_IMM;
}

/* ---- rcsim.c: the network -------------------------------------------------------------------- */

/* Returns true with a probability of `permille`. */
bool rcsim_chance(struct rcsim *s, uint32_t permille);

/* Sends a packet from side `from`. The network may lose it before or after the capture point. */
void rcsim_transmit(struct rcsim *s, int from, struct rcsim_event v);

/* ---- rcsim_ends.c: requester and responder --------------------------------------------------- */

/* Returns the WQE to which packet `n` of an end belongs, or NULL. */
struct rcsim_wqe *rcsim_wqe_of(struct rcsim_end *e, uint32_t n);

/* rcsim_send_one() sends the next request of `side`, if the rules allow a request now.
 * rcsim_respond() sends the next queued response of `side`. */
void rcsim_send_one(struct rcsim *s, int side);
void rcsim_respond(struct rcsim *s, int side);

/* Handles a packet that arrives at `side`. */
void rcsim_on_request(struct rcsim *s, int side, const struct rcsim_event *v);
void rcsim_on_response(struct rcsim *s, int side, const struct rcsim_event *v);

#endif
