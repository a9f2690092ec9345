/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/sent_packet.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/retransmit/implied_nak.h"

/* Maximum number of window entries while the directions are not paired. Without the pairing, no
 * response acknowledges entries. */
#define WINDOW_UNPAIRED 256u

void roce_sent_set(const struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn_cnt,
                   bool guess)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_opcode *op = pkt->op;

    e->time = e->msg_time = ctx->time;
    e->psn = pkt->bth.psn;
    e->psn_cnt = psn_cnt;
    e->frame = e->last_frame = ctx->frame;
    e->icrc = pkt->icrc;
    e->ip_id = ctx->digest->ip_id;
    e->len = (uint16_t)pkt->payload_len;
    e->op = op->value;
    e->tries = 1;
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        e->va = pkt->reth.va;
        e->rkey = pkt->reth.rkey;
        e->dma_len = pkt->reth.dma_len;
    } else if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        e->va = pkt->atomiceth.va;
        e->rkey = pkt->atomiceth.rkey;
        e->dma_len = 8;
    } else if (roce_opcode_has(op, ROCE_HDR_RETH) || roce_opcode_has(op, ROCE_HDR_ATOMICETH)) {
        e->dma_len = ROCE_LEN_UNKNOWN;
    }
    e->flags =
        (uint8_t)((roce_opcode_ends(op) ? ROCE_SENT_ENDS : 0) |
                  (pkt->bth.ackreq ? ROCE_SENT_ACKREQ : 0) | (guess ? ROCE_SENT_PSN_CNT_GUESS : 0));
    e->sample = ctx->digest->sample;
    e->marks = ctx->digest->sampled ? ROCE_MARK_SAMPLED : 0;
}

/* Adds `e` to the packets and bytes in flight, unless that was done before. */
static void add_in_flight(struct roce_req *req, struct roce_sent_packet *e)
{
    if (e->marks & ROCE_MARK_IN_FLIGHT)
        return;
    e->marks |= ROCE_MARK_IN_FLIGHT;
    req->bytes_in_flight += e->len;
    req->reqs_in_flight += (e->flags & ROCE_SENT_ENDS) != 0;
    req->reads_in_flight += roce_opcode_is_answered(roce_opcode(e->op));
    if (roce_opcode(e->op)->kind == ROCE_KIND_READ && e->dma_len != ROCE_LEN_UNKNOWN)
        req->win.read_bytes = e->dma_len > UINT32_MAX - req->win.read_bytes
                                  ? UINT32_MAX
                                  : req->win.read_bytes + e->dma_len;
}

void roce_req_remove_in_flight(struct roce_req *req, struct roce_sent_packet *e)
{
    if (!(e->marks & ROCE_MARK_IN_FLIGHT))
        return;
    e->marks &= (uint8_t)~ROCE_MARK_IN_FLIGHT;
    req->bytes_in_flight -= e->len;
    req->reqs_in_flight -= (e->flags & ROCE_SENT_ENDS) != 0;
    req->reads_in_flight -= roce_opcode_is_answered(roce_opcode(e->op));
    /* If the capture lacks responses, read_bytes may be above 0 although no READ is in flight. */
    if (req->reads_in_flight == 0)
        req->win.read_bytes = 0;
}

void roce_sent_link_message(struct roce_req *req, const struct roce_sent_packet *prev,
                            struct roce_sent_packet *e)
{
    const struct roce_opcode *op = roce_opcode(e->op);

    e->run_id = prev ? prev->run_id : ++req->run_id;
    if (roce_opcode_starts(op)) {
        e->off = 0;
        e->flags |= ROCE_SENT_OFF_KNOWN;
        e->msg_frame = e->frame;
        return;
    }
    e->msg_frame = 0;
    e->flags &= (uint8_t)~ROCE_SENT_OFF_KNOWN;
    if (prev && !(prev->flags & ROCE_SENT_ENDS) && roce_opcode(prev->op)->kind == op->kind)
        roce_sent_continue_message(prev, e);
}

bool roce_sent_follows(const struct roce_sent_packet *prev, const struct roce_sent_packet *e)
{
    return prev && roce_sent_end(prev) == e->psn && !(prev->flags & ROCE_SENT_PSN_CNT_GUESS);
}

