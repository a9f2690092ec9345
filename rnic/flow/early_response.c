/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/early_response.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/retransmit/sent_packet.h"

/* Counts the message that ends with request packet `e` of the sender as completed. */
static void complete_early(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    struct roce_req *req = &ctx->sender->req;
    bool answered = roce_opcode_is_answered(roce_opcode(e->op));
    struct roce_oper_count *sum =
        roce_oper_cnt(ctx->flow, ctx->sender, roce_oper_of(roce_opcode(e->op)));
    uint64_t bytes = answered ? e->dma_len : roce_req_message_bytes(req, e);

    sum->completed++;
    sum->bytes += bytes;
    e->flags |= answered ? ROCE_SENT_DONE : 0;
    roce_report_done(ctx, ctx->sender, e, bytes, ROCE_NEVER_NS);
}

void roce_early_response(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    uint32_t cnt = (uint32_t)roce_diff(req->una, e->psn);
    uint64_t ns = UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - rsp->last_us);

    cold->behind_responses++;
    if (ns > cold->behind_ns)
        cold->behind_ns = ns;
    if (cnt >= e->psn_cnt) {
        if (roce_opcode_is_answered(roce_opcode(e->op)) ? e->dma_len != ROCE_LEN_UNKNOWN
                                                        : e->flags & ROCE_SENT_ENDS)
            complete_early(ctx, e);
        req->part = e->flags & ROCE_SENT_ENDS
                        ? 0
                        : (roce_opcode_starts(roce_opcode(e->op)) ? 0 : req->part) + e->len;
        return;
    }
    /* The first `cnt` responses to this READ were captured before it. */
    e->resp_next = e->resp_high = cnt;
    e->resp_seen = cnt << ROCE_RESP_SEEN_BITS;
    e->resp_cnt = cnt;
    e->marks |= ROCE_MARK_UNTIMED;
    rsp->read_known = true;
    rsp->read_nxt = rsp->read_high = req->una;
}
