/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare state: one direction during the comparison, event by event (rc_compare_responses.c):
 * what our RNIC had done and what recorded responses had shown at the current event.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_STATE_H
#define REPLAY_ENGINE_RC_COMPARE_STATE_H

#include "engine/rc_compare_responses.h"

/* Index of our responses, sorted by PSN, then by time. */
struct response_by_psn {
    int64_t rel;
    uint32_t idx;
};

/*  */
struct response_cmp {
    struct response_comparison *all;
    struct session *session;
    struct rc_direction *dir;
    struct response_result *res;
    uint32_t dir_idx;
    const struct response_by_psn *by_psn;
    size_t responses_out; /* our responses sent by then */
    size_t advances;      /* entries of dir->advance reached by then */
    int64_t acked;        /* rel of the highest PSN that our responses acknowledge */
    uint32_t scanned;     /* events already included in `ack_due` and `high` */
    int64_t ack_due;      /* rel of the highest PSN with AckReq, or of a READ or atomic */
    int64_t high;         /* rel of the highest PSN requested by then */
    int64_t
        recorded_acked; /* rel of the highest PSN that matching recorded responses acknowledge */
    int64_t rnr;        /* rel of the latest recorded RNR NAK */
    uint32_t request;   /* latest request, or EVENT_NONE */
    uint32_t duplicate; /* latest duplicate request, or EVENT_NONE */
    uint32_t latest;    /* request whose response was recorded last, or EVENT_NONE */
    int64_t latest_rel; /* rel of that response */
    uint64_t
        prev_response_time; /* capture time of the previous recorded response, 0 if there is none */
    const char *inconclusive; /* reason why all differences are inconclusive, or NULL */
};

/* Return the ePSN and the MSN of our responder at the current event. */
int64_t response_cmp_epsn(const struct response_cmp *cmp);
uint32_t response_cmp_msn(const struct response_cmp *cmp);
/* Returns whether a request is answered by data: a READ or an atomic. */
bool event_fetches(const struct inferred_setup *s, uint32_t event);

#endif
