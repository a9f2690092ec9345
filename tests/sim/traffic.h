/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Traffic: a random but legal load on a pair of devices, in both directions of every QP, and the
 * proof that all of it arrived: each byte of both memories, each completion, each counter, those of
 * the requesters as a witness on the wire tells them (support/requester_oracle.h).
 */
#ifndef TEST_TRAFFIC_H
#define TEST_TRAFFIC_H

#include "support/qp_pair.h"

#define TRAFFIC_WRS 64u /* at most this many requests in one direction of a QP */

struct traffic_limits {
    unsigned qp_cnt;  /* 1..QP_PAIR_QPS */
    unsigned wr_cnt;  /* requests in one direction of a QP, 1..TRAFFIC_WRS */
    uint32_t max_len; /* bytes of a message, at most 8192 */
    uint32_t path_mtu;
    enum roce_encap encap;
    struct qp_pair_opts opts;
    bool slow_receiver; /* receive WQEs are posted late: RNR NAKs come */
    bool drains;        /* QPs go to SQD and back at any time */
};

/*
 * Makes a pair of devices and their load from the seed, with `path` for both directions, and leaves
 * it to the caller to add rules before traffic_run(). traffic_check() asserts that everything is
 * where it belongs; traffic_end() frees all. One load at a time.
 */
struct qp_pair *traffic_begin(uint64_t seed, const struct traffic_limits *limits,
                              const struct simnet_path *path);
void traffic_run(void);
void traffic_check(void);
void traffic_end(void);

#endif
