/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM peer: we are one recorded endpoint, and a program on the target's host is the other (--cm). It
 * serves appliances on which no agent can be installed.
 *
 * The recorded CM messages set the connections up with live numbers (live_cm.h). Then the frames of
 * our endpoint are sent, requests and responses, each after the packet that it followed in the
 * capture. The target's responses and requests are judged as those of a responder and a requester.
 *
 * The completions and the memory of the target's program cannot be seen. Only its packets are
 * judged.
 */
#ifndef REPLAY_LIVE_CM_PEER_H
#define REPLAY_LIVE_CM_PEER_H

#include "base/error.h"
#include "engine/cm_exchange.h"
#include "live/live.h"
#include "engine/rc_requester.h"

/* Plays the capture after rc_responder_play() with the script's watch, rc_requester_play() and
 * live_open(). rc_compare_responses(), rc_compare_requests() and live_compare() come next.
 * Returns 0, or -1 and an error; cm_exchanges_free() is needed in both cases. */
int cm_peer_play(struct live *live, struct rc_requester *requester, struct cm_exchanges *xs,
                 struct error *error);

#endif
