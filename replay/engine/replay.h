/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replay: processes one capture, from the file to the verdicts. Our RNIC replaces each recorded
 * endpoint in turn. It receives the packets of the other endpoint and must send the packets that
 * the recorded endpoint sent.
 *
 *   1. trace_read()            reads the packets and sorts them by direction  infer/trace.h
 *   2. peer_quirks_fix_icrcs() repairs the ICRCs that a known peer computes   reasons/peer_quirks.h
 *   3. connections_find()      pairs the directions as `rocedrill check` does infer/connections.h
 *   4. session_infer()         infers how the QPs and memory were set up      infer/session.h
 *   5. rc_responder_play()     plays the requests against our responder       play/rc_responder.h
 *      rc_compare_responses()  compares its responses with the recorded ones  compare/
 *   6. rc_requester_play()     posts the work requests to our requester       play/rc_requester.h
 *      rc_compare_requests()   compares its requests and completions          compare/
 *   7. dgram_receivers_play(), dgram_senders_play()   replay UC and UD        dgram/dgram_stream.h
 *   8. cm_replay()             replays the communication manager (CM)         cm/cm_replay.h
 *
 * The folders; each uses only the folders listed before it:
 *
 *   base/     differences and verdicts; injects frames, posts work requests   base/diff.h
 *   play/     our RNIC in place of a responder or requester of RC             play/rc_responder.h
 *   reasons/  reasons why a different response is not reported                reasons/rc_reasons.h
 *   compare/  compares the packets of RC                             compare/rc_compare_responses.h
 *   dgram/    plays and compares UC and UD                                    dgram/dgram_stream.h
 *   cm/       plays and compares CM exchanges                                 cm/cm_replay.h
 *
 * After step 8 the report calls diff_rule() (diff_rule.h), which names the rule of a difference.
 *
 * Steps 5 and 6 may run in two threads. The worker pool (suite/worker_pool.h) calls replay_run() or
 * live_replay() (live/live_replay.h) for each capture. From step 5 on, live_replay() uses a remote
 * device instead of our RNIC. An error means that memory ran out or that the capture cannot be
 * used. All problems found in a usable capture are verdicts.
 */
#ifndef REPLAY_ENGINE_REPLAY_H
#define REPLAY_ENGINE_REPLAY_H

#include "base/error.h"
#include "engine/cm/cm_exchange.h"
#include "engine/compare/rc_compare_requests.h"
#include "engine/compare/rc_compare_responses.h"
#include "engine/dgram/dgram_stream.h"
#include "engine/play/rc_requester.h"
#include "infer/roles.h"

struct replay_options {
    const char *quirks; /* name of a profile of known deviations, PEER_QUIRKS_AUTO
                         * (peer_quirks.h), or NULL */
    unsigned roles;     /* roles to replay, bits of enum replay_role; 0 means both roles */
    bool strict;        /* also compare fields for which the specification allows several values */
    const struct narrow *narrow; /* selected frames (capture/narrow.h); NULL: all */
    uint64_t order_effort; /* maximum number of search steps for the order of the writes to one word
                            * (infer/shared_memory.h); 0: default */
    bool memory_log;       /* fill replay.memory_log; not for live replay */
};

struct replay {
    unsigned roles;
    const char *quirks;
    struct trace trace;
    struct connections connections;
    struct session session;
    struct memory_log memory_log;
    struct response_comparison
        responses; /* responses.result is NULL if responders are not compared */
    struct rc_requester requester;
    struct request_comparison requests; /* requests.result is NULL if requesters are not compared */
    struct dgram_streams dgrams;
    struct cm_exchanges cm_exchanges;
};

/* Does steps 1 to 3 of the list at the top of this file. Returns 0, or -1 and sets *error. Call
 * replay_free() in both cases. */
int replay_open(struct replay *replay, const char *path, const struct replay_options *options,
                struct error *error);

/* Does all steps of the list at the top of this file. Returns 0, or -1 and sets *error if the
 * capture cannot be used. A capture without packets to replay has the verdict SKIPPED. Call
 * replay_free() in both cases. */
int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error);
void replay_free(struct replay *replay);

#endif
