/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/qp_reuse.h"

#include "flow/base/report.h"
#include "flow/table/conn.h"

/* maximum number of messages that may be missing before the first captured one of a new connection
 * on the same QP */
#define FIRST_LOST 4u

/* Decision whether a QP was reused for another connection: no (SAME_USE), yes (NEW_USE), or
 * undecided (UNKNOWN_USE). */
enum outcome { SAME_USE, NEW_USE, UNKNOWN_USE };

/* Returns whether the current request `now` differs from `e`, an earlier request with the same PSN,
 * in a way that a retransmission does not. */
static bool request_differs(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                            const struct roce_sent_packet *now);

/* Resets the requester and responder of both sides. Their state mixes two connections, because the
 * new connection on the same QPs began some packets ago. */
static void forget_use(struct roce_ctx *ctx);

/* ---- deferred findings ----------------------------------------------------------------------- */

static bool is_nak(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_ACK && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
}

/* Returns whether a reuse of the QP of `side` is suspected because of a response to no captured
 * request, and this response may belong to a new connection. It may if the earlier connection had
 * ended or was idle, or if the MSN of the response counts no new message. */
static bool response_may_be_of_new_use(const struct roce_endpoint *side)
{
    const struct roce_reuse_candidate *cand = side->reuse;

    return side->req.reuse_kind == ROCE_REUSE_UNSOLICITED &&
           (roce_peer(side)->rsp.fatal || cand->after_idle ||
            roce_diff(cand->msn, cand->msn_before) <= 0);
}

/* Ends the suspicion that the QP of `side` was reused, and reports the findings deferred because of
 * it. If the QP was not reused, but the QP of the peer is still suspected, the findings stay
 * deferred. */
static void resolve_candidate(struct roce_ctx *ctx, struct roce_endpoint *side,
                              enum outcome outcome)
{
    struct roce_deferred_findings *held = side->reuse ? side->reuse->deferred : NULL;
    struct roce_ctx of = *ctx;
    uint32_t cnt = held ? held->cnt : 0;

    if (outcome == SAME_USE && response_may_be_of_new_use(side))
        outcome = UNKNOWN_USE;
    side->req.reuse_kind = ROCE_REUSE_NONE;
    if (held)
        held->cnt = 0;
    for (uint32_t i = 0; i < cnt; i++) {
        struct roce_finding f = held->finding[i];

        of.sender = held->of_peer[i] ? roce_peer(side) : side;
        if (outcome == SAME_USE && roce_finding_defer(&of, &f))
            continue;
        f.conn_index = ctx->conn->conn_index;
        f.side = roce_endpoint_side(of.sender);
        if (outcome != SAME_USE || ctx->conn->inconsistent)
            f.severity = ROCE_SEV_WARN;
        roce_emit(&of, &f);
    }
    roce_reuse_free(ctx->flow, side);
}

/* Reports that the QP of `side` was reused for a new connection, and resets the data of the earlier
 * connection. */
static void confirm_new_use(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    const struct roce_reuse_candidate *cand = side->reuse;
    struct roce_ctx of = *ctx;

    of.sender = side;
    of.frame = cand->frame;
    of.time = cand->time;
    REPORT(&of, QP_REUSED, "bth.psn", side->req.nxt, cand->first,
           .other = ctx->conn->facts.first_frame);
    roce_conn_report_reuse(&of);
    resolve_candidate(ctx, side, NEW_USE);
    if (roce_qp_may_be_reused(ctx))
        ctx->conn->inconsistent = true; /* packets are missing in the capture, so the analysis
                                         * cannot follow the requester of the new connection */
    else
        forget_use(ctx);
}

/* Returns whether a fault of the device is more probable than a reuse of the QP: since the
 * suspicion of a reuse, at most one packet does not continue the old connection, and neither the
 * MSN nor the UDP port suggests a reuse. */
static bool is_one_fault(const struct roce_endpoint *side)
{
    const struct roce_reuse_candidate *cand = side->reuse;
    const struct roce_deferred_findings *held = cand->deferred;
    const struct roce_rsp *rsp = &roce_peer(side)->rsp;
    uint32_t frames = cand->different, last = cand->different_frame;

    for (uint32_t i = 0; cand->different && held && i < held->cnt; i++) {
        frames += held->finding[i].frame != last;
        last = held->finding[i].frame;
    }
    if (rsp->last_frame > cand->frame &&
        (cand->msn_before == 0 ||
         (side->req.reuse_kind != ROCE_REUSE_GAP && rsp->last_msn == cand->messages)))
        return false; /* the first captured response may already belong to the new connection of the
                       * QP */
    if (side->req.reuse_kind == ROCE_REUSE_MSN_RESTART &&
        roce_diff(cand->msn, cand->msn_before) < 0)
        return false;
    return frames <= 1 && !cand->new_port;
}

