/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replay: one capture from file to findings. The parts are in the order of the work: trace (read),
 * conn (find connections), derive and drive (play its requesters against our RNIC), compare; work
 * and post (play its responders against our RNIC), verify; stream, with receive and transmit, for
 * the services without answers; exchange for the communication manager.
 */
#ifndef REPLAY_ENGINE_REPLAY_H
#define REPLAY_ENGINE_REPLAY_H

#include "base/error.h"
#include "engine/rc_compare_responses.h"
#include "engine/cm_exchange.h"
#include "engine/rc_requester.h"
#include "infer/roles.h"
#include "engine/dgram_stream.h"
#include "engine/rc_compare_requests.h"

struct live_options;

struct replay_options {
    const char *quirks;              /* profile whose deviations are known, or NULL */
    unsigned roles;                  /* of enum replay_side; 0 is both */
    bool strict;                     /* what is free otherwise must be equal too: strict.h */
    const struct live_options *live; /* the target, one side; NULL: our own RNIC */
    struct setup_override *override; /* what is not to be derived, or NULL; not with `live` */
    bool memory_log;                 /* replay.stores is wanted; not with `live` */
};

struct replay {
    unsigned roles;
    const char *quirks;
    struct trace trace;
    struct connections connections;
    struct session session;
    struct memory_log memory_log;
    struct response_comparison
        responses; /* of the responders; result is NULL if they are not asked for */
    struct rc_requester requester;
    struct request_comparison requests; /* of the requesters; the same */
    struct dgram_streams dgrams;        /* UC and UD, both ends */
    struct cm_exchanges cm_exchanges;   /* of the communication manager, both ends */
};

/* 0, or -1 and an error for a capture that cannot be used. Nothing to replay in it is not an error
 * but the verdict SKIPPED. replay_free() is wanted in both cases. */
int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error);
void replay_free(struct replay *replay);

#endif
