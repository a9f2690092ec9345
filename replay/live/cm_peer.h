/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM peer (option --cm): our RNIC replaces one recorded endpoint, and a program on the target's
 * host replaces the other. This mode is for appliances on which no agent can be installed.
 *
 * Our CM repeats the recorded CM messages with the QPNs and PSNs of this run (live_cm.h), which
 * sets up the connections. Then we send the frames of our endpoint, requests and responses, each
 * after the packet of the target that preceded it in the capture. The replay compares the target's
 * responses and its requests with the recorded ones.
 *
 * Without an agent, the replay cannot compare the completions and the memory of the target's
 * program.
 */
#ifndef REPLAY_LIVE_CM_PEER_H
#define REPLAY_LIVE_CM_PEER_H

#include "base/error.h"
#include "engine/cm/cm_exchange.h"
#include "engine/play/rc_requester.h"
#include "live/live.h"

/* Plays the capture. Before this call, call rc_responder_play() (with the callbacks that
 * live_script_watch() returns), rc_requester_play() and live_open(). After it, call
 * rc_compare_responses(), rc_compare_requests() and live_compare(). Returns 0, or -1 and an error.
 * Call cm_exchanges_free() in both cases. */
int cm_peer_play(struct live *live, struct rc_requester *requester, struct cm_exchanges *xs,
                 struct error *error);

#endif
