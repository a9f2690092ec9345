/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live ear: what the target sends as the requester of one connection, beside what the recorded
 * requester had sent by then.
 */
#ifndef REPLAY_LIVE_EAR_H
#define REPLAY_LIVE_EAR_H

#include "post.h"

struct live_ear {
    struct asker *asker;
    uint32_t step;      /* of the side, at which we are */
    int64_t high;       /* highest PSN that came */
    uint16_t *recorded; /* for each PSN: how often the recorded requester had sent it by now */
    uint16_t *came;     /* ... and how often the target has */
};

/* Forgets what our RNIC did in the asker's place. 0, or -1 without memory; live_ear_close() is
 * wanted in both cases. */
int live_ear_open(struct live_ear *ear, struct asker *asker);
void live_ear_close(struct live_ear *ear);

/* A live request of this connection, whole and undamaged, with the numbers of the capture
 * (rebind_in()). 0, or -1 without memory. */
int live_ear_take(struct live_ear *ear, const struct roce_pkt *pkt);

/* The recorded requester has sent the request of step `step`, which is no wire's duplicate. */
void live_ear_recorded(struct live_ear *ear, uint32_t step);

/* Whether PSN `rel` has come so often; `times` 0: whether it or a later one has come at all. */
bool live_ear_has(const struct live_ear *ear, int64_t rel, unsigned times);

#endif
