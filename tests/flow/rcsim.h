/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rcsim: two conformant endpoints of an RC connection and the network between them. Random choices
 * cover what the specification leaves open: outstanding requests, acknowledgements, credits, RNR
 * NAKs, MSNs of READ responses. The network loses packets before and behind the capture point.
 * Frames are added to a flowgen in the order in which they passed the capture point.
 */
#ifndef TEST_RCSIM_H
#define TEST_RCSIM_H

#include "support/flowgen.h"

struct rcsim_opts {
    unsigned messages; /* maximum number of messages of each side */
    uint32_t
        loss; /* lost packets in each direction, permille, half of them before the capture point */
    uint32_t window; /* maximum number of outstanding packets */
    uint32_t reads;  /* maximum number of outstanding READs and atomics */
    uint32_t rnr;    /* messages without a receive WQE, permille */
    uint8_t rnr_code;
    bool credits;    /* the responder grants credits */
    bool extensions; /* the conversation has ATOMIC WRITE and FLUSH */
    bool both_ways;
    uint64_t timeout, delay; /* ACK timeout and path delay, ns */
    uint32_t tap;  /* position of the capture point, percent of the path from side 0 to side 1 */
    uint64_t same; /* if not 0: seed of the WQEs of the first half, so that two conversations can
                    * have the same ones */
};

/* Returns random options of a conformant conversation. */
struct rcsim_opts rcsim_any(struct rng *rng);

/* Simulates a conversation of g->conn from g->now on. Returns false if it does not end, which is a
 * fault of the simulation. */
bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts);

/* Sorts the frames by time. */
void rcsim_sort(struct flowgen *g);

#endif
