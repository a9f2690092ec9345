/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rcsim: simulates an RC connection between two conformant ends and the network between them. Where
 * the specification allows several behaviours, the ends choose at random: number of outstanding
 * requests, acknowledgements, credits, RNR NAKs, MSNs of READ responses. The network loses packets
 * before and after the capture point. The frames are added to a flowgen in the order in which they
 * pass the capture point.
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
    uint32_t rnr;    /* probability that no receive WQE is posted for a message, permille */
    uint8_t rnr_code;
    bool credits;    /* the responder grants credits */
    bool extensions; /* the ends also use ATOMIC WRITE and FLUSH */
    bool both_ways;
    uint64_t timeout, delay; /* ACK timeout and path delay, ns */
    uint32_t tap;  /* position of the capture point: percent of the path delay from side 0 to
                    * side 1 */
    uint64_t same; /* if not 0: seed for the first half of the WQEs; in conversations with the same
                    * seed, the first halves are equal */
};

/* Returns random options for a conversation. */
struct rcsim_opts rcsim_any(struct rng *rng);

/* Simulates a conversation on g->conn that begins at time g->now. Returns true, or false if the
 * conversation does not end, which is a fault of the simulation. */
bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts);

/* Sorts the frames of the conversation by time. */
void rcsim_sort(struct flowgen *g);

#endif