struct roce_sent_packet *roce_sent_room(struct roce_ctx *ctx, uint32_t *at)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_window *w = &req->win;
    uint32_t max = ctx->conn->paired ? ctx->flow->opts.window_max : WINDOW_UNPAIRED;
    uint64_t spare = 0, *overflow = ctx->conn->paired ? &ctx->flow->totals.overflown : &spare;

    if (max > ctx->flow->opts.window_max)
        max = ctx->flow->opts.window_max;
    if (w->cap == 0) {
        size_t size = ROCE_WINDOW_MIN * sizeof(*w->buf);

        w->buf = roce_mem_need(&ctx->flow->mem, size);
        if (!w->buf)
            return NULL;
        w->cap = ROCE_WINDOW_MIN;
    }
    if (!roce_window_room(w, max, &ctx->flow->mem)) {
        struct roce_sent_packet *old = roce_window_at(w, 0);

        if (*at == 0)
            return NULL;
        roce_req_remove_in_flight(req, old);
        if (w->acked == 0) { /* the window is full of outstanding requests: drop one although its
                              * response was not captured */
            ctx->conn->facts.truncated |= ctx->conn->paired;
            (*overflow)++;
        } else if (roce_sent_has_all_responses(old))
            roce_read_done(ctx, ctx->sender, old); /* the requester did not retransmit this READ, so
                                                    * all its responses arrived */
        roce_window_drop(w);
        (*at)--;
    }
    if (*at == w->cnt && w->cnt < w->cap)
        return roce_window_append(w);
    return roce_window_insert(w, at, max, &ctx->flow->mem, overflow);
}

void roce_sent_count(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    struct roce_req *req = &ctx->sender->req;
    const struct roce_opcode *op = ctx->pkt->op;
    enum roce_oper oper = roce_oper_of(op);
    struct roce_oper_count *sum = roce_oper_cnt(ctx->flow, ctx->sender, oper);

    if (e->flags & ROCE_SENT_ENDS) {
        sum->messages++;
        req->msg_number++;
    }
    if (ctx->conn->facts.svc == ROCE_SVC_UC) { /* a UC message is complete when it is sent */
        if ((e->flags & ROCE_SENT_ENDS) && (e->flags & ROCE_SENT_OFF_KNOWN)) {
            sum->completed++;
            sum->bytes += e->off + e->len;
            roce_report_done(ctx, ctx->sender, e, e->off + e->len, ROCE_NEVER_NS);
        }
        return;
    }
    add_in_flight(req, e);
    if (roce_pkt_has(ctx->pkt, ROCE_HDR_RETH) || roce_pkt_has(ctx->pkt, ROCE_HDR_ATOMICETH))
        roce_count_region(ctx, ctx->sender, oper, e->rkey, e->va, e->dma_len);
    else if (roce_pkt_has(ctx->pkt, ROCE_HDR_IETH))
        roce_count_invalidation(ctx, ctx->sender, ctx->pkt->ieth.rkey);
}

void roce_sent_result(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    struct roce_flow_result *r = ctx->result;
    const struct roce_opcode *op = roce_opcode(e->op);

    if (!ctx->want_result)
        return;
    r->msg_number = roce_sent_number(e);
    r->msg_first_frame = e->msg_frame;
    r->msg_offset = roce_sent_off(e);
    r->msg_bytes = r->msg_offset + e->len;
    if (roce_opcode_starts(op))
        r->flags |= ROCE_AN_MSG_START;
    if (e->flags & ROCE_SENT_ENDS) {
        r->flags |= ROCE_AN_MSG_END;
        r->msg_total = e->flags & ROCE_SENT_OFF_KNOWN ? r->msg_bytes : 0;
    }
    if ((op->kind == ROCE_KIND_READ || (op->kind == ROCE_KIND_WRITE && e->msg_frame)) &&
        e->dma_len != ROCE_LEN_UNKNOWN)
        r->msg_total = e->dma_len;
    if (op->kind != ROCE_KIND_SEND && e->msg_frame && e->dma_len != ROCE_LEN_UNKNOWN) {
        r->flags |= ROCE_AN_REGION;
        r->rkey = e->rkey;
        r->va = e->va + r->msg_offset;
    }
}
