/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Runs: the packets inside a message, one after another, which is what most packets of large
 * transfers are. Of such a packet no check has anything to say, and what it adds to is known
 * beforehand: it is done here in one go, in a quarter of the instructions.
 *
 * Each condition names what it makes needless of judge() and roce_request(), so that both ways
 * leave the same behind: the tests give each stream to both (roce_flow_opts.no_runs) and compare
 * (tests/flow/judge.c). A check that is new there and may have something to say of a Middle or
 * Last packet needs its condition here.
 */
#include "flow/entry.h"
#include "flow/turn.h"

#define ECN_CE 3

/* judge(): the packet is of its connection, and nothing about its QP has changed. */
static bool is_constant(const struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_conn *conn = ctx->conn;
    const struct roce_side *side = ctx->side, *peer = roce_peer(side);
    const struct roce_glance *glance = ctx->glance;
    enum roce_svc svc = pkt->op->svc;
    uint16_t sport = roce_pkt_has(pkt, ROCE_HDR_UDP) ? pkt->udp.sport : 0;

    return (svc == ROCE_SVC_RC || svc == ROCE_SVC_XRC) && svc == conn->sum.svc && conn->paired &&
           side->any && sport == side->sport && glance->dscp == side->dscp &&
           pkt->bth.pkey == side->pkey && !(peer->any && ((peer->pkey ^ side->pkey) & 0x7FFF)) &&
           glance->ecn != ECN_CE && !pkt->bth.fecn && !pkt->bth.becn &&
           /* with the source port: roce_pair_moved() */
           roce_since(side->req.last_time, ctx->time) < ROCE_IDLE_REUSE_NS;
}

/* roce_request(): it, which begins no message, is the next of the message that `prev`, the newest
 * entry, is of, of the length that it has to be, and all that might answer it or stand against it
 * is silent. */
static bool is_next(const struct roce_ctx *ctx, const struct roce_sent *prev)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_opcode *op = pkt->op;
    const struct roce_conn *conn = ctx->conn;
    const struct roce_req *req = &ctx->side->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->side)->rsp;
    uint32_t len = pkt->payload_len, mtu = conn->sum.mtu;

    if ((op->kind != ROCE_KIND_SEND && op->kind != ROCE_KIND_WRITE) ||
        roce_opcode(prev->op)->kind != op->kind ||
        (prev->flags & (ROCE_SENT_ENDS | ROCE_SENT_SPAN_GUESS)))
        return false;
    if (!req->started || pkt->bth.psn != req->nxt || roce_sent_end(prev) != req->nxt || req->anew ||
        (req->una_known && roce_diff(req->una, req->nxt) > 0))
        return false;
    if (rsp->gap_nak || rsp->fatal || req->reads_in_flight || roce_turn_is_open(req))
        return false;
    if (!conn->mtu_seen || !conn->sum.mtu_sure ||
        !(op->payload == ROCE_PAYLOAD_MTU ? len == mtu : len > 0 && len <= mtu))
        return false;
    if (op->kind == ROCE_KIND_WRITE && (prev->flags & ROCE_SENT_OFF_KNOWN) &&
        prev->dma_len != ROCE_LEN_UNKNOWN) {
        uint64_t sum = (uint64_t)prev->off + prev->len + len;

        return roce_opcode_ends(op) ? sum == prev->dma_len : sum <= prev->dma_len;
    }
    return true;
}

/* What the message hands on from packet to packet, and what is the packet's own. `e` is zeroed. */
static void entry_continue(const struct roce_ctx *ctx, const struct roce_sent *prev,
                           struct roce_sent *e)
{
    const struct roce_pkt *pkt = ctx->pkt;
    bool ends = roce_opcode_ends(pkt->op);

    e->time = ctx->time;
    e->msg_time = prev->msg_time;
    e->va = prev->va;
    e->psn = pkt->bth.psn;
    e->span = 1;
    e->frame = e->last_frame = ctx->frame;
    e->msg_frame = prev->msg_frame;
    e->rkey = prev->rkey;
    e->dma_len = prev->dma_len;
    e->off = prev->off + prev->len;
    e->cum = prev->cum + ends;
    e->icrc = pkt->icrc;
    e->sample = ctx->glance->sample;
    e->chain = prev->chain;
    e->len = (uint16_t)pkt->payload_len;
    e->ip_id = ctx->glance->ip_id;
    e->op = pkt->op->value;
    e->tries = 1;
    e->flags = (uint8_t)((ends ? ROCE_SENT_ENDS : 0) | (pkt->bth.ackreq ? ROCE_SENT_ACKREQ : 0) |
                         (prev->flags & ROCE_SENT_OFF_KNOWN));
    e->marks = (uint8_t)(ROCE_MARK_FLYING | (ctx->glance->sampled ? ROCE_MARK_SAMPLE : 0));
}

bool roce_run_step(struct roce_ctx *ctx)
{
    struct roce_side *side = ctx->side;
    struct roce_req *req = &side->req;
    struct roce_counts *sum = roce_sum(side);
    struct roce_sent *prev = roce_window_tail(&req->win), *e;
    uint32_t at = req->win.cnt;

    if (roce_opcode_starts(ctx->pkt->op) || !prev || !sum->oper || !is_constant(ctx) ||
        !is_next(ctx, prev))
        return false;
    e = roce_entry_room(ctx, &at);
    if (!e)
        return false;
    prev = roce_window_at(&req->win, at - 1); /* the window may have moved */
    entry_continue(ctx, prev, e);
    side->strays = 0;
    side->saw_id |= e->ip_id != side->last_id;
    side->last_id = e->ip_id;
    if (e->flags & ROCE_SENT_ENDS) {
        sum->oper[roce_oper_of(ctx->pkt->op)].messages++;
        req->msg_number++;
        req->reqs_in_flight++;
    }
    sum->payload_sent += e->len;
    req->bytes_in_flight += e->len;
    req->nxt = (e->psn + 1) & ROCE_PSN_MASK;
    req->span_guess = req->ep.active = req->suspect = false;
    req->last_time = ctx->time;
    roce_entry_tell(ctx, e);
    roce_request_tell(ctx, 1);
    return true;
}
