/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The network of truth.h from inside: what its parts, hosts and wires (truth.c) and ends of
 * connections (truth_end.c), know of one another.
 */
#ifndef TEST_TRUTH_NET_H
#define TEST_TRUTH_NET_H

#include "truth.h"

#define TRUTH_QUEUE 65536u     /* responses that may wait at an end */
#define TRUTH_NEVER UINT64_MAX /* ns: a timer that is off */

/* A message that an end sends. */
struct truth_msg {
    enum roce_oper oper;
    uint32_t len, first, span; /* positions: PSNs from the first one */
};

/* A packet with what its sender knows of it. */
struct truth_item {
    struct roce_pkt pkt;
    int side;
    uint32_t conn;
    bool request;
    uint32_t pos, span;
    uint32_t go; /* the go-back that sent it again; 0 the first time */
    enum roce_cause cause;
    bool copied;
};

enum truth_what {
    TRUTH_SLOT,    /* a host may send */
    TRUTH_TIMER,   /* of an end */
    TRUTH_PASSES,  /* a packet passes the capture point */
    TRUTH_ARRIVES, /* and reaches the other host */
};

struct truth_event {
    uint64_t time, order;
    struct truth_item *item;
    enum truth_what what;
    int side;
    uint32_t conn;
};

struct truth_end {
    struct truth_msg *msg;
    uint32_t msgs, total; /* total: positions */
    /* requester */
    uint32_t una, nxt, high, go, reads_out;
    enum roce_cause cause;
    bool went_back, stuck;
    uint64_t timer, armed, rnr_until;
    uint32_t tries, rnr_tries;
    /* responder */
    uint32_t epos, msn;
    bool nak_sent, rnr_sent;
    uint32_t rnr_pos, rnr_left;
    struct truth_item **queue;
    uint32_t q_head, q_cnt;
    /* at the capture point */
    uint32_t seen_end, seen_go;
    uint64_t seen_last;
    uint64_t *seen; /* time, by position; 0 not */
};

struct truth_net {
    const struct truth_opts *o;
    struct flowgen *g;
    struct truth *t;
    struct truth_end end[TRUTH_CONNS][2];
    struct truth_event *heap;
    size_t cnt, cap;
    uint64_t now, order, dead;
    uint16_t id[2];
    uint32_t burst[2][2]; /* packets still to be lost, by part of the way and sender */
    uint32_t turn[2];
    uint64_t busy[2]; /* its wire, until then */
    bool slot[2];     /* a TRUTH_SLOT is under way */
};

/* ---- truth.c: hosts and wires ------------------------------------------------------------------
 */

/* Host `side` may send as soon as its wire is free. */
void truth_wake(struct truth_net *n, int side);

/* Sets the timer of an end to go off at `at`, if it does not earlier. */
void truth_arm(struct truth_net *n, uint32_t conn, int side, uint64_t at);

/* ---- truth_end.c: ends -------------------------------------------------------------------------
 */

/* Decides what an end will send; truth_play() frees what it has then. */
void truth_plan(struct truth_net *n, struct truth_end *e, uint32_t messages);

/* The message that position `pos` is of. */
const struct truth_msg *truth_msg_at(const struct truth_end *e, uint32_t pos);

/* The next request of an end, for the caller to free; NULL: it has to wait. */
struct truth_item *truth_request(struct truth_net *n, uint32_t conn, int side);

/* A packet has come; what is to be answered waits in the end's queue. */
void truth_take_request(struct truth_net *n, const struct truth_item *i);
void truth_take_response(struct truth_net *n, const struct truth_item *i);

/* The timer of an end went off. */
void truth_timeout(struct truth_net *n, uint32_t conn, int side);

#endif
