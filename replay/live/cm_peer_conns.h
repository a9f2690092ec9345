/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live ends: the connections of a capture that can be played with a far program, as one end of
 * them: which exchange of the connection manager set each up, which runs of the drive are its two
 * directions, and whether the capture shows how the keys of the far memory are told.
 */
#ifndef REPLAY_LIVE_CM_PEER_CONNS_H
#define REPLAY_LIVE_CM_PEER_CONNS_H

#include "live/live_cm.h"
#include "live/request_tracker.h"
#include "engine/rc_requester.h"

#define LIVE_RUN_NONE UINT32_MAX

/* One connection: an exchange and the two directions of it. */
struct live_end {
    uint32_t out, in;    /* runs in which we request, and in which the far end does; or NONE */
    struct live_ear ear; /* of `in` */
    int64_t wanted;      /* the highest PSN that the recorded far end had sent by now */
    unsigned misses;     /* requests that did not come in time */
};

struct live_ends {
    struct live *live;
    struct post *post;
    struct live_cm *cm;
    struct live_end *end; /* of cm.link */
    uint32_t *link_of;    /* of drive.run; LIVE_RUN_NONE */
    bool **told;          /* of drive.device, memory.region: its live key is known */
};

/* Chooses what is played; the reason of each other run and exchange is set. 0, or -1 without
 * memory. live_ends_close() is wanted in both cases. */
int live_ends_open(struct live_ends *ends, struct live *live, struct post *post,
                   struct live_cm *cm);
void live_ends_close(struct live_ends *ends);

/* What the far end told in `len` bytes of one of its packets, see live_keys_learn(). */
void live_ends_learn(struct live_ends *ends, uint32_t link, const uint8_t *recorded, uint8_t *live,
                     size_t len);

/* The connection is up: its runs get their live numbers. Nothing if it is not. */
void live_ends_bind(struct live_ends *ends, uint32_t link);

/* What was never set up has nobody's answers: it gets its reason. */
void live_ends_leave_out(struct live_ends *ends);

#endif
