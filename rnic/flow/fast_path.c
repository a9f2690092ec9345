/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fast path: most packets of a capture are the next packet of a SEND or WRITE, or a positive
 * acknowledgement of outstanding requests. No check has a finding for such a packet. This file
 * processes it with a third of the instructions of the full path (analyze_packet(), roce_request(),
 * roce_response()). How it works:
 *
 * 1. The caller finds the connection and calls roce_fast_path(), which handles SEND, WRITE and ACK.
 * 2. qp_is_unchanged(): the QP is paired, and port, DSCP, P_Key, ECN and idle time need no check.
 * 3. A request: is_expected_request() requires the next PSN, an opcode and a length that fit the
 *    message, and no NAK, READ, credit limit or QP reuse that needs the full path. fast_request()
 *    then appends the window entry and updates the counts.
 * 4. An ACK: is_expected_ack() requires a known entry, a new PSN and the expected MSN. fast_ack()
 *    then calls the same functions as response.c.
 * 5. If a condition is false, roce_fast_path() returns false without a change, and the caller takes
 *    the full path.
 *
 * Each condition makes a step of the full path unnecessary; its comment names this step. Tests run
 * each packet sequence with and without the fast path (roce_flow_opts.no_fast_path) and compare the
 * results (tests/flow/judge.c). If a new check of the full path may report such a packet, add a
 * condition for it here.
 */
#include "flow/fast_path.h"

#include "flow/base/counters.h"
#include "flow/base/ip_id.h"
#include "flow/checks/check_ack.h"
#include "flow/request.h"
#include "flow/response.h"
#include "flow/retransmit/sent_packet.h"

#define ECN_CE  3
#define DMA_MAX UINT32_C(0x80000000) /* maximum DMA length, bytes (R081) */
#define LEN_MAX 4096u                /* maximum payload while the path MTU is unknown, bytes */

/* Returns whether the checks that analyze_packet() makes before roce_request() and roce_response()
 * would find nothing: the packet has the service, port, DSCP and P_Key of the earlier packets and
 * no congestion mark, and it does not follow a long idle time. update_constants() later sets the
 * members that these checks would change. `req` is the requester: the sender of a request, or the
 * receiver of a response. */
static inline bool qp_is_unchanged(const struct roce_ctx *ctx, const struct roce_req *req)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_conn *conn = ctx->conn;
    const struct roce_endpoint *side = ctx->sender, *peer = roce_peer(side);
    const struct roce_packet_digest *digest = ctx->digest;
    enum roce_svc svc = pkt->op->svc;
    uint16_t sport = roce_pkt_has(pkt, ROCE_HDR_UDP) ? pkt->udp.sport : 0;

    return (svc == ROCE_SVC_RC || svc == ROCE_SVC_XRC) && svc == conn->facts.svc && conn->paired &&
           side->any && sport == side->sport && digest->dscp == side->dscp &&
           pkt->bth.pkey == side->pkey &&
           (!peer->any || roce_pkeys_match(peer->pkey, side->pkey)) && digest->ecn != ECN_CE &&
           !pkt->bth.fecn && !pkt->bth.becn &&
           /* After an idle time of this length, the full path is necessary: roce_pair_has_ended()
            * looks for a newer connection of the QPN. */
           roce_since(req->last_time, ctx->time) < ROCE_IDLE_REUSE_NS &&
           /* After a time of this length without packets, the full path is necessary:
            * roce_request() counts the time as a silence. */
           ctx->silent_ns < ROCE_SILENCE_NS;
}

/* Makes the changes that roce_check_qp_constants() and is_for_service() would make for this
 * packet. */
static inline void update_constants(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;

    side->other_service = 0;
    roce_id_note(side, ctx->digest->ip_id);
}

/* ---- in-order requests ----------------------------------------------------------------------- */

/* Returns whether the packet begins a new message, and `prev` is the last packet of the previous
 * one. Returns false if the length or the memory range is invalid, or if the credits must be
 * checked. */
static bool begins_message(const struct roce_ctx *ctx, const struct roce_sent_packet *prev)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_opcode *op = pkt->op;
    const struct roce_conn *conn = ctx->conn;
    uint32_t len = pkt->payload_len, mtu = conn->facts.mtu_sure ? conn->facts.mtu : 0;

    if (!(prev->flags & ROCE_SENT_ENDS) || roce_pkt_has(pkt, ROCE_HDR_IETH) ||
        (roce_opcode_uses_rq(op) && roce_peer(ctx->sender)->rsp.credit_seen))
        return false;
    if (op->payload == ROCE_PAYLOAD_MTU ? !conn->mtu_seen || len != mtu
                                        : len > (mtu ? mtu : LEN_MAX))
        return false;
    if (op->kind == ROCE_KIND_SEND)
        return true;
    return roce_pkt_has(pkt, ROCE_HDR_RETH) && pkt->reth.dma_len <= DMA_MAX &&
           (pkt->reth.dma_len == 0 || pkt->reth.va + (pkt->reth.dma_len - 1) >= pkt->reth.va) &&
           (roce_opcode_ends(op) ? len == pkt->reth.dma_len : len <= pkt->reth.dma_len);
}

