/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judge: one end of a live conversation, by the rules of rnic/flow: what it sent is judged by what
 * had reached it, whatever happened to its frames afterwards.
 */
#ifndef REPLAY_SIM_FLOW_ORACLE_H
#define REPLAY_SIM_FLOW_ORACLE_H

#include "flow/flow.h"

#define JUDGE_TEXT_MAX 256u

struct judge {
    struct roce_flow *flow;
    uint32_t frame;
    uint64_t repeated;          /* requests that it sent again */
    bool own;                   /* the frame being looked at is the end's own */
    int side;                   /* the end's number in the flow, -1 before it sent anything */
    bool doubt;                 /* see judge_doubt() */
    uint32_t doubtful;          /* ERRORs since */
    uint32_t errors;            /* ERRORs before */
    char first[JUDGE_TEXT_MAX]; /* the first of them: rule, frame and words */
};

/* false without memory. */
bool judge_init(struct judge *judge);

/* A frame that the end sent (`own`) or that reached it. */
void judge_frame(struct judge *judge, bool own, const uint8_t *data, size_t len, uint64_t now);

/* From here on an ERROR is no proof. */
void judge_doubt(struct judge *judge);

/* The end of the conversation: closing findings. Frees what it holds; the results stay. */
void judge_finish(struct judge *judge);

#endif
