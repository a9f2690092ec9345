/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Request tracker: follows the requests that a live requester sends on one connection, and those
 * that the recorded requester had sent at the same point of the capture.
 *
 * A packet that was lost in the recording may arrive in the live run. It counts as lost when we
 * send a NAK for its PSN or when the recorded requester goes back: the target then retransmits it,
 * and a response to it must wait for that. A response sent earlier would acknowledge a packet that
 * was not sent yet.
 *
 * live_requester.c and cm_peer.c call it:
 *
 *   1. request_tracker_open()
 *   2. request_tracker_add() for each live request.
 *   3. request_tracker_may_proceed() before each recorded event, then
 * request_tracker_add_recorded() for a request or request_tracker_add_response() for a response
 * that was sent.
 *   4. request_tracker_close()
 */
#ifndef REPLAY_LIVE_REQUEST_TRACKER_H
#define REPLAY_LIVE_REQUEST_TRACKER_H

#include "engine/rc_expected_wc.h"

struct request_tracker {
    struct requester_run *asker;
    struct expected_wc expect; /* expected completions after the responses sent */
    uint32_t step;             /* current event of the recording */
    int64_t high;              /* highest PSN received */
    int64_t last;              /* PSN received last */
    int64_t reached;           /* highest PSN received since the target went back */
    bool refused; /* PSN `reached` + 1 got a NAK, and the target has not gone back yet */
    int64_t nak; /* PSN that the recorded requester must retransmit and has not yet, or INT64_MIN */
    uint32_t restarts; /* times that the target went back without a NAK since the last progress */
    uint32_t recorded_restarts; /* times that the recorded requester did */
    uint16_t *recorded;         /* for each PSN: times that the recorded requester has sent it */
    uint16_t *arrived;          /* for each PSN: times that the target has sent it */
};

/* Drops what our RNIC sent in place of the requester. Returns 0, or -1 if there is no memory;
 * request_tracker_close() is needed in both cases. */
int request_tracker_open(struct request_tracker *tracker, struct requester_run *run);
void request_tracker_close(struct request_tracker *tracker);

/* Adds a valid live request that has the numbers of the capture (rewrite_to_recorded()). Returns
 * 0, or -1 if there is no memory. */
int request_tracker_add(struct request_tracker *tracker, const struct roce_pkt *pkt);

/* Adds the recorded request of event `step`, which is not a duplicate made by the network. */
void request_tracker_add_recorded(struct request_tracker *tracker, uint32_t event);

/* Adds the response of event `step`, which was sent. */
void request_tracker_add_response(struct request_tracker *tracker, uint32_t event);

/* Returns whether event `step` may happen now. A request to which the recorded requester went
 * back waits until the target went back. A response waits for the packet that it answers; after
 * a NAK, for its retransmission. */
bool request_tracker_may_proceed(const struct request_tracker *tracker, uint32_t event);

/* Returns whether PSN `rel` or a later one has arrived. */
bool request_tracker_has_reached(const struct request_tracker *tracker, int64_t rel);

#endif
