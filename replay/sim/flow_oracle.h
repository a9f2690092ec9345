/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow oracle: decides with the analysis engine rnic/flow whether one simulated endpoint obeys the
 * protocol rules. The oracle's input is the frames that the endpoint sent, before any impairment,
 * and the frames that reached the endpoint.
 *
 *   1. flow_oracle_init()
 *   2. flow_oracle_feed() for each frame, in order
 *   3. flow_oracle_distrust() when a forged packet has reached the endpoint
 *   4. flow_oracle_finish() counts the findings that rnic/flow reports at the end. The results stay
 *      readable.
 */
#ifndef REPLAY_SIM_FLOW_ORACLE_H
#define REPLAY_SIM_FLOW_ORACLE_H

#include "flow/flow.h"

#define FLOW_ORACLE_TEXT_MAX 256u

struct flow_oracle {
    struct roce_flow *flow;
    uint32_t frame;
    uint64_t repeated; /* number of requests that the endpoint retransmitted */
    bool own;          /* the endpoint sent the current frame */
    int side;          /* number that rnic/flow gives the endpoint: 0 or 1; -1 before the
                        * endpoint's first frame */
    bool doubt;        /* flow_oracle_distrust() was called */
    uint32_t doubtful; /* number of findings counted after flow_oracle_distrust() */
    uint32_t errors;   /* number of findings counted before flow_oracle_distrust() */
    char first[FLOW_ORACLE_TEXT_MAX]; /* rule, frame and text of the first finding in `errors` */
    /* Returns whether the oracle ignores findings of a rule; NULL: it ignores none. Set after
     * flow_oracle_init(). */
    bool (*ignores)(void *user, enum roce_rule rule);
    /* Returns whether the oracle counts WARN findings of a rule like ERROR findings; NULL: it
     * counts none. Set after flow_oracle_init(). */
    bool (*counts_warn)(void *user, enum roce_rule rule);
    void *user;
};

/* Initializes the oracle. Returns false if out of memory. */
bool flow_oracle_init(struct flow_oracle *oracle);

/* Feeds a frame that the endpoint sent (`own`) or received. */
void flow_oracle_feed(struct flow_oracle *oracle, bool own, const uint8_t *data, size_t len,
                      uint64_t now);

/* Call after the endpoint received a forged packet. The oracle then counts findings in
 * `doubtful` instead of `errors`. */
void flow_oracle_distrust(struct flow_oracle *oracle);

/* Counts the findings that rnic/flow reports only at the end, and frees the state of rnic/flow. May
 * also be called for a zero-initialised oracle, or after flow_oracle_init() failed. */
void flow_oracle_finish(struct flow_oracle *oracle);

#endif
