/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rcsim: two conformant ends of an RC connection and the network between them, with all that the
 * specification leaves open chosen at random: how much is outstanding, what is acknowledged when,
 * credits, RNR NAKs, MSNs of READ responses; packets are lost before and behind the capture point.
 * Frames go into a flowgen, in the order in which they passed that point.
 */
#ifndef TEST_RCSIM_H
#define TEST_RCSIM_H

#include "support/flowgen.h"

struct rcsim_opts {
    unsigned messages; /* of each side at most */
    uint32_t loss;     /* permille, each way, half of it before the capture point */
    uint32_t window;   /* packets outstanding at most */
    uint32_t reads;    /* READs and atomics outstanding at most */
    uint32_t rnr;      /* permille of messages that find no receive */
    uint8_t rnr_code;
    bool credits;    /* the responder gives credits */
    bool extensions; /* ATOMIC WRITE and FLUSH */
    bool both_ways;
    uint64_t timeout, delay; /* ns */
    uint32_t tap;            /* percent of the way from side 0 to side 1 */
    uint64_t same;           /* != 0: WQEs of the first half are of this seed */
};

/* A conformant choice of all of these. */
struct rcsim_opts rcsim_any(struct rng *rng);

/* A talk of g->conn, from g->now on. False: it came to no end, which is a fault of this. */
bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts);

/* The frames in the order of their times. */
void rcsim_sort(struct flowgen *g);

#endif
