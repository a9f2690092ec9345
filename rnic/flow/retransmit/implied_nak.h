/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Implied NAK: a READ or atomic was not answered, but a later request was (R139). The requester
 * retransmits from the first unanswered READ or atomic on. Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_IMPLIED_NAK_H
#define FLOW_RETRANSMIT_IMPLIED_NAK_H

#include "flow/base/state.h"

/* Records that the requester has to retransmit READ or atomic `e`, because a later request was
 * answered. */
void roce_implied_nak(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);

/* Detects a repeated implied NAK. The current response acknowledges all PSNs before `upto`. If a
 * READ or atomic before `upto` was already retransmitted and is still unanswered, this is another
 * implied NAK. */
void roce_implied_nak_again(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto);

/* Counts the READs before `psn` as completed, because the requester went back only to `psn`. If
 * `sure` is false, packets may be missing in the capture. Then counts a READ only if its last
 * response was captured. */
void roce_reads_done_before(struct roce_ctx *ctx, uint32_t psn, bool sure);

/* Counts READ `e` of `requester` as completed. */
void roce_read_done(struct roce_ctx *ctx, struct roce_endpoint *requester,
                    struct roce_sent_packet *e);

/* At the end of the connection, counts a READ as completed if all its responses were captured,
 * although out of order, and the requester did not retransmit it. */
void roce_reads_done_at_end(struct roce_ctx *ctx, struct roce_endpoint *requester);

/* Returns whether the current response answers an earlier transmission of `e`. The requester then
 * discards the response, because it has retransmitted `e` since. */
bool roce_response_is_stale(const struct roce_req *req, const struct roce_sent_packet *e);

#endif
