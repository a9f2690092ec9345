/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * View: one side under comparison, step by step through the recorded conversation
 * (rc_compare_responses.c), with what our RNIC had done and the recorded answers had shown by the
 * step at hand.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_STATE_H
#define REPLAY_ENGINE_RC_COMPARE_STATE_H

#include "engine/rc_compare_responses.h"

/* Our answers by PSN, then order. */
struct response_by_psn {
    int64_t rel;
    uint32_t idx;
};

/* One side under comparison. */
struct response_cmp {
    struct response_comparison *all;
    struct session *session;
    struct rc_direction *dir;
    struct response_result *res;
    uint32_t dir_idx;
    const struct response_by_psn *by_psn;
    size_t responses_out;        /* our answers that were out by the step at hand */
    size_t advances;             /* progress by then */
    int64_t acked;               /* highest PSN these answers acknowledge */
    uint32_t scanned;            /* steps looked at for `owed` */
    int64_t ack_due;             /* highest PSN whose request asked for an ACK */
    int64_t high;                /* highest PSN of a request captured by then */
    int64_t recorded_acked;      /* highest PSN that recorded answers have acknowledged, rightly */
    int64_t rnr;                 /* PSN of the latest recorded RNR NAK */
    uint32_t request;            /* latest request, or EVENT_NONE */
    uint32_t duplicate;          /* latest request that had been executed before, or EVENT_NONE */
    uint32_t latest;             /* request whose answer was recorded last, or EVENT_NONE */
    int64_t latest_rel;          /* PSN of that answer */
    uint64_t prev_response_time; /* when the recorded answer before this one was captured, 0 if
                                    there is none */
    const char *inconclusive;    /* why every difference is in doubt, or NULL */
};

/* The PSN our responder expected by now, and its MSN. */
int64_t response_cmp_epsn(const struct response_cmp *cmp);
uint32_t response_cmp_msn(const struct response_cmp *cmp);
/* Whether a step's request is answered by data: a READ or an atomic. */
bool event_fetches(const struct inferred_setup *s, uint32_t event);

#endif
