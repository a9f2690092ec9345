/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Truth: connections over a network that loses, copies and delays packets, seen at a capture point
 * somewhere on the way, and what is to be found there: each packet that passes the point is counted
 * by what its sender knows of it. Both ends keep every rule. It shares nothing with the observer
 * but the packet builder.
 *
 *   A --- before --- capture point --- after --- B
 */
#ifndef TEST_REFERENCE_MODEL_H
#define TEST_REFERENCE_MODEL_H

#include "flow/base/summary.h"
#include "support/flowgen.h"

#define MODEL_CONNS 4u

/* What the network tells apart. */
enum model_kind {
    MODEL_MESSAGE, /* SEND, WRITE */
    MODEL_READ,    /* the request; atomics too */
    MODEL_DATA,    /* READ response, Atomic ACK */
    MODEL_ACK,
    MODEL_NAK, /* RNR NAKs too */
    MODEL_KINDS
};

/* One of the two parts of the way, both directions. */
struct model_way {
    uint32_t lost[MODEL_KINDS]; /* of a thousand; of a burst, how many begin one */
    uint32_t burst;             /* packets in a row; 0 one */
    uint32_t twice;             /* of a thousand: copied by the network */
    uint32_t late, late_ns;     /* of a thousand: delayed by up to so much */
    uint64_t delay_ns;
};

struct model_opts {
    struct rng *rng;
    struct model_way before, after;
    enum roce_svc svc; /* RC, XRC */
    uint32_t conns, mtu, messages, max_len;
    uint32_t rnr;     /* of a thousand SENDs: no receive there */
    uint32_t kinds;   /* bit per enum roce_oper; 0 all */
    bool both_ways;   /* B asks, too */
    bool cm;          /* the connection is set up in the capture */
    bool two_points;  /* captured at A and at B: what reaches B is there twice */
    bool dies;        /* at some time nothing arrives any more */
    uint64_t step_ns; /* of a packet on the wire */
};

struct model_side {
    uint64_t retx_episodes[ROCE_CAUSE_CNT], retx_packets[ROCE_CAUSE_CNT];
    uint64_t retx_bytes[ROCE_CAUSE_CNT], stalled_ns[ROCE_CAUSE_CNT];
    uint64_t missing;      /* PSNs that were not there when a later one came */
    uint64_t out_of_order; /* sent for the first time, and came after a later one */
    uint64_t copies;       /* the very same packet again */
    uint64_t psn_naks, rnr_naks;
    uint64_t messages[ROCE_OPER_CNT], completed[ROCE_OPER_CNT], bytes[ROCE_OPER_CNT];
    uint64_t packets; /* that passed, of both kinds */
};

struct model {
    struct model_side side[MODEL_CONNS][2];
    struct flowgen_conn conn[MODEL_CONNS];
    bool stuck[MODEL_CONNS][2]; /* its retries were used up */
    uint64_t lost;              /* packets, on both parts of the way */
};

/* Plays until all is done, or nothing more can be. `g` receives what was captured. */
void model_play(const struct model_opts *opts, struct flowgen *g, struct model *out);

#endif
