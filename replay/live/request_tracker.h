/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live ear: what the target sends as the requester of one connection, beside what the recorded
 * requester had sent by then.
 *
 * The recorded responder had not got what the recorded wire lost, and the target's may all come. So
 * what came is as good as lost once we say NAK, or once the recorded requester goes back: the
 * target sends it again, and an answer to it waits for that. One that overtakes it is an answer to
 * what nobody has sent.
 */
#ifndef REPLAY_LIVE_REQUEST_TRACKER_H
#define REPLAY_LIVE_REQUEST_TRACKER_H

#include "engine/rc_expected_wc.h"

struct request_tracker {
    struct requester_run *asker;
    struct expected_wc expect; /* of the answers that went out */
    uint32_t step;             /* of the side, at which we are */
    int64_t high;              /* highest PSN that came */
    int64_t last;              /* the one that came last */
    int64_t reached;           /* highest one since the target went back */
    bool refused;              /* by a NAK of `reached` + 1, and the target has not gone back yet */
    int64_t
        nak; /* PSN that the recorded requester was to send again and has not yet, or INT64_MIN */
    uint32_t restarts; /* how often the target has by itself, since an answer brought it on */
    uint32_t recorded_restarts; /* ... and the recorded requester by now */
    uint16_t *recorded; /* for each PSN: how often the recorded requester had sent it by now */
    uint16_t *arrived;  /* ... and how often the target has */
};

/* Forgets what our RNIC did in the asker's place. 0, or -1 without memory; request_tracker_close()
 * is wanted in both cases. */
int request_tracker_open(struct request_tracker *tracker, struct requester_run *run);
void request_tracker_close(struct request_tracker *tracker);

/* A live request of this connection, whole and undamaged, with the numbers of the capture
 * (rewrite_to_recorded()). 0, or -1 without memory. */
int request_tracker_add(struct request_tracker *tracker, const struct roce_pkt *pkt);

/* The recorded requester has sent the request of step `step`, which is no wire's duplicate. */
void request_tracker_add_recorded(struct request_tracker *tracker, uint32_t event);

/* The answer of step `step` has gone out. */
void request_tracker_add_response(struct request_tracker *tracker, uint32_t event);

/* Whether step `step` may be: a request that the recorded requester went back to, once the target
 * has gone back as well; an answer, once what it answers has come, again if it was refused. */
bool request_tracker_may_proceed(const struct request_tracker *tracker, uint32_t event);

/* Whether PSN `rel` or a later one has come at all. */
bool request_tracker_has_reached(const struct request_tracker *tracker, int64_t rel);

#endif
