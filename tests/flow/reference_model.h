/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reference model: connections over a network that loses, copies and delays packets, captured at a
 * point on the path. Each packet that passes the point is counted by what its sender knows about
 * it. Both ends conform. The model shares only the packet builder with the observer.
 *
 *   A --- before --- capture point --- after --- B
 */
#ifndef TEST_REFERENCE_MODEL_H
#define TEST_REFERENCE_MODEL_H

#include "flow/base/summary.h"
#include "support/flowgen.h"

#define MODEL_CONNS 4u

/* Kinds of packets that the network treats differently. */
enum model_kind {
    MODEL_MESSAGE, /* SEND, WRITE */
    MODEL_READ,    /* the request; atomics too */
    MODEL_DATA,    /* READ response, Atomic ACK */
    MODEL_ACK,
    MODEL_NAK, /* RNR NAKs too */
    MODEL_KINDS
};

/* One of the two parts of the path, for both directions. */
struct model_way {
    uint32_t lost[MODEL_KINDS]; /* losses of a thousand; with `burst`, how many begin a burst */
    uint32_t burst;             /* packets lost in a row; 0: one */
    uint32_t twice;             /* copies made by the network, of a thousand */
    uint32_t late, late_ns;     /* delayed packets of a thousand, and their longest delay */
    uint64_t delay_ns;
};

struct model_opts {
    struct rng *rng;
    struct model_way before, after;
    enum roce_svc svc; /* RC, XRC */
    uint32_t conns, mtu, messages, max_len;
    uint32_t rnr;     /* SENDs of a thousand that find no receive */
    uint32_t kinds;   /* bit per enum roce_oper; 0 all */
    bool both_ways;   /* side B sends requests too */
    bool cm;          /* the connection is set up in the capture */
    bool two_points;  /* captured at A and at B: what reaches B is captured twice */
    bool dies;        /* from some time on nothing arrives */
    uint64_t step_ns; /* time of a packet on the wire */
};

struct model_side {
    uint64_t retx_episodes[ROCE_CAUSE_CNT], retx_packets[ROCE_CAUSE_CNT];
    uint64_t retx_bytes[ROCE_CAUSE_CNT], stalled_ns[ROCE_CAUSE_CNT];
    uint64_t missing;      /* PSNs that were missing when a later one was captured */
    uint64_t out_of_order; /* first transmissions captured after a later one */
    uint64_t copies;       /* copies of a captured packet */
    uint64_t psn_naks, rnr_naks;
    uint64_t messages[ROCE_OPER_CNT], completed[ROCE_OPER_CNT], bytes[ROCE_OPER_CNT];
    uint64_t packets; /* captured packets of both kinds */
};

struct model {
    struct model_side side[MODEL_CONNS][2];
    struct flowgen_conn conn[MODEL_CONNS];
    bool stuck[MODEL_CONNS][2]; /* its retries are exhausted */
    uint64_t lost;              /* packets lost on both parts of the path */
};

/* Runs until all messages are done, or nothing more can happen. `g` gets the captured frames. */
void model_play(const struct model_opts *opts, struct flowgen *g, struct model *out);

#endif