/* Decides whether the QP of `side` was reused, if later packets have not decided it. Called when
 * the connection ends. */
static enum outcome outcome_at_end(const struct roce_ctx *ctx, const struct roce_endpoint *side)
{
    const struct roce_reuse_candidate *cand = side->reuse;
    const struct roce_rsp *rsp = &roce_peer(side)->rsp;

    /* Without a response since the reuse was suspected, nothing is certain: another QP may send the
     * responses of the new connection. */
    if (!ctx->conn->paired || !rsp->started ||
        ((cand->packets > 1 || side->req.reuse_kind == ROCE_REUSE_LATER_PSN) &&
         rsp->last_frame <= cand->frame))
        return UNKNOWN_USE;
    if (side->req.reuse_kind != ROCE_REUSE_GAP && roce_qp_may_be_reused(ctx))
        return UNKNOWN_USE;
    return is_one_fault(side) ? SAME_USE : UNKNOWN_USE;
}

/* If the QP of `side` is suspected to be reused, decides that it was. */
static void confirm_reuse(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    if (roce_reuse_is_pending(&side->req))
        resolve_candidate(ctx, side, NEW_USE);
}

void roce_reuse_end(struct roce_ctx *ctx)
{
    for (int i = 0; i < 2; i++) {
        struct roce_endpoint *side = &ctx->conn->side[i];
        bool open = roce_reuse_is_pending(&side->req); /* false if CM messages of a new connection
                                                        * have decided the suspected reuse */

        resolve_candidate(ctx, side, open ? outcome_at_end(ctx, side) : UNKNOWN_USE);
    }
}

/* ---- detecting a possible reuse -------------------------------------------------------------- */

bool roce_reuse_suspect(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_reuse_kind kind,
                        uint32_t psn)
{
    struct roce_req *req = &side->req;
    struct roce_reuse_candidate *cand;

    if (!roce_reuse_is_unannounced(ctx))
        return false;
    if (roce_reuse_is_pending(req)) {
        if (req->reuse_kind != ROCE_REUSE_GAP || kind == ROCE_REUSE_GAP)
            return false;
        resolve_candidate(ctx, side,
                          outcome_at_end(ctx, side)); /* until now, only a gap in the PSNs suggested
                                                       * a reuse; this stronger sign replaces the
                                                       * gap */
    }
    if (!side->reuse)
        side->reuse = roce_mem_need(&ctx->flow->mem, sizeof(*cand));
    cand = side->reuse;
    if (!cand)
        return false;
    req->reuse_kind = (uint8_t)kind;
    *cand = (struct roce_reuse_candidate){
        .frame = ctx->frame,
        .time = ctx->time,
        .first = psn,
        .next = psn,
        .msn_before = roce_peer(side)->rsp.last_msn,
        .in_flight = req->reqs_in_flight,
        .after_rest = roce_since(req->last_time, ctx->time) >= ROCE_REST_NS,
        .after_idle = roce_since(req->last_time, ctx->time) >= ROCE_MIN_TIMEOUT_NS,
        .deferred = cand->deferred};
    if (kind == ROCE_REUSE_UNSOLICITED) /* The MSN of a NAK does not count the refused request, so
                                         * add 1. A response without an AETH has no MSN: use one
                                         * that neither confirms nor refutes the reuse. */
        cand->msn = roce_pkt_has(ctx->pkt, ROCE_HDR_AETH) ? ctx->pkt->aeth.msn + is_nak(ctx->pkt)
                                                          : cand->msn_before + 1;
    return true;
}

void roce_reuse_on_new_port(struct roce_ctx *ctx)
{
    struct roce_req *req = &ctx->sender->req;
    uint32_t psn = ctx->pkt->bth.psn;

    if (roce_opcode_is_request(ctx->pkt->op)) {
        (void)roce_reuse_suspect(
            ctx, ctx->sender,
            roce_diff(psn, req->nxt) < 0 ? ROCE_REUSE_OLDER_PSN : ROCE_REUSE_LATER_PSN, psn);
        if (roce_reuse_is_pending(req))
            ctx->sender->reuse->new_port = true;
    } else if (roce_reuse_is_unannounced(ctx) && ctx->conn->facts.pairing == ROCE_PAIRED_BY_PORTS)
        ctx->conn->inconsistent = true;
}

void roce_reuse_on_low_msn(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t ends)
{
    const struct roce_req *req = &side->req;
    struct roce_reuse_candidate *cand;

    if (ctx->pkt->aeth.msn > ends ||
        !roce_reuse_suspect(ctx, side, ROCE_REUSE_MSN_RESTART, req->una))
        return;
    cand = side->reuse;
    cand->next = is_nak(ctx->pkt) ? ctx->pkt->bth.psn : req->nxt;
    cand->msn = ctx->pkt->aeth.msn;
    cand->messages = ends;
}

