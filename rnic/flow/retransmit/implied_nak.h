/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Implied NAKs: a READ or atomic that was not answered while a later request was (R139). The
 * requester goes back to the first such READ or atomic and retransmits from there. Private to
 * flow/.
 */
#ifndef FLOW_RETRANSMIT_IMPLIED_NAK_H
#define FLOW_RETRANSMIT_IMPLIED_NAK_H

#include "flow/base/state.h"

/* Records that the requester has to retransmit READ or atomic `e`, because a later request was
 * answered. */
void roce_implied_nak(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);

/* Detects another implied NAK. The current response acknowledges all PSNs before `upto`: a
 * retransmitted READ or atomic may be unanswered again. */
void roce_implied_nak_again(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto);

/* Marks READs before `psn` as answered, because a go-back to `psn` skipped them. `sure`: also do so
 * where packets are missing in the capture. */
void roce_reads_done_before(struct roce_ctx *ctx, uint32_t psn, bool sure);

/* Counts READ `e` as completed. */
void roce_read_done(struct roce_ctx *ctx, struct roce_endpoint *requester,
                    struct roce_sent_packet *e);

/* Counts READs as completed at the end of the connection if their responses arrived out of order
 * and the requester did not retransmit. */
void roce_reads_done_at_end(struct roce_ctx *ctx, struct roce_endpoint *requester);

/* Returns whether the current response answers an earlier transmission of `e`, so that the
 * requester discards the response. */
bool roce_response_is_stale(const struct roce_req *req, const struct roce_sent_packet *e);

#endif
