/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Evidence: what the recorded responses say happened at the responder: which NAK ended the
 * connection, which requests found no receive WQE, and which never arrived.
 */
#ifndef REPLAY_INFER_INFER_LOSS_H
#define REPLAY_INFER_INFER_LOSS_H

#include "infer/infer_setup.h"

/* A response may have been captured before its request: two directions, two queues. Longer than
 * this or further than so many packets no capture point turns them round. */
#define REORDER_MAX_NS      50000u
#define REORDER_MAX_PACKETS 16u

/* Fills in setup.refused, .rnr_code, .rnr_naks, .ahead, .quickest; step.no_recv and .lost. Entries
 * and MSN base must be there. False without memory. */
bool infer_loss(struct inferred_setup *setup);

#endif
