/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RC play: our RNIC takes the place of each recorded RC endpoint and receives the packets of the
 * other endpoint. engine/replay.c calls the functions of both steps, and live/ and sim/ use the
 * other headers of this folder. compare/ compares the results.
 *
 *   1. rc_responder_play() replays the recorded requests and keeps the responses of our RNICs:
 *        rc_responder_dev.h      creates one RNIC for each responder address
 *        rc_responder_app.h      repeats the actions of the recorded responder's program
 *   2. rc_requester_play() (rc_requester.h) posts the recorded work requests, replays the recorded
 *      responses, and keeps the requests and completions of our RNICs:
 *        rc_restarts.h           finds where the recorded requester went back to an earlier PSN
 *        rc_missing_responses.h  finds responses that the requester received but the capture lacks
 *        rc_expected_wc.h        computes which work requests the recorded responses complete
 *
 * Neither step uses results of the other, so they may run in two threads. The session owns the
 * responses of step 1, and struct rc_requester the results of step 2. An error means that memory
 * ran out, or that the requests access more memory than a replay can simulate. A direction that
 * cannot be replayed is not an error: its member `failed` has the reason.
 *
 * RC responder: replays the recorded requests to software RNICs that replace the recorded
 * responders, and keeps the responses. Each request is injected unchanged, at its capture time.
 *
 * Each responder address becomes one RNIC with all QPs that the capture shows there, because
 * these QPs share memory (rc_responder_dev.h). Before each request, the replay repeats the
 * actions that the recorded responder's program must have done by then (rc_responder_app.h).
 * These actions post a receive WQE, store bytes or invalidate an R_Key. Requests of several
 * connections that change the same memory are replayed in an order that fits all recorded
 * responses (infer/shared_memory.h).
 */
#ifndef REPLAY_ENGINE_PLAY_RC_RESPONDER_H
#define REPLAY_ENGINE_PLAY_RC_RESPONDER_H

#include "base/error.h"
#include "infer/session.h"

/* Replays the requests of all directions of a session. Returns 0, or -1 and sets *error. */
int rc_responder_play(struct session *session, struct error *error);

#endif
