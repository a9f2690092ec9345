/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP reuse: two QP numbers are used again for a new connection. CM messages announce the reuse.
 * Without CM messages, the signs of a reuse are an idle time, a PSN out of sequence, or a request
 * that differs from the earlier request with the same PSN. A retransmission or a fault may
 * cause the same signs. Algorithm:
 *
 * 1. At one of these signs, roce_reuse_suspect() opens a candidate, a possible reuse (enum
 *    roce_reuse_kind).
 * 2. While the candidate is open, ERROR findings are deferred (roce_finding_defer()).
 * 3. Later packets decide whether the QP was reused (roce_reuse_on_request(), roce_reuse_compare(),
 *    roce_reuse_on_response()):
 *    - The MSN counts from 0 in a new connection (R102). If the MSN continues from the previous
 *      one, the QP was not reused. If the MSN counts only the messages since the sign, the QP was
 *      reused.
 *    - If the requester repeats earlier requests and then continues, the QP was not reused: the
 *      requester retransmitted.
 *    - If the peer's requester began a new connection, the QP was reused.
 * 4. If the connection ends before a decision (roce_reuse_end()): one packet that differs is a
 *    fault, so the QP was not reused. If more packets differ, or if packets are missing in the
 *    capture, the question stays open.
 * 5. If the QP was not reused, the deferred findings are reported as ERROR. If it was reused, or
 *    the question stays open, they are reported as WARN.
 *
 * Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_QP_REUSE_H
#define FLOW_TABLE_QP_REUSE_H

#include "flow/base/state.h"

/* Opens a reuse candidate (a possible QP reuse) for the requester `side`. If the QP was reused, the
 * first PSN of the new connection is `psn`. Returns true, or false if no candidate was opened: CM
 * messages would announce a reuse, a candidate is already open, or memory is exhausted. */
bool roce_reuse_suspect(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_reuse_kind kind,
                        uint32_t psn);

/* Suspects a reuse of the sender's QP if the sender's UDP source port has changed. The current
 * packet then may belong to a new connection of the same QP. */
void roce_reuse_on_new_port(struct roce_ctx *ctx);

/* If the MSN of the current response to `side` is below the number of completed messages, a reuse
 * of the QP of `side` is suspected from now on: the response may belong to a new connection of the
 * same QP. `ends` is the number of messages that ended since the previous response. */
void roce_reuse_on_low_msn(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t ends);

/* Handles the current request while a reuse of its sender's QP is suspected. The request has
 * `psn_cnt` PSNs, or, if `guess` is true, at least `psn_cnt`. */
void roce_reuse_on_request(struct roce_ctx *ctx, uint32_t psn, uint32_t psn_cnt, bool guess);

/* Compares the current request `now` with `e`, an earlier request with the same PSN. If they
 * differ, a reuse of the QP is suspected from now on. While a reuse is suspected, counts `now` as
 * equal to `e` or as different. */
void roce_reuse_compare(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                        const struct roce_sent_packet *now);

/* If a reuse of the sender's QP is suspected, counts one more sign of the reuse: the current
 * request differs from the earlier request with the same PSN, or its opcode does not fit its
 * neighbours in PSN order. */
void roce_reuse_on_mismatch(struct roce_ctx *ctx);

/* Handles a response with an AETH to a request of `side`, while a reuse of the QP of `side` is
 * suspected. The MSN may confirm or refute the reuse. */
void roce_reuse_on_response(struct roce_ctx *ctx, struct roce_endpoint *side);

/* At the end of ctx->conn, decides about suspected reuses of its QPs, and reports the findings
 * deferred because of them. */
void roce_reuse_end(struct roce_ctx *ctx);

/* Maximum number of PSNs between the first PSN of a new connection on the QP and the PSN of its
 * first captured packet, if the capture lacks packets. */
#define ROCE_START_PSNS 64u

/* The functions from here to roce_requester_restart() use ctx->sender as the requester. */

/* Returns whether the requester was idle long enough for a reuse of its QP. */
static inline bool roce_qp_was_idle(const struct roce_ctx *ctx)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->last_time && roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS;
}

/* Returns whether one of the two QPs sent a fatal NAK. A fatal NAK ends the connection of the two
 * QPs. */
bool roce_qp_was_refused(const struct roce_ctx *ctx);

/* Returns whether the QPs may be reused for another connection without captured CM messages: the
 * present connection has no CM messages either, and is not UC. */
bool roce_reuse_is_unannounced(const struct roce_ctx *ctx);

/* Returns whether the QPs may be reused without captured CM messages, and the packets that would
 * show the reuse may be missing in the capture. */
bool roce_qp_may_be_reused(const struct roce_ctx *ctx);

/* Returns whether a new connection on the QP may start at `psn`: the present connection started at
 * this PSN, or, if the capture lacks packets, shortly before it. */
bool roce_psn_may_start_use(const struct roce_ctx *ctx, uint32_t psn);

/* Returns whether the current request `now` probably differs from `e`, an earlier request with the
 * same PSN, because the QP was reused. The signs are an idle time, a fatal NAK, or a requester that
 * begins at its first PSN again although `e` was acknowledged (`acked`). */
bool roce_request_shows_reuse(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now, bool acked);

/* Initializes the requester of ctx->sender. `psn` is its first captured PSN. */
void roce_requester_start(struct roce_ctx *ctx, uint32_t psn);

/* Initializes the requester again, with `psn` as its first PSN. `reuse` is true if the QP was
 * reused, and false if so many packets are missing in the capture that the requester cannot be
 * followed. */
void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse);

#endif
