/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Request tracker: counts the requests that a live requester sends on one connection, and those
 * that the recorded requester sent up to the current event of the capture.
 *
 * A packet that was lost in the capture may arrive in the live run. The tracker treats this packet
 * as lost when we send a NAK for its PSN, or when the recorded requester retransmits from its PSN.
 * The target then retransmits the packet, and our response waits for the retransmission. If we
 * responded earlier, we would acknowledge a packet that the target has not retransmitted yet.
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

#include "engine/play/rc_expected_wc.h"

struct request_tracker {
    struct requester_run *asker;
    struct expected_wc expect; /* completions that the responses already sent must cause */
    uint32_t step;             /* index of the current event of the capture */
    int64_t high;              /* highest relative PSN received */
    int64_t last;              /* last relative PSN of the request that was received last */
    /* Usually equal to `last`. After we sent a NAK, the PSN before the NAKed PSN, until the target
     * retransmits the NAKed PSN. */
    int64_t reached;
    /* We sent a NAK for PSN `reached` + 1, and the target has not retransmitted it yet. */
    bool refused;
    /* Relative PSN of the latest RNR NAK or sequence NAK that we sent. INT64_MIN if we sent none,
     * or if the recorded requester retransmitted this PSN before the current event. */
    int64_t nak;
    /* Number of times that the target went back (retransmitted from an earlier PSN) without a NAK
     * since we last sent a response that acknowledges a new PSN. */
    uint32_t restarts;
    /* Number of times that the recorded requester went back without a NAK since we last sent a
     * response that acknowledges a new PSN. */
    uint32_t recorded_restarts;
    uint16_t *recorded; /* for each PSN: number of transmissions by the recorded
                         * requester */
    uint16_t *arrived;  /* for each PSN: number of transmissions by the target */
};

/* Starts to track the requests of a direction. Removes the requests that our RNIC sent when it
 * simulated the requester. Returns 0, or -1 if out of memory. Call request_tracker_close() in both
 * cases. */
int request_tracker_open(struct request_tracker *tracker, struct requester_run *run);
void request_tracker_close(struct request_tracker *tracker);

/* Adds a valid live request. rewrite_to_recorded() must have replaced its live DestQP and PSN.
 * Returns 0, or -1 if out of memory. */
int request_tracker_add(struct request_tracker *tracker, const struct roce_pkt *pkt);

/* Adds the recorded request with index `event` in setup.event. Do not call it for a duplicate made
 * by the network. */
void request_tracker_add_recorded(struct request_tracker *tracker, uint32_t event);

/* Adds the response with index `event` in setup.event, after we sent it to the target. */
void request_tracker_add_response(struct request_tracker *tracker, uint32_t event);

/* Returns whether the target has sent the requests for which the replay must wait before it plays
 * event `event` of setup.event. Before a response, the replay waits for the request that the
 * response answers, or for its retransmission after we sent a NAK. Before a request with which the
 * recorded requester went back to an earlier PSN, the replay waits until the target has gone back,
 * too. Before any other request, the replay does not wait. */
bool request_tracker_may_proceed(const struct request_tracker *tracker, uint32_t event);

/* Returns whether the target has sent PSN `rel` or a later one. */
bool request_tracker_has_reached(const struct request_tracker *tracker, int64_t rel);

#endif
