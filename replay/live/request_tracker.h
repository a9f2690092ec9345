/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Request tracker: follows the requests that a live requester sends on one connection, and the
 * requests that the recorded requester had sent at the same event of the capture.
 *
 * A packet that was lost in the recording may arrive in the live run. The tracker treats it as lost
 * when we send a NAK for its PSN, or when the recorded requester goes back to its PSN. The target
 * then retransmits the packet, and our response waits for the retransmission. An earlier response
 * would acknowledge a packet that the target has not retransmitted yet.
 *
 * live_requester.c and cm_peer.c call these functions:
 *
 *   1. request_tracker_open()
 *   2. request_tracker_add() for each live request
 *   3. request_tracker_may_proceed() before each recorded event; then
 *      request_tracker_add_recorded() for a request, or request_tracker_add_response() for a
 *      response that was sent
 *   4. request_tracker_close()
 */
#ifndef REPLAY_LIVE_REQUEST_TRACKER_H
#define REPLAY_LIVE_REQUEST_TRACKER_H

#include "engine/rc_expected_wc.h"

struct request_tracker {
    struct requester_run *asker;
    struct expected_wc expect; /* completions that the responses sent so far must cause */
    uint32_t step;             /* current event of the recording */
    int64_t high;              /* highest PSN received */
    int64_t last;              /* PSN of the latest received request */
    int64_t reached;           /* highest PSN received since the target last went back to an
                                * earlier PSN */
    bool refused; /* PSN `reached` + 1 got a NAK, and the target has not retransmitted it yet */
    int64_t nak; /* PSN that the recorded requester must retransmit but has not yet, or INT64_MIN */
    uint32_t restarts; /* number of times that the target went back without a NAK since the last
                        * progress */
    uint32_t recorded_restarts; /* number of times that the recorded requester went back without
                                 * a NAK since the last progress */
    uint16_t *recorded;         /* for each PSN: number of transmissions by the recorded
                                 * requester */
    uint16_t *arrived;          /* for each PSN: number of transmissions by the target */
};

/* Starts to track the requests of a direction. Removes the requests that our RNIC sent in place
 * of the requester. Returns 0, or -1 if out of memory. Call request_tracker_close() in both
 * cases. */
int request_tracker_open(struct request_tracker *tracker, struct requester_run *run);
void request_tracker_close(struct request_tracker *tracker);

/* Adds a valid live request, after rewrite_to_recorded(). Returns 0, or -1 if out of memory. */
int request_tracker_add(struct request_tracker *tracker, const struct roce_pkt *pkt);

/* Adds the recorded request of an event. It must not be a duplicate made by the network. */
void request_tracker_add_recorded(struct request_tracker *tracker, uint32_t event);

/* Adds the response of an event, which was sent. */
void request_tracker_add_response(struct request_tracker *tracker, uint32_t event);

/* Returns whether an event may happen now. If the recorded requester went back to an earlier PSN,
 * the event waits until the target has gone back too. A response waits for the packet that it
 * answers, or, after a NAK, for the retransmission of that packet. */
bool request_tracker_may_proceed(const struct request_tracker *tracker, uint32_t event);

/* Returns whether the target has sent PSN `rel` or a later one. */
bool request_tracker_has_reached(const struct request_tracker *tracker, int64_t rel);

#endif
