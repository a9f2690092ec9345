/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live peer: we are one recorded end, a program on the far host is the other. The connection
 * manager's recorded messages set the connections up, with live numbers (live_cm.h); then what our
 * end sent goes out, requests and answers alike, each after what it followed in the capture, and
 * what the far end sends is judged as a responder's answers and a requester's requests are.
 *
 * Nobody tells what the far program's completions and memory are: what it does next shows it.
 */
#ifndef REPLAY_LIVE_CM_PEER_H
#define REPLAY_LIVE_CM_PEER_H

#include "base/error.h"
#include "engine/cm_exchange.h"
#include "live/live.h"
#include "engine/rc_requester.h"

/* After rc_responder_play() with the script's watch, rc_requester_play() and live_open();
 * rc_compare_responses(), rc_compare_requests() and live_compare() come next. 0, or -1 and an
 * error; cm_exchanges_free() is wanted in both cases. */
int cm_peer_play(struct live *live, struct rc_requester *requester, struct cm_exchanges *xs,
                 struct error *error);

#endif