/* ---- evidence for or against a reuse --------------------------------------------------------- */

/* Returns whether a request with an older PSN, or a response to no captured request, made the
 * analysis suspect a reuse of the QP. If the QP was not reused, the next new request of this
 * requester has the PSN req->nxt. */
static bool is_older_psn_kind(const struct roce_req *req)
{
    return req->reuse_kind == ROCE_REUSE_OLDER_PSN || req->reuse_kind == ROCE_REUSE_UNSOLICITED;
}

/* Returns whether the opcode of the current packet may directly follow the newest request of
 * `req`. */
static bool may_follow_newest(const struct roce_ctx *ctx, const struct roce_req *req)
{
    const struct roce_sent_packet *tail = roce_window_tail(&req->win);

    return !tail || roce_may_follow(roce_opcode(tail->op), ctx->pkt->op);
}

void roce_reuse_on_request(struct roce_ctx *ctx, uint32_t psn, uint32_t psn_cnt, bool guess)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_reuse_candidate *cand = ctx->sender->reuse;

    if (is_older_psn_kind(req) && psn == req->nxt && !cand->psns_unsure &&
        (psn == cand->next ? cand->same == cand->packets
                           : !roce_qp_may_be_reused(ctx) && !cand->new_port &&
                                 cand->different <= (cand->msn_before > 0) &&
                                 may_follow_newest(ctx, req) && roce_diff(cand->next, psn) <= 0)) {
        resolve_candidate(ctx, ctx->sender, SAME_USE); /* the requester continues at the PSN where
                                                        * it had stopped */
        return;
    }
    cand->packets++;
    cand->psns_unsure |= guess;
    if (roce_diff(psn, cand->next) < 0)
        return; /* this message was counted when its request was transmitted for the first time */
    cand->messages += roce_opcode_ends(ctx->pkt->op);
    cand->next = (psn + psn_cnt) & ROCE_PSN_MASK;
}

/* Returns whether `now` differs from `e` in opcode and length. A fault usually changes only the
 * opcode or only the length. If both differ, the requester sent another packet. */
static bool is_another_packet(const struct roce_sent_packet *e, const struct roce_sent_packet *now)
{
    return now->op != e->op && now->len != e->len;
}

void roce_reuse_compare(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                        const struct roce_sent_packet *now)
{
    bool alike = now->psn == e->psn && !request_differs(ctx, e, now);
    struct roce_reuse_candidate *cand;

    if (!alike && !ctx->sender->req.shifted &&
        roce_reuse_suspect(ctx, ctx->sender, ROCE_REUSE_OLDER_PSN, now->psn))
        roce_reuse_on_request(ctx, now->psn, now->psn_cnt,
                              (now->flags & ROCE_SENT_PSN_CNT_GUESS) != 0);
    if (!roce_reuse_is_pending(&ctx->sender->req))
        return;
    cand = ctx->sender->reuse;
    cand->same += alike;
    if (!alike) {
        roce_reuse_on_mismatch(ctx);
        cand->different += cand->after_idle && is_another_packet(e, now);
    }
}

void roce_reuse_on_mismatch(struct roce_ctx *ctx)
{
    struct roce_reuse_candidate *cand;

    if (!roce_reuse_is_pending(&ctx->sender->req))
        return;
    cand = ctx->sender->reuse;
    if (cand->different++ == 0)
        cand->different_frame = ctx->frame;
}

