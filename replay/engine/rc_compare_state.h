/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * View: one side under comparison, step by step through the recorded conversation (compare.c), with
 * what our RNIC had done and the recorded answers had shown by the step at hand.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_STATE_H
#define REPLAY_ENGINE_RC_COMPARE_STATE_H

#include "engine/rc_compare_responses.h"

/* Our answers by PSN, then order. */
struct by_rel {
    int64_t rel;
    uint32_t idx;
};

/* One side under comparison. */
struct view {
    struct comparison *cmp;
    struct drive *drive;
    struct run *run;
    struct result *res;
    uint32_t run_idx;
    const struct by_rel *by_rel;
    size_t sent;        /* our answers that were out by the step at hand */
    size_t moved;       /* progress by then */
    int64_t acked;      /* highest PSN these answers acknowledge */
    uint32_t asked;     /* steps looked at for `owed` */
    int64_t owed;       /* highest PSN whose request asked for an ACK */
    int64_t high;       /* highest PSN of a request captured by then */
    int64_t settled;    /* highest PSN that recorded answers have acknowledged, rightly */
    int64_t rnr;        /* PSN of the latest recorded RNR NAK */
    uint32_t request;   /* latest request, or STEP_NONE */
    uint32_t repeat;    /* latest request that had been executed before, or STEP_NONE */
    uint32_t latest;    /* request whose answer was recorded last, or STEP_NONE */
    int64_t latest_rel; /* PSN of that answer */
    uint64_t heard; /* when the recorded answer before this one was captured, 0 if there is none */
    const char *doubt; /* why every difference is in doubt, or NULL */
};

/* The PSN our responder expected by now, and its MSN. */
int64_t view_epsn(const struct view *v);
uint32_t view_msn(const struct view *v);
/* Whether a step's request is answered by data: a READ or an atomic. */
bool view_fetches(const struct setup *s, uint32_t step);

#endif
