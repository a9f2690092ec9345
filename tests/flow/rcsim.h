/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rcsim: two conformant ends of an RC connection and the network between them. Whatever the
 * specification leaves open is random: outstanding requests, acknowledgements, credits, RNR NAKs,
 * MSNs of READ responses. Packets are lost before and behind the capture point. Frames are added to
 * a flowgen in the order in which they passed that point.
 */
#ifndef TEST_RCSIM_H
#define TEST_RCSIM_H

#include "support/flowgen.h"

struct rcsim_opts {
    unsigned messages; /* messages of each side, at most */
    uint32_t
        loss; /* lost packets in each direction, permille, half of them before the capture point */
    uint32_t window; /* outstanding packets, at most */
    uint32_t reads;  /* outstanding READs and atomics, at most */
    uint32_t rnr;    /* messages that find no receive, permille */
    uint8_t rnr_code;
    bool credits;    /* the responder grants credits */
    bool extensions; /* ATOMIC WRITE and FLUSH */
    bool both_ways;
    uint64_t timeout, delay; /* ns */
    uint32_t tap;  /* position of the capture point, percent of the path from side 0 to side 1 */
    uint64_t same; /* not 0: seed of the WQEs in the first half */
};

/* Returns random options of a conformant conversation. */
struct rcsim_opts rcsim_any(struct rng *rng);

/* Runs a conversation of g->conn from g->now on. Returns false if it does not end, a fault of the
 * simulation. */
bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts);

/* Sorts the frames by time. */
void rcsim_sort(struct flowgen *g);

#endif
