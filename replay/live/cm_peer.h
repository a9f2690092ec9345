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

#include "engine/cm_exchange.h"
#include "live/live.h"
#include "engine/rc_requester.h"

/* After drive_all() with the script's watch, post_all() and live_open(); compare_all(),
 * verify_all() and live_compare() come next. 0, or -1 and an error; exchanges_free() is wanted in
 * both cases. */
int cm_peer_play(struct live *live, struct post *post, struct exchanges *exchanges,
                 struct error *error);

#endif
