/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * IPv4 identification as evidence of the order in which a sender sent its packets. Linux increases
 * the identification from packet to packet. If the network reorders packets, their identifications
 * still show the original order. A sender whose identifications are constant or random shows no
 * order. Used only in rnic/flow.
 */
#ifndef FLOW_BASE_IP_ID_H
#define FLOW_BASE_IP_ID_H

#include "flow/base/state.h"

/* Maximum difference of the identifications of two packets that still shows their order. Other
 * flows to the same host use the identifications between them. */
#define ROCE_ID_STEP_MAX 4096
/* Two consecutive packets with at most this difference are strong evidence of a counter. */
#define ROCE_ID_STEP_NEAR 256
/* Maximum time between two packets whose identifications are compared, ns */
#define ROCE_ID_TIME_MAX UINT64_C(1000000000)
/* Least value of roce_endpoint.id_score that shows that the sender counts up, and its maximum. Two
 * strong increases suffice: with random identifications, both happen by chance in one of 65,536
 * pairs of steps, and an arbitrary step sets the score to 0 again. */
#define ROCE_ID_SCORE_MIN 4u
#define ROCE_ID_SCORE_MAX 14u

/* Records the identification of a packet that `side` sent. */
static inline void roce_id_note(struct roce_endpoint *side, uint16_t id)
{
    int16_t step = (int16_t)(uint16_t)(id - side->last_id);

    if (step == 0)
        return;
    side->last_id = id;
    side->saw_id = true;
    if (step > ROCE_ID_STEP_MAX || step < -ROCE_ID_STEP_MAX)
        side->id_score = 0;
    else if (step > 0 && side->id_score < ROCE_ID_SCORE_MAX)
        side->id_score = (uint8_t)(side->id_score + (step <= ROCE_ID_STEP_NEAR ? 2 : 1));
}

/* Records that `side` sent a new request with the identification `id`, directly after the request
 * with the identification `before` in PSN order, and both were captured in this order. A lower
 * identification contradicts a counter: the sender may have several counters. */
static inline void roce_id_note_next(struct roce_endpoint *side, uint16_t before, uint16_t id)
{
    if ((int16_t)(uint16_t)(id - before) < 0)
        side->id_score = 0;
}

/* Compares the current packet with an earlier captured packet of the same sender, which has the
 * identification `id` and the capture time `time` (ns). Returns -1 if the sender sent the current
 * packet first, 1 if it sent the earlier captured packet first, and 0 if the identifications do not
 * show the order. */
static inline int roce_sent_order(const struct roce_ctx *ctx, uint16_t id, uint64_t time)
{
    int16_t step = (int16_t)(uint16_t)(ctx->digest->ip_id - id);

    if (ctx->sender->id_score < ROCE_ID_SCORE_MIN || step > ROCE_ID_STEP_MAX ||
        step < -ROCE_ID_STEP_MAX || roce_since(time, ctx->time) > ROCE_ID_TIME_MAX)
        return 0;
    return (step > 0) - (step < 0);
}

#endif
