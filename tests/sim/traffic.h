/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Traffic: a random valid load on two devices, in both directions of every QP. The check compares
 * each byte of both memories, each completion and each counter with the expected values. The
 * expected counters of the requesters come from an oracle that reads the packets
 * (support/requester_oracle.h).
 */
#ifndef TEST_TRAFFIC_H
#define TEST_TRAFFIC_H

#include "support/qp_pair.h"

#define TRAFFIC_WRS 64u /* limit of the requests in one direction of a QP */

struct traffic_limits {
    unsigned qp_cnt;  /* number of QPs, 1..QP_PAIR_QPS */
    unsigned wr_cnt;  /* number of requests in one direction of a QP, 1..TRAFFIC_WRS */
    uint32_t max_len; /* limit of the bytes of a message, at most 8192 */
    uint32_t path_mtu;
    enum roce_encap encap;
    struct qp_pair_opts opts;
    bool slow_receiver; /* receive WQEs are posted late, which causes RNR NAKs */
    bool may_fail;      /* QPs may use up their retries; traffic_check() is not called */
    bool drains;        /* QPs enter SQD and return to RTS at random times */
};

/*
 * traffic_begin() creates two devices and draws their load from the seed; `path` applies to both
 * directions. Between traffic_begin() and traffic_run(), the caller may add rules to the simulated
 * network. traffic_check() asserts that all results are correct; traffic_end() frees everything.
 * Only one load can exist at a time.
 */
struct qp_pair *traffic_begin(uint64_t seed, const struct traffic_limits *limits,
                              const struct simnet_path *path);
void traffic_run(void);
void traffic_check(void);
void traffic_end(void);

#endif
