/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Implied NAKs: READs and atomics that were not answered while a later request was (R139). The
 * requester goes back for the first of them and sends all from there again. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_IMPLIED_NAK_H
#define FLOW_RETRANSMIT_IMPLIED_NAK_H

#include "flow/base/state.h"

/* Notes that READ or atomic `e` has to be sent again: a later request was answered. */
void roce_implied_nak(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);

/* The response at hand acknowledges all before `upto`: a READ or atomic that was sent again may be
 * passed over once more. */
void roce_implied_nak_again(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto);

/* The requester goes back no further than `psn`: it has the answers to the READs before it. `sure`:
 * also where the capture lacks packets. */
void roce_reads_done_before(struct roce_ctx *ctx, uint32_t psn, bool sure);

/* Counts READ `e` as done: the requester had its answer at some time. */
void roce_read_done(struct roce_ctx *ctx, struct roce_endpoint *requester,
                    struct roce_sent_packet *e);

/* Counts the READs at the end of the connection as done whose responses came in another order and
 * that were not sent again. */
void roce_reads_done_at_end(struct roce_ctx *ctx, struct roce_endpoint *requester);

/* Returns whether the response at hand answers an earlier transmission of `e`: the requester
 * discards it. */
bool roce_response_is_stale(const struct roce_req *req, const struct roce_sent_packet *e);

#endif
