/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
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
#ifndef REPLAY_ENGINE_RC_RESPONDER_H
#define REPLAY_ENGINE_RC_RESPONDER_H

#include "base/error.h"
#include "infer/session.h"

/* Replays the requests of all directions of a session. Returns 0, or -1 and sets *error. */
int rc_responder_play(struct session *session, struct error *error);

#endif
