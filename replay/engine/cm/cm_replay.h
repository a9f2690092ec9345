/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM replay: replaces each end of each CM exchange by our communication manager. engine/replay.c
 * calls, in this order:
 *
 *   1. cm_exchanges_find()   finds the exchanges and their messages           cm_exchange.h
 *   2. cm_replay()           replays both ends of each exchange and compares them
 *
 * Our CM receives the recorded messages of the other end. In these messages, our CM's communication
 * and transaction ids replace the recorded ones. Our CM connects, accepts, rejects, establishes,
 * disconnects, queries or replies at the time of the recorded message. Each recorded message of the
 * replaced end is compared with the message that our CM sends.
 *
 * Compared: which messages are sent, in which order, with which fields. Not compared: the times of
 * retransmissions, MRAs, and messages that only our CM sends. A timer of our CM fires only when the
 * recorded CM retransmitted.
 *
 * struct cm_exchanges owns the exchanges, their results and differences. The only error is that
 * memory runs out.
 */
#ifndef REPLAY_ENGINE_CM_CM_REPLAY_H
#define REPLAY_ENGINE_CM_CM_REPLAY_H

#include "engine/cm/cm_exchange.h"

/* Callbacks for the actions of one end, called in the order of the actions. With these callbacks, a
 * caller can repeat the actions on another device. Each callback returns 0, or -1 if out of
 * memory. */
struct cm_replay_watch {
    void *ctx;
    int (*receive)(void *ctx, uint32_t pkt); /* the end receives this packet of the trace */
    int (*act)(void *ctx, uint32_t pkt);     /* the end's program makes the CM send the message
                                              * in packet `pkt` */
    int (*timer)(void *ctx);                 /* a timer of the CM fires */
};

/* Replays and compares one end of exchange `idx`. `watch` may be NULL. Returns 0, or -1 if out of
 * memory. */
int cm_replay_end(struct cm_exchanges *xs, uint32_t idx, enum cm_role role,
                  const struct cm_replay_watch *watch);

/* Replays and compares the active ends, the passive ends, or both. Returns 0, or -1 if out of
 * memory. */
int cm_replay(struct cm_exchanges *xs, bool active, bool passive);

#endif
