/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow oracle: judges one simulated endpoint by the rules of rnic/flow. It sees the frames that the
 * endpoint sent, as it sent them, and the frames that reached it.
 *
 *   1. flow_oracle_init()
 *   2. flow_oracle_feed() for each frame, in order.
 *   3. flow_oracle_distrust() when a forged packet has reached the endpoint.
 *   4. flow_oracle_finish() adds the findings of the end. The results stay readable.
 */
#ifndef REPLAY_SIM_FLOW_ORACLE_H
#define REPLAY_SIM_FLOW_ORACLE_H

#include "flow/flow.h"

#define FLOW_ORACLE_TEXT_MAX 256u

struct flow_oracle {
    struct roce_flow *flow;
    uint32_t frame;
    uint64_t repeated; /* requests that the endpoint retransmitted */
    bool own;          /* the current frame was sent by the endpoint */
    int side;          /* number of the endpoint in the flow; -1 before it has sent */
    bool doubt;        /* flow_oracle_distrust() was called */
    uint32_t doubtful; /* ERRORs after that */
    uint32_t errors;   /* ERRORs before that */
    char first[FLOW_ORACLE_TEXT_MAX]; /* the first of `errors`: rule, frame and text */
    /* Returns whether findings of a rule are not counted; NULL counts all. Set after
     * flow_oracle_init(). */
    bool (*ignores)(void *user, enum roce_rule rule);
    void *user;
};

/* Returns false if there is no memory. */
bool flow_oracle_init(struct flow_oracle *oracle);

/* Feeds a frame that the endpoint sent (`own`) or received. */
void flow_oracle_feed(struct flow_oracle *oracle, bool own, const uint8_t *data, size_t len,
                      uint64_t now);

/* From here on ERRORs are counted as doubtful. */
void flow_oracle_distrust(struct flow_oracle *oracle);

/* Ends the conversation and frees the flow. */
void flow_oracle_finish(struct flow_oracle *oracle);

#endif