/* Returns whether the packet continues the message of `prev`, with a valid length. For a SEND, also
 * requires that credits are left. */
static bool continues_message(const struct roce_ctx *ctx, const struct roce_sent_packet *prev)
{
    const struct roce_opcode *op = ctx->pkt->op;
    const struct roce_conn *conn = ctx->conn;
    uint32_t len = ctx->pkt->payload_len, mtu = conn->facts.mtu;

    if (roce_opcode(prev->op)->kind != op->kind || (prev->flags & ROCE_SENT_ENDS) ||
        roce_pkt_has(ctx->pkt, ROCE_HDR_IETH) ||
        (roce_opcode_uses_rq(op) && roce_peer(ctx->sender)->rsp.credit_code == 0))
        return false;
    if (!conn->mtu_seen || !(op->payload == ROCE_PAYLOAD_MTU ? len == mtu : len > 0 && len <= mtu))
        return false;
    if (op->kind == ROCE_KIND_WRITE && (prev->flags & ROCE_SENT_OFF_KNOWN) &&
        prev->dma_len != ROCE_LEN_UNKNOWN) {
        uint64_t sum = (uint64_t)prev->off + prev->len + len;

        return roce_opcode_ends(op) ? sum == prev->dma_len : sum <= prev->dma_len;
    }
    return true;
}

/* Returns whether the packet has the next PSN after `prev`, the newest window entry. Returns false
 * if a NAK, an outstanding READ or a possible QP reuse makes the full path necessary. */
static bool is_expected_request(const struct roce_ctx *ctx, const struct roce_sent_packet *prev)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    return ctx->pkt->bth.psn == req->nxt && roce_sent_end(prev) == req->nxt &&
           !(prev->flags & ROCE_SENT_PSN_CNT_GUESS) && !req->peer_restarted && !req->late_ack &&
           !(req->una_known && roce_diff(req->una, req->nxt) > 0) && !rsp->gap_nak && !rsp->fatal &&
           !req->reads_in_flight && !roce_reuse_is_pending(req) &&
           (roce_opcode_starts(ctx->pkt->op) ? begins_message(ctx, prev)
                                             : continues_message(ctx, prev));
}

/* Sets those members of the new entry `e` that depend on the packet alone. set_message_fields() or
 * roce_sent_continue_message() sets all others, so `e` need not be zeroed before. */
static inline void set_packet_fields(const struct roce_ctx *ctx,
                                     const struct roce_sent_packet *prev,
                                     struct roce_sent_packet *e)
{
    const struct roce_pkt *pkt = ctx->pkt;
    bool ends = roce_opcode_ends(pkt->op);

    e->time = ctx->time;
    e->orig = 0;
    e->psn = pkt->bth.psn;
    e->psn_cnt = 1;
    e->frame = e->last_frame = ctx->frame;
    e->cum = prev->cum + ends;
    e->icrc = pkt->icrc;
    e->sample = ctx->digest->sample;
    e->resp_frame = e->restart = 0;
    e->run_id = prev->run_id;
    e->len = (uint16_t)pkt->payload_len;
    e->ip_id = ctx->digest->ip_id;
    e->op = pkt->op->value;
    e->tries = 1;
    e->flags = (uint8_t)((ends ? ROCE_SENT_ENDS : 0) | (pkt->bth.ackreq ? ROCE_SENT_ACKREQ : 0));
    e->marks = (uint8_t)(ROCE_MARK_IN_FLIGHT | (ctx->digest->sampled ? ROCE_MARK_SAMPLED : 0));
    e->bad = 0;
}

/* Sets the members of `e` that describe the message, for the first packet of a message. */
static inline void set_message_fields(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    const struct roce_reth *reth = &ctx->pkt->reth;
    bool write = ctx->pkt->op->kind == ROCE_KIND_WRITE;

    e->msg_time = e->time;
    e->msg_frame = e->frame;
    e->va = write ? reth->va : 0;
    e->rkey = write ? reth->rkey : 0;
    e->dma_len = write ? reth->dma_len : 0;
    e->off = 0;
    e->flags |= ROCE_SENT_OFF_KNOWN;
    if (write)
        roce_count_region(ctx, ctx->sender, ROCE_OPER_WRITE, e->rkey, e->va, e->dma_len);
}

