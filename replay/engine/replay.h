/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replay: one capture from file to findings. The parts are in the order of the work: trace (read),
 * conn (find connections), derive and drive (play its requesters against our RNIC), compare; work
 * and post (play its responders against our RNIC), verify; stream, with receive and transmit, for
 * the services without answers; exchange for the communication manager.
 */
#ifndef REPLAY_ENGINE_REPLAY_H
#define REPLAY_ENGINE_REPLAY_H

#include "engine/rc_compare_responses.h"
#include "engine/cm_exchange.h"
#include "engine/rc_requester.h"
#include "infer/roles.h"
#include "engine/dgram_stream.h"
#include "engine/rc_compare_requests.h"

struct live_options;

struct replay_options {
    const char *peer;                /* profile whose deviations are known, or NULL */
    unsigned sides;                  /* of enum replay_side; 0 is both */
    bool strict;                     /* what is free otherwise must be equal too: strict.h */
    const struct live_options *live; /* the target, one side; NULL: our own RNIC */
    struct given *given;             /* what is not to be derived, or NULL; not with `live` */
    bool stores;                     /* replay.stores is wanted; not with `live` */
};

struct replay {
    unsigned sides;
    const char *peer;
    struct trace trace;
    struct conns conns;
    struct drive drive;
    struct stores stores;
    struct comparison comparison; /* of the responders; result is NULL if they are not asked for */
    struct post post;
    struct verification verification; /* of the requesters; the same */
    struct streams streams;           /* UC and UD, both ends */
    struct exchanges exchanges;       /* of the communication manager, both ends */
};

/* 0, or -1 and an error for a capture that cannot be used. Nothing to replay in it is not an error
 * but the verdict SKIPPED. replay_free() is wanted in both cases. */
int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error);
void replay_free(struct replay *replay);

#endif
