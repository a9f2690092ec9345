/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare state: the state of one direction while rc_compare_responses.c compares its packets, one
 * after the other. The state contains the progress of our RNIC and of the recorded responder up to
 * the current packet (event).
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_COMPARE_STATE_H
#define REPLAY_ENGINE_COMPARE_RC_COMPARE_STATE_H

#include "engine/compare/rc_compare_responses.h"

/* One altered ACK can cause at most this number of decreases of the MSN. If the MSN decreases more
 * often, the network reorders packets. More ACKs than this before their requests show that the
 * capture point exchanges packets. */
#define REORDERED_SURE 2u

/* Groups of responses. A recorded response is compared only with our responses of its group, except
 * to report the closest of our responses. */
enum response_group { GROUP_ACK, GROUP_NAK, GROUP_READ, GROUP_ATOMIC, GROUPS };

/* Entry of a list of our responses that is sorted by PSN, then by group, then by time. */
struct response_by_psn {
    int64_t rel;
    enum response_group group;
    uint32_t idx;
};

/* State of one direction at the current event. A relative PSN (`rel`) counts from the first PSN of
 * the direction. */
struct response_cmp {
    struct response_comparison *all;
    struct session *session;
    struct rc_direction *dir;
    struct response_result *res;
    uint32_t dir_idx;
    const struct response_by_psn *by_psn;
    size_t responses_out; /* number of responses that our RNIC sent up to the current event */
    size_t advances;  /* number of advances of our ePSN (dir->advance) up to the current event */
    int64_t acked;    /* highest relative PSN that responses of our RNIC have acknowledged so far */
    uint32_t scanned; /* number of events that `ack_due` and `high` already consider */
    int64_t ack_due;  /* highest relative PSN of a request that demands a response: a request
                       * with AckReq, a READ or an atomic */
    int64_t high;     /* highest relative PSN requested so far */
    bool repeats;     /* true: a request with the PSN of an earlier request, or a lower PSN, was
                       * captured */
    int64_t recorded_acked; /* highest relative PSN that recorded responses show as executed. A
                             * response counts only if it equals ours, or if only its data differs
                             * and this difference is inconclusive */
    uint32_t high_msn;      /* highest MSN of the recorded responses so far */
    int64_t rnr;            /* relative PSN of the latest recorded RNR NAK */
    uint32_t request;       /* index into setup.event of the latest request, or EVENT_NONE */
    uint32_t duplicate; /* index into setup.event of the latest duplicate request, or EVENT_NONE */
    uint32_t delayed;   /* index into setup.event of a request, or EVENT_NONE: the request with the
                         * lowest PSN that counts as lost between the capture point and the
                         * responder (pkt_event.lost), but may have arrived late */
    uint32_t latest;    /* index into setup.event of the request that the latest recorded
                         * response answers, or EVENT_NONE */
    int64_t latest_rel; /* relative PSN of the latest recorded response */
    uint64_t prev_response_time; /* capture time of the previous recorded response, ns; 0 if there
                                  * is none */
    bool possible;               /* true: a conformant responder can have sent all responses of the
                                  * direction (rc_execution.h) */
    const char *inconclusive;    /* reason why all differences of this direction are inconclusive,
                                  * or NULL */
};

/* Return the relative PSN that our responder expects, and its MSN, at the current event. */
int64_t response_cmp_epsn(const struct response_cmp *cmp);
uint32_t response_cmp_msn(const struct response_cmp *cmp);

#endif
