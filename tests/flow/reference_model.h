/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reference model: connections over a network that loses, copies and delays packets, captured at a
 * point on the path. Both ends conform. The model knows the state of the senders, which a capture
 * does not show. For each captured packet it counts what really happened: losses, retransmissions,
 * their causes. Tests compare these counts with the analysis engine's. The model shares only the
 * packet builder with the engine.
 *
 * A --- before --- capture point --- after --- B
 */
#ifndef TEST_REFERENCE_MODEL_H
#define TEST_REFERENCE_MODEL_H

#include "flow/base/summary.h"
#include "support/flowgen.h"

#define MODEL_CONNS 4u

/* Kinds of packets, each with a separate probability of loss. */
enum model_kind {
    MODEL_MESSAGE, /* packets of SEND and WRITE */
    MODEL_READ,    /* READ and atomic requests */
    MODEL_DATA,    /* READ responses and Atomic ACKs */
    MODEL_ACK,
    MODEL_NAK, /* NAKs and RNR NAKs */
    MODEL_KINDS
};

/* One part of the path, before or after the capture point, in either direction. */
struct model_way {
    uint32_t lost[MODEL_KINDS]; /* probability that a packet of this kind is lost, permille; with
                                 * `burst`, that a burst begins */
    uint32_t burst;             /* number of consecutive packets lost in a burst; 0 means 1 */
    uint32_t twice;             /* probability that the network copies a packet, permille */
    uint32_t late, late_ns;     /* probability that a packet is delayed, permille; maximum
                                 * additional delay, ns */
    uint64_t delay_ns;
};

struct model_opts {
    struct rng *rng;
    struct model_way before, after;
    enum roce_svc svc; /* service: RC, XRC or UC */
    uint32_t conns, mtu, messages, max_len;
    uint32_t rnr;     /* probability that no receive WQE is posted for a SEND, permille */
    uint32_t kinds;   /* bit set of enum roce_oper; 0: all operations */
    bool both_ways;   /* side B also sends requests */
    bool cm;          /* the capture contains the CM messages that set up the connection */
    bool two_points;  /* there are two capture points, at A and at B: packets that reach B are
                       * captured twice */
    bool dies;        /* the network fails at a random time, and loses all later packets */
    uint64_t step_ns; /* transmission time of a packet, ns */
};

struct model_side {
    uint64_t retx_episodes[ROCE_CAUSE_CNT], retx_packets[ROCE_CAUSE_CNT];
    uint64_t retx_bytes[ROCE_CAUSE_CNT], stalled_ns[ROCE_CAUSE_CNT];
    uint64_t missing;      /* number of PSNs that were missing when a later PSN was captured */
    uint64_t out_of_order; /* number of packets that were first captured after a packet with a later
                            * PSN */
    uint64_t copies;       /* packets captured a second time */
    uint64_t psn_naks, rnr_naks;
    uint64_t messages[ROCE_OPER_CNT], completed[ROCE_OPER_CNT], bytes[ROCE_OPER_CNT];
    uint64_t packets; /* captured packets, requests and responses */
};

struct model {
    struct model_side side[MODEL_CONNS][2];
    struct flowgen_conn conn[MODEL_CONNS];
    bool stuck[MODEL_CONNS][2]; /* the retries of the requester are exhausted */
    uint64_t lost;              /* packets lost on both parts of the path */
};

/* Simulates until all messages are complete, or until nothing more can happen. Adds the captured
 * frames to `g` and stores the counts in *out. */
void model_play(const struct model_opts *opts, struct flowgen *g, struct model *out);

#endif
