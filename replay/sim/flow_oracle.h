/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judge: one end of a live conversation, by the rules of rnic/flow: what it sent is judged by what
 * had reached it, whatever happened to its frames afterwards.
 */
#ifndef REPLAY_SIM_FLOW_ORACLE_H
#define REPLAY_SIM_FLOW_ORACLE_H

#include "flow/flow.h"

#define FLOW_ORACLE_TEXT_MAX 256u

struct flow_oracle {
    struct roce_flow *flow;
    uint32_t frame;
    uint64_t repeated;                /* requests that it sent again */
    bool own;                         /* the frame being looked at is the end's own */
    int side;                         /* the end's number in the flow, -1 before it sent anything */
    bool doubt;                       /* see flow_oracle_distrust() */
    uint32_t doubtful;                /* ERRORs since */
    uint32_t errors;                  /* ERRORs before */
    char first[FLOW_ORACLE_TEXT_MAX]; /* the first of them: rule, frame and words */
};

/* false without memory. */
bool flow_oracle_init(struct flow_oracle *oracle);

/* A frame that the end sent (`own`) or that reached it. */
void flow_oracle_feed(struct flow_oracle *oracle, bool own, const uint8_t *data, size_t len,
                      uint64_t now);

/* From here on an ERROR is no proof. */
void flow_oracle_distrust(struct flow_oracle *oracle);

/* The end of the conversation: closing findings. Frees what it holds; the results stay. */
void flow_oracle_finish(struct flow_oracle *oracle);

#endif
