/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM replay: our communication manager in place of each end of each CM exchange (cm_exchange.h).
 *
 * The recorded messages of the other end come in, with the communication and transaction ids of our
 * end replaced by those that our CM chose. What the recorded program did (connect, accept, reject,
 * establish, disconnect, query, reply) ours does when its recorded message is due. Each recorded
 * message of our end is compared with the one that ours sends.
 *
 * Compared: which messages come, in which order, with which fields. Not compared: when a message is
 * retransmitted (our timer fires when the recorded one has), MRAs, and what ours sends beyond the
 * recorded messages.
 */
#ifndef REPLAY_ENGINE_CM_REPLAY_H
#define REPLAY_ENGINE_CM_REPLAY_H

#include "engine/cm_exchange.h"

/* Plays and compares the active ends, the passive ends, or both. Returns 0, or -1 without memory.
 */
int cm_replay(struct cm_exchanges *xs, bool active, bool passive);

#endif
