/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/qp_life.h"

#include "flow/table/qp_reuse.h"

bool roce_qp_was_refused(const struct roce_ctx *ctx)
{
    return roce_peer(ctx->sender)->rsp.fatal || ctx->sender->rsp.fatal;
}

bool roce_reuse_is_unannounced(const struct roce_ctx *ctx)
{
    return !roce_conn_cm_seen(ctx->conn) && ctx->conn->facts.svc != ROCE_SVC_UC;
}

#define ROUND_NS UINT64_C(300000000) /* the PSNs do not come round in less */

/* The capture lacks packets: a first PSN may be one of them. */
static bool capture_has_gaps(const struct roce_ctx *ctx)
{
    const uint64_t *rules = ctx->flow->totals.rules;

    return rules[ROCE_RULE_PSN_GAP] || rules[ROCE_RULE_ACK_UNSEEN] ||
           rules[ROCE_RULE_IMPLIED_NAK] || rules[ROCE_RULE_READ_RESP_GAP] ||
           rules[ROCE_RULE_MSN_TOO_HIGH];
}

bool roce_qp_may_be_reused(const struct roce_ctx *ctx)
{
    return roce_reuse_is_unannounced(ctx) && capture_has_gaps(ctx);
}

bool roce_psn_may_start_use(const struct roce_ctx *ctx, uint32_t psn)
{
    uint32_t off = (psn - ctx->sender->req.base) & ROCE_PSN_MASK;

    return off == 0 || (off < ROCE_START_PSNS && capture_has_gaps(ctx));
}

/* All from the first PSN on comes again, up to the packet at hand. */
static bool is_repeat_from_start(const struct roce_ctx *ctx, uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->maybe_reused || roce_psn_may_start_use(ctx, psn) ||
           (req->retx.active && req->retx.first == req->base && req->retx.next == psn);
}

bool roce_request_differs(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                          const struct roce_sent_packet *now)
{
    return now->op != e->op || now->len != e->len || now->sample != e->sample ||
           (roce_opcode_starts(ctx->pkt->op) &&
            (now->va != e->va || now->rkey != e->rkey || now->dma_len != e->dma_len));
}

bool roce_request_shows_reuse(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now, bool acked)
{
    bool same = now->op == e->op && now->len == e->len && now->sample == e->sample;

    if (roce_qp_was_idle(ctx) && !same && (roce_reuse_is_unannounced(ctx) || capture_has_gaps(ctx)))
        return true; /* CM would have told, if all that it said were in the capture */
    return (roce_qp_was_refused(ctx) || (acked && is_repeat_from_start(ctx, now->psn))) &&
           roce_request_differs(ctx, e, now);
}

void roce_requester_start(struct roce_ctx *ctx, uint32_t psn)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_counts *sum = &ctx->sender->counts;

    req->started = true;
    if (roce_reuse_is_unannounced(
            ctx)) /* of what was refused nothing was seen: that was another life */
        roce_peer(ctx->sender)->rsp.fatal = false;
    if (!req->base_cm) {
        req->base = req->nxt = psn;
        req->una = psn;
    } else {
        req->nxt = req->una = req->base;
        req->una_known = true;
        req->base_sure = true;
        if (roce_diff(psn, req->base) < 0)
            REPORT(ctx, CM_START_PSN, "bth.psn", req->base, psn, ctx->conn->facts.cm.req_frame,
                   .weak = roce_diff(psn, req->base) < -ROCE_PSN_JUMP ||
                           roce_since(req->retx.time, ctx->time) > ROUND_NS);
        if (roce_diff(psn, req->base) < 0 || roce_diff(psn, req->base) > ROCE_PSN_JUMP) {
            req->base = req->nxt = req->una = psn;
            req->base_sure = req->una_known = false;
        }
    }
    sum->first_psn = req->rel_base = req->base;
}

void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    roce_reuse_confirm(ctx, ctx->sender);
    if (reuse && !req->peer_restarted) {
        REPORT(ctx, QP_REUSED, "bth.psn", req->nxt, psn, .value = ROCE_VALUE_DEC,
               .other = ctx->conn->facts.first_frame);
        ctx->result->flags |= ROCE_AN_QP_REUSED;
        roce_conn_report_reuse(ctx);
        if (ctx->conn->facts.qp_uses < 255)
            ctx->conn->facts.qp_uses++;
        roce_conn_forget_mtu(ctx->conn);
        roce_peer(ctx->sender)->req.peer_restarted =
            roce_reuse_is_unannounced(ctx) && roce_peer(ctx->sender)->req.started;
        roce_reuse_confirm(ctx, roce_peer(ctx->sender));
    }
    roce_req_reset(req);
    rsp->msn_ref = rsp->nak = rsp->rnr = rsp->fatal = rsp->gap_nak = rsp->credit_seen = false;
    ctx->conn->facts.end = ROCE_END_OPEN;
    ctx->conn->inconsistent |= !reuse;
    roce_requester_start(ctx, psn);
}

void roce_conn_forget_use(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;

    for (int s = 0; s < 2; s++) {
        struct roce_rsp *rsp = &conn->side[s].rsp;

        roce_reuse_confirm(ctx, &conn->side[s]);
        roce_req_reset(&conn->side[s].req);
        rsp->msn_ref = rsp->nak = rsp->rnr = rsp->fatal = rsp->gap_nak = rsp->credit_seen = false;
    }
    roce_conn_forget_mtu(conn);
    conn->facts.end = ROCE_END_OPEN;
    if (conn->facts.qp_uses < 255)
        conn->facts.qp_uses++;
}
