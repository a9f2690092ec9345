/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Cause of a go-back: a sequence NAK, an RNR NAK, a missing response or the ACK timeout. Called by
 * retransmission.c when a requester sends an earlier PSN again. Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_GO_BACK_CAUSE_H
#define FLOW_RETRANSMIT_GO_BACK_CAUSE_H

#include "flow/base/state.h"

/* Returns the silence before the current packet, ns: the time since the previous packet of the
 * requester or of its responder. `e` is the request that the current packet retransmits, or NULL.
 * The silence begins no earlier than the latest transmission of `e`. */
uint64_t roce_silence(const struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Returns the shortest time without packets (silence) that shows a timeout, ns: three quarters of
 * the agreed timeout. If the agreed timeout is unknown, uses the shortest timeout measured so far
 * instead, or USUAL_TIMEOUT_NS if none was measured. */
uint64_t roce_shown_timeout(const struct roce_ctx *ctx);

/* Counts the reaction time of the requester to a sequence NAK: the retransmission began `ns` after
 * the NAK. */
void roce_count_reaction(struct roce_cold_counters *sum, uint64_t ns);

/* Returns whether only the requester's timer can have caused the current retransmission, because no
 * packet was captured for `idle` ns before. This time must be far longer than the usual reaction to
 * a NAK, and far longer than a slow round trip: `permille` of 1000 round trips are not longer than
 * the slow one. Returns false if no round-trip time was measured. */
bool roce_is_far_above_rtt(const struct roce_ctx *ctx, uint64_t idle, unsigned permille);

/* Returns why the requester went back to `psn`, after it had sent nothing for `idle` ns. `e` is the
 * earlier transmission of the request with this PSN, or NULL. Sets *trigger to the frame number of
 * the packet that caused the go-back, or to 0. Returns ROCE_CAUSE_UNKNOWN if the capture does not
 * show the cause. */
enum roce_cause roce_go_back_cause(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                   uint32_t psn, uint64_t idle, uint32_t *trigger);

#endif
