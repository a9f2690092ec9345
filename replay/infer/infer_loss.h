/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer loss: finds in the recorded responses which NAK ended the connection, which requests found
 * no receive WQE, and which requests never reached the responder.
 */
#ifndef REPLAY_INFER_INFER_LOSS_H
#define REPLAY_INFER_INFER_LOSS_H

#include "infer/infer_setup.h"

/* Limits of reordering at a capture point. A response may be captured before its request, because a
 * capture point has separate queues for the two directions of a link. */
#define REORDER_MAX_NS      50000u
#define REORDER_MAX_PACKETS 16u

/* Longest time, ns, from a NAK to the retransmission that it causes, even by software in a busy
 * guest. A requester that retransmits later did not receive the NAK: its ACK timeout expired, by
 * default after 67 ms (code 14). */
#define NAK_OBEYED_NS 20000000u

/* Sets fatal_nak, rnr_code, rnr_naks, executed_unseen and min_response_ns of the setup, and
 * no_recv_wqe, lost and needless of each event. Call after setup->req and setup->msn were set.
 * Returns false if out of memory. */
bool infer_loss(struct inferred_setup *setup);

/* Returns whether a copy of request packet `e` was captured so soon after packet `event` that the
 * capture point may have reversed the order of the two. */
bool infer_loss_raced(const struct inferred_setup *s, const struct request_pkt *e, uint32_t event);

/* Returns the last event that may have been sent before response `event`, although it was captured
 * after the response (REORDER_MAX_NS). Returns `event` if there is no such event. The search begins
 * at `earlier`, the result for an earlier event, or 0. */
uint32_t infer_loss_race_limit(const struct inferred_setup *s, uint32_t event, uint32_t earlier);

/* Returns whether a response after event `from` shows that request `rel` was executed before the
 * requester retransmitted it at event `to`. If `before` is set, the response must precede `to`.
 * Otherwise the response may also follow `to`, if it is too soon after `to` to answer the
 * retransmission. */
bool infer_loss_is_shown(const struct inferred_setup *s, uint32_t from, uint32_t to, int64_t rel,
                         bool before);

#endif
