/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replay: one capture from file to verdicts. Our RNIC takes the place of each recorded endpoint in
 * turn: it gets the packets of the other end and must send what the endpoint sent.
 *
 *   1. trace_read()            reads the packets and sorts them by direction    infer/trace.h
 *   2. peer_quirks_fix_icrcs() repairs the ICRCs that a known peer gets wrong   peer_quirks.h
 *   3. connections_find()      pairs the directions as `rocedrill check` does   infer/connections.h
 *   4. session_infer()         infers how the QPs and memory were set up        infer/session.h
 *   5. rc_responder_play()     plays the requests against our responder         rc_responder.h
 *      rc_compare_responses()  compares its responses with the recorded ones rc_compare_responses.h
 *   6. rc_requester_play()     posts the work requests to our requester         rc_requester.h
 *      rc_compare_requests()   compares its requests and completions rc_compare_requests.h
 *   7. dgram_receivers_play(), dgram_senders_play()   the same for UC and UD    dgram_stream.h
 *   8. cm_replay()             the same for the communication manager           cm_exchange.h
 *
 * Steps 5 and 6 may run in two threads. The worker pool (suite/worker_pool.h) calls replay_run()
 * for each capture, or live_replay() (live/live_replay.h), which replaces our RNIC by a remote
 * device from step 5 on. Errors are memory and captures that cannot be used; everything found in a
 * capture is a verdict.
 */
#ifndef REPLAY_ENGINE_REPLAY_H
#define REPLAY_ENGINE_REPLAY_H

#include "base/error.h"
#include "engine/cm_exchange.h"
#include "engine/dgram_stream.h"
#include "engine/rc_compare_requests.h"
#include "engine/rc_compare_responses.h"
#include "engine/rc_requester.h"
#include "infer/roles.h"

struct replay_options {
    const char *quirks;              /* name of a profile of peer_quirks.h, or NULL */
    unsigned roles;                  /* of enum replay_role; 0 is both */
    bool strict;                     /* also compare what the specification leaves free */
    struct setup_override *override; /* values that are not inferred, or NULL; not when live */
    bool memory_log;                 /* fill replay.memory_log; not when live */
};

struct replay {
    unsigned roles;
    const char *quirks;
    struct trace trace;
    struct connections connections;
    struct session session;
    struct memory_log memory_log;
    struct response_comparison responses; /* result is NULL if responders are not compared */
    struct rc_requester requester;
    struct request_comparison requests; /* result is NULL if requesters are not compared */
    struct dgram_streams dgrams;
    struct cm_exchanges cm_exchanges;
};

/* Steps 1 to 3. Returns 0, or -1 and an error. Call replay_free() in both cases. */
int replay_open(struct replay *replay, const char *path, const struct replay_options *options,
                struct error *error);

/* All events. Returns 0, or -1 and an error if the capture cannot be used; a capture with nothing
 * to replay gets the verdict SKIPPED. Call replay_free() in both cases. */
int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error);
void replay_free(struct replay *replay);

#endif
