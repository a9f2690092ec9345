/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Internals of the network of reference_model.h, shared by the hosts and the path
 * (reference_model.c) and the ends of the connections (reference_model_end.c).
 */
#ifndef TEST_REFERENCE_MODEL_NET_H
#define TEST_REFERENCE_MODEL_NET_H

#include "reference_model.h"

#define MODEL_QUEUE 65536u     /* maximum number of queued responses of an endpoint */
#define MODEL_NEVER UINT64_MAX /* time of a timer that is not running */

/* A message that an end of a connection sends. */
struct model_msg {
    enum roce_oper oper;
    uint32_t len, first, span; /* length in bytes; first position; number of positions. A position
                                * is a PSN, counted from the first PSN of the connection */
};

/* A packet, with facts that only its sender knows. */
struct model_item {
    struct roce_pkt pkt;
    int side;
    uint32_t conn;
    bool request;
    uint32_t pos, span;
    uint32_t go; /* number of the go-back in which the packet was retransmitted; 0 if it is the
                  * first transmission */
    enum roce_cause cause;
    bool copied;
};

enum model_what {
    MODEL_SLOT,    /* the link of a host becomes free, so the host may send */
    MODEL_TIMER,   /* the timer of an endpoint expires */
    MODEL_PASSES,  /* a packet passes the capture point */
    MODEL_ARRIVES, /* a packet reaches the other host */
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
    uint32_t msgs, total; /* number of messages; number of positions of all messages */
    /* State of the requester. */
    uint32_t una, nxt, high, go, reads_out;
    enum roce_cause cause;
    bool went_back, stuck;
    uint64_t timer, armed, rnr_until;
    uint32_t tries, rnr_tries;
    /* State of the responder. */
    uint32_t epos, msn;
    bool nak_sent, rnr_sent;
    uint32_t rnr_pos, rnr_left;
    struct model_item **queue;
    uint32_t q_head, q_cnt;
    /* Requests that this end sent and that were captured. seen_end: position after the highest
     * one. seen_go: number of the go-back of the latest retransmission. seen_last: time of the
     * latest request. */
    uint32_t seen_end, seen_go;
    uint64_t seen_last;
    uint64_t *seen; /* time at which each position was captured, ns; 0: not captured */
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
    uint32_t burst[2][2]; /* number of packets that the current burst still loses: [part of the
                           * path][sender] */
    uint32_t turn[2];
    uint64_t busy[2]; /* time until which the link of each host is busy, ns */
    bool slot[2];     /* a MODEL_SLOT event is pending */
};

/* ---- reference_model.c: hosts and wires ------------------------------------------------------ */

/* Makes host `side` send as soon as its link is free. */
void model_wake(struct model_net *n, int side);

/* Makes the timer of an endpoint expire at time `at`, unless it already expires earlier. */
void model_arm(struct model_net *n, uint32_t conn, int side, uint64_t at);

/* ---- reference_model_end.c: ends ------------------------------------------------------------- */

/* Chooses the messages that an end will send. model_play() frees them. */
void model_plan(struct model_net *n, struct model_end *e, uint32_t messages);

/* Returns the message that contains position `pos`. */
const struct model_msg *model_msg_at(const struct model_end *e, uint32_t pos);

/* Returns the next request packet of an endpoint, or NULL if the endpoint must wait. The caller
 * frees it. */
struct model_item *model_request(struct model_net *n, uint32_t conn, int side);

/* Each function processes a packet that an endpoint received, and appends the responses to the
 * queue of this endpoint. */
void model_take_request(struct model_net *n, const struct model_item *i);
void model_take_response(struct model_net *n, const struct model_item *i);

/* Handles the expiry of an endpoint's timer. */
void model_timeout(struct model_net *n, uint32_t conn, int side);

#endif