static bool fast_request(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    struct roce_req *req = &side->req;
    struct roce_counts *sum = &side->counts;
    struct roce_sent_packet *prev = roce_window_tail(&req->win), *e;

    if (!prev || !sum->oper || !qp_is_unchanged(ctx, req) || !is_expected_request(ctx, prev))
        return false;
    e = roce_window_next(&req->win);
    if (!e) {
        uint32_t at = req->win.cnt;

        e = roce_sent_room(ctx, &at);
        if (!e)
            return false;
        /* Get the pointer again, because roce_window_append() may have moved the window to other
         * memory. */
        prev = roce_window_at(&req->win, at - 1);
    }
    update_constants(ctx);
    if (prev->tries == 1)
        roce_id_note_next(side, prev->ip_id, ctx->digest->ip_id);
    roce_count_idle(ctx);
    set_packet_fields(ctx, prev, e);
    if (roce_opcode_starts(ctx->pkt->op))
        set_message_fields(ctx, e);
    else
        roce_sent_continue_message(prev, e);
    if (e->flags & ROCE_SENT_ENDS) {
        sum->oper[roce_oper_of(ctx->pkt->op)].messages++;
        req->msg_number++;
        req->reqs_in_flight++;
    }
    sum->payload_sent += e->len;
    req->bytes_in_flight += e->len;
    req->nxt = (e->psn + 1) & ROCE_PSN_MASK;
    req->psn_cnt_guess = req->retx.active = req->maybe_reused = false;
    req->last_time = ctx->time;
    roce_req_update_max(sum, req);
    if (ctx->want_result) {
        roce_sent_result(ctx, e);
        roce_request_result(ctx, 1);
    }
    return true;
}

/* ---- in-order acknowledgements --------------------------------------------------------------- */

/* Returns the window entry of `psn`, or NULL. First computes its index from the distance of `psn`
 * to the oldest outstanding PSN. The index is right if each entry between these two PSNs has one
 * PSN; otherwise the function searches the window. */
static struct roce_sent_packet *find_sent_packet(struct roce_window *w, uint32_t psn)
{
    struct roce_sent_packet *e;
    uint32_t at = w->acked;

    if (at >= w->cnt)
        return NULL;
    at += (psn - roce_window_at(w, at)->psn) & ROCE_PSN_MASK;
    e = at < w->cnt ? roce_window_at(w, at) : NULL;
    return e && e->psn == psn ? e : roce_window_get(w, psn);
}

/* Returns whether the PSN of the ACK is the last one of request `e`, and its MSN is certainly
 * correct. */
static bool is_expected_ack(const struct roce_ctx *ctx, const struct roce_req *req,
                            const struct roce_sent_packet *e)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    int32_t before = roce_diff(pkt->bth.psn, req->base);

    return !(e->flags & ROCE_SENT_PSN_CNT_GUESS) &&
           ((pkt->bth.psn + 1) & ROCE_PSN_MASK) == roce_sent_end(e) &&
           roce_msn_fits(rsp, e, pkt->aeth.msn) &&
           !(req->base_sure && before < 0 && before > -ROCE_PSN_JUMP);
}

static bool fast_ack(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_req *req = &roce_peer(ctx->sender)->req;
    struct roce_rsp *rsp = &ctx->sender->rsp;
    uint32_t psn = pkt->bth.psn;
    struct roce_sent_packet *e;

    if (!qp_is_unchanged(ctx, req) || !roce_pkt_has(pkt, ROCE_HDR_AETH) ||
        roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK)
        return false;
    if (!req->started || !req->una_known || roce_diff(psn, req->una) < 0 ||
        roce_diff(psn, req->nxt) >= 0 || rsp->fatal || roce_reuse_is_pending(req) ||
        (rsp->started && rsp->last_psn == psn && rsp->last_op == pkt->op->value))
        return false;
    e = find_sent_packet(&req->win, psn);
    if (!e || !is_expected_ack(ctx, req, e))
        return false;
    /* From here on, findings are about the connection, not only about this packet. */
    ctx->have_connection = true;
    update_constants(ctx);
    ctx->result->flags |= ROCE_AN_RESPONSE;
    ctx->sender->counts.responses++;
    rsp->dup_num = 0;
    roce_check_aeth(ctx);
    roce_acknowledged(ctx, req, e);
    roce_response_end(ctx, req);
    return true;
}

bool roce_fast_path(struct roce_ctx *ctx)
{
    switch (ctx->pkt->op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return fast_request(ctx);
    case ROCE_KIND_ACK: return fast_ack(ctx);
    default: return false;
    }
}
