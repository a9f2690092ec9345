/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RC responder: plays the recorded requests, byte for byte and at the times of the capture, into
 * software RNICs in place of the recorded responders, and keeps the responses.
 *
 * Each responder address is one RNIC with all QPs that the capture shows there, because they share
 * memory (rc_responder_dev.h). Before a request is played, the RNIC's program does what the
 * recorded program must have done by then: it posts a receive WQE, stores bytes or invalidates an
 * R_Key (rc_responder_app.h). Requests of several connections that change the same memory are
 * played in an order that fits all recorded responses (infer/shared_memory.h).
 */
#ifndef REPLAY_ENGINE_RC_RESPONDER_H
#define REPLAY_ENGINE_RC_RESPONDER_H

#include "base/error.h"
#include "infer/session.h"

/* Plays all directions of a session. Returns 0, or -1 and an error. */
int rc_responder_play(struct session *session, struct error *error);

#endif
