/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The network of truth.h from inside: what its parts, hosts and wires (truth.c) and ends of
 * connections (model_end.c), know of one another.
 */
#ifndef TEST_REFERENCE_MODEL_NET_H
#define TEST_REFERENCE_MODEL_NET_H

#include "reference_model.h"

#define MODEL_QUEUE 65536u     /* responses that may wait at an end */
#define MODEL_NEVER UINT64_MAX /* ns: a timer that is off */

/* A message that an end sends. */
struct model_msg {
    enum roce_oper oper;
    uint32_t len, first, span; /* positions: PSNs from the first one */
};

/* A packet with what its sender knows of it. */
struct model_item {
    struct roce_pkt pkt;
    int side;
    uint32_t conn;
    bool request;
    uint32_t pos, span;
    uint32_t go; /* the go-back that sent it again; 0 the first time */
    enum roce_cause cause;
    bool copied;
};

enum model_what {
    MODEL_SLOT,    /* a host may send */
    MODEL_TIMER,   /* of an end */
    MODEL_PASSES,  /* a packet passes the capture point */
    MODEL_ARRIVES, /* and reaches the other host */
};

struct model_event {
    uint64_t time, order;
    struct model_item *item;
    enum model_what what;
    int side;
    uint32_t conn;
};

struct model_end {
    struct model_msg *msg;
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
    struct model_item **queue;
    uint32_t q_head, q_cnt;
    /* at the capture point */
    uint32_t seen_end, seen_go;
    uint64_t seen_last;
    uint64_t *seen; /* time, by position; 0 not */
};

struct model_net {
    const struct model_opts *o;
    struct flowgen *g;
    struct model *t;
    struct model_end end[MODEL_CONNS][2];
    struct model_event *heap;
    size_t cnt, cap;
    uint64_t now, order, dead;
    uint16_t id[2];
    uint32_t burst[2][2]; /* packets still to be lost, by part of the way and sender */
    uint32_t turn[2];
    uint64_t busy[2]; /* its wire, until then */
    bool slot[2];     /* a MODEL_SLOT is under way */
};

/* ---- truth.c: hosts and wires ------------------------------------------------------------------
 */

/* Host `side` may send as soon as its wire is free. */
void model_wake(struct model_net *n, int side);

/* Sets the timer of an end to go off at `at`, if it does not earlier. */
void model_arm(struct model_net *n, uint32_t conn, int side, uint64_t at);

/* ---- model_end.c: ends -------------------------------------------------------------------------
 */

/* Decides what an end will send; model_play() frees what it has then. */
void model_plan(struct model_net *n, struct model_end *e, uint32_t messages);

/* The message that position `pos` is of. */
const struct model_msg *model_msg_at(const struct model_end *e, uint32_t pos);

/* The next request of an end, for the caller to free; NULL: it has to wait. */
struct model_item *model_request(struct model_net *n, uint32_t conn, int side);

/* A packet has come; what is to be answered waits in the end's queue. */
void model_take_request(struct model_net *n, const struct model_item *i);
void model_take_response(struct model_net *n, const struct model_item *i);

/* The timer of an end went off. */
void model_timeout(struct model_net *n, uint32_t conn, int side);

#endif