void roce_reuse_on_response(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    const struct roce_reuse_candidate *cand = side->reuse;
    uint32_t psn = ctx->pkt->bth.psn, msn = ctx->pkt->aeth.msn;
    bool restarts = side->req.reuse_kind == ROCE_REUSE_MSN_RESTART;
    bool nak = is_nak(ctx->pkt);
    bool all = ((psn + 1) & ROCE_PSN_MASK) == cand->next && !nak;
    /* Number of messages that the MSN counts if the QP was reused. A NAK does not count the refused
     * request. */
    uint32_t ends = cand->messages - (nak && cand->messages);
    uint32_t most = ends + (roce_qp_may_be_reused(ctx)                       ? ROCE_START_PSNS
                            : side->req.reuse_kind == ROCE_REUSE_UNSOLICITED ? FIRST_LOST
                                                                             : 0);
    int32_t on = roce_diff(msn, cand->msn_before), least = 0;
    const struct roce_sent_packet *e = roce_window_get(&side->req.win, psn);
    bool may_be_stored = ctx->pkt->op->kind != ROCE_KIND_ACK && e && e->tries > 1;

    if (roce_diff(psn, cand->first) < -1 || roce_diff(psn, side->req.nxt) >= 0)
        return; /* the response is for a request from before the suspected reuse, or for a request
                 * that was not captured */
    if (!is_older_psn_kind(&side->req) && !nak)
        least = all ? (int32_t)ends : 1;
    if (restarts && msn > most)
        resolve_candidate(ctx, side, SAME_USE);
    else if (!restarts && msn > most + (cand->different ? FIRST_LOST : 0) && cand->msn_before &&
             on >= least && (uint32_t)on <= cand->in_flight + most)
        resolve_candidate(ctx, side, SAME_USE);
    else if (msn <= most && (restarts ? msn > cand->msn : on < 0 || (on < least && msn == ends))) {
        if (!restarts && !cand->after_rest && !cand->different)
            return; /* The only sign of a QP reuse is that this MSN is lower than the earlier one.
                     * The network may have reordered the responses. */
        if (restarts || !may_be_stored) {
            confirm_new_use(ctx, side);
        } else if (roce_qp_may_be_reused(ctx)) { /* some responders answer a retransmitted request
                                                  * with a stored response, which has its old MSN */
            resolve_candidate(ctx, side, UNKNOWN_USE);
            ctx->conn->inconsistent = true;
        }
    } else if (is_older_psn_kind(&side->req) && cand->same == cand->packets &&
               cand->next == side->req.nxt && all)
        resolve_candidate(ctx, side, SAME_USE); /* all requests since the reuse was suspected equal
                                                 * the earlier ones with these PSNs, and are
                                                 * answered */
}

/* ---- start and restart of a requester -------------------------------------------------------- */

bool roce_qp_was_refused(const struct roce_ctx *ctx)
{
    return roce_peer(ctx->sender)->rsp.fatal || ctx->sender->rsp.fatal;
}

bool roce_reuse_is_unannounced(const struct roce_ctx *ctx)
{
    return !roce_conn_cm_seen(ctx->conn) && ctx->conn->facts.svc != ROCE_SVC_UC;
}

/* shortest time in which the PSNs of a connection may wrap, ns */
#define ROUND_NS UINT64_C(300000000)

/* Returns whether the capture lacks packets. The first packet of a new connection on the QP may
 * then be missing, too. */
static bool capture_has_gaps(const struct roce_ctx *ctx)
{
    roce_gate(ctx->flow);
    return ctx->flow->common->has_gaps;
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

/* Returns whether the requester has gone back to its first PSN and repeated all requests from there
 * to the current packet, which has `psn`. */
static bool is_repeat_from_start(const struct roce_ctx *ctx, uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->maybe_reused || roce_psn_may_start_use(ctx, psn) ||
           (req->retx.active && req->retx.first == req->base && req->retx.next == psn);
}

static bool request_differs(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
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
        return true; /* CM messages would announce a reuse. But the capture has no CM messages of
                      * this connection, or lacks packets, so it may also lack these CM messages */
    return (roce_qp_was_refused(ctx) || (acked && is_repeat_from_start(ctx, now->psn))) &&
           request_differs(ctx, e, now);
}

void roce_requester_start(struct roce_ctx *ctx, uint32_t psn)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_counts *sum = &ctx->sender->counts;

    req->started = true;
    if (roce_reuse_is_unannounced(ctx)) /* The fatal NAK captured before the first request
                                         * answers no captured request: it belongs to an earlier
                                         * connection of the QPs. */
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

static void reset_responder(struct roce_rsp *rsp)
{
    roce_rsp_forget_naks(rsp);
    rsp->msn_ref = rsp->nak = rsp->rnr = rsp->fatal = rsp->gap_nak = rsp->credit_seen = false;
    rsp->read_known = false;
}

void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    confirm_reuse(ctx, ctx->sender);
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
        confirm_reuse(ctx, roce_peer(ctx->sender));
    }
    roce_req_reset(req);
    reset_responder(rsp);
    if (reuse)
        rsp->last_msn = 0; /* do not compare the MSNs of the new connection with the last MSN of the
                            * earlier one */
    ctx->conn->facts.end = ROCE_END_OPEN;
    ctx->conn->inconsistent |= !reuse;
    roce_requester_start(ctx, psn);
}

static void forget_use(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;

    for (int s = 0; s < 2; s++) {
        confirm_reuse(ctx, &conn->side[s]);
        roce_req_reset(&conn->side[s].req);
        reset_responder(&conn->side[s].rsp);
    }
    roce_conn_forget_mtu(conn);
    conn->facts.end = ROCE_END_OPEN;
    if (conn->facts.qp_uses < 255)
        conn->facts.qp_uses++;
}
