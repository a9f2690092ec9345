/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requests: compares each request packet of a connected service with the requests captured before.
 * A packet is new, the first after a PSN gap, out of order, a copy (second capture of one
 * transmission) or a retransmission. Then adds the packet to its message.
 */
#include "flow/request.h"

#include "flow/base/counters.h"
#include "flow/base/ip_id.h"
#include "flow/base/report.h"
#include "flow/checks/check_ack.h"
#include "flow/checks/check_format.h"
#include "flow/checks/check_order.h"
#include "flow/checks/check_request.h"
#include "flow/early_response.h"
#include "flow/retransmit/copy.h"
#include "flow/retransmit/late_ack.h"
#include "flow/retransmit/retransmission.h"
#include "flow/retransmit/sent_packet.h"
#include "flow/retransmit/spurious.h"
#include "flow/table/conn.h"
#include "flow/table/pair.h"
#include "flow/table/pair_index.h"
#include "flow/table/qp_reuse.h"
#include "flow/table/read_psn_count.h"

/* Number of latest UC requests kept in the window to detect copies. UC has no acknowledgements that
 * would remove them. */
#define UC_REMEMBERED 63u
#define DMA_MAX       UINT32_C(0x80000000) /* maximum DMA length, bytes (R081) */
#define KEEP_ALIVE_NS UINT64_C(1000000000)
/* Maximum number of window entries that insertions may move, for each captured packet of the
 * requester. A go-back-N over 8192 packets with 3 % loss moves fewer. */
#define HOLE_MOVES_PER_PACKET 256u

void roce_request_result(struct roce_ctx *ctx, uint32_t psn_cnt)
{
    const struct roce_req *req = &ctx->sender->req;
    uint32_t psn = ctx->pkt->bth.psn;

    roce_req_update_max(&ctx->sender->counts, req);
    if (!ctx->want_result)
        return;
    ctx->result->flags |= ROCE_AN_REQUEST;
    ctx->result->next_psn = (psn + psn_cnt) & ROCE_PSN_MASK;
    roce_req_result(ctx, req);
    if (!req->una_known)
        ctx->result->psns_in_flight = 0;
}

void roce_req_result(struct roce_ctx *ctx, const struct roce_req *req)
{
    struct roce_flow_result *r = ctx->result;
    int32_t psns = roce_diff(req->nxt, req->una);

    r->rel_psn = (ctx->pkt->bth.psn - req->rel_base) & ROCE_PSN_MASK;
    r->flags |= req->base_sure && req->rel_base == req->base ? ROCE_AN_REL_PSN : 0;
    r->psns_in_flight = psns > 0 ? (uint32_t)psns : 0;
    r->bytes_in_flight = req->bytes_in_flight;
    r->read_bytes_in_flight = req->win.read_bytes;
    r->requests_in_flight = req->reqs_in_flight;
    r->reads_in_flight = req->reads_in_flight;
}

/* Returns whether request `e` may directly follow `prev`. */
static bool may_follow(const struct roce_sent_packet *prev, const struct roce_sent_packet *e)
{
    return roce_may_follow(roce_opcode(prev->op), roce_opcode(e->op));
}

/* Subtracts the `psn_cnt` PSNs of a packet from the counter of PSNs that were acknowledged but not
 * captured, because the packet is captured now, after its acknowledgement. */
static void uncount_unseen(struct roce_ctx *ctx, uint32_t psn_cnt)
{
    struct roce_cold_counters *sum = ctx->sender->counts.cold;
    uint32_t more = psn_cnt - 1;

    if (!sum)
        return;
    sum->unseen_acked -= sum->unseen_acked < psn_cnt ? sum->unseen_acked : psn_cnt;
    sum->unseen_read_psns -= sum->unseen_read_psns < more ? sum->unseen_read_psns : more;
}

/* Returns a hash of members of `e` that are equal in all transmissions of one request packet. */
static uint8_t digest_of(const struct roce_sent_packet *e)
{
    uint32_t mix = (e->sample * 31 + e->op) * 31 + e->len + (uint32_t)e->va * 7 + e->rkey;

    return (uint8_t)((mix * UINT32_C(0x9E3779B1)) >> 24);
}

/* Appends the current packet, of `psn_cnt` PSNs, to the window. */
static void append_request(struct roce_ctx *ctx, uint32_t psn_cnt, bool guess)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_sent_packet *prev, *e, keep;
    uint32_t at = req->win.cnt;
    bool joined;

    e = roce_sent_room(ctx, &at);
    prev = e && at ? roce_window_at(&req->win, at - 1) : NULL;
    if (!e) { /* memory is exhausted, so the packet is judged with a temporary window entry */
        keep = (struct roce_sent_packet){0};
        e = &keep;
    }
    roce_sent_set(ctx, e, psn_cnt, guess);
    if (e->psn == req->base)
        req->base_digest = digest_of(e);
    joined = roce_sent_follows(prev, e);
    e->cum = (prev ? prev->cum : req->msg_number) + ((e->flags & ROCE_SENT_ENDS) != 0);
    roce_sent_link_message(req, joined ? prev : NULL, e);
    req->nxt = roce_sent_end(e);
    req->psn_cnt_guess = (e->flags & ROCE_SENT_PSN_CNT_GUESS) != 0;
    req->retx.active = false;
    if (joined) {
        if (prev->tries == 1)
            roce_id_note_next(ctx->sender, prev->ip_id, e->ip_id);
        if (!may_follow(prev, e) && roce_since(prev->time, ctx->time) >= ROCE_REST_NS &&
            roce_reuse_suspect(ctx, ctx->sender, ROCE_REUSE_LATER_PSN, e->psn))
            roce_reuse_on_request(ctx, e->psn, psn_cnt, guess);
        ctx->conn->inconsistent |= !may_follow(prev, e) && roce_qp_may_be_reused(ctx) &&
                                   roce_psn_may_start_use(ctx, e->psn);
        roce_check_opcode_order(ctx, prev, e);
    }
    roce_check_request_packet(ctx, e);
    if (e != &keep)
        roce_sent_count(ctx, e);
    if (ctx->conn->facts.svc == ROCE_SVC_UC)
        req->win.acked = req->win.cnt > UC_REMEMBERED ? req->win.cnt - UC_REMEMBERED : 0;
    else if (e != &keep && req->una_known && roce_diff(req->una, req->nxt) >= 0 &&
             req->win.acked == at) {
        /* A response acknowledged this PSN, but was captured before the request: two capture points
         * reordered them. */
        req->win.acked++;
        roce_req_remove_in_flight(req, e);
        uncount_unseen(ctx, e->psn_cnt);
        roce_early_response(ctx, e);
    } else if (e != &keep && req->una_known && req->win.acked == at && e->psn_cnt > 1 && !guess &&
               roce_diff(req->una, e->psn) > 0) {
        uncount_unseen(ctx, (uint32_t)roce_diff(req->una, e->psn));
        roce_early_response(ctx, e);
    }
    roce_check_new_request(ctx, e);
    roce_sent_result(ctx, e);
}

/* Appends the current packet, described by `now`, to the window. */
static void append_request_copy(struct roce_ctx *ctx, const struct roce_sent_packet *now)
{
    append_request(ctx, now->psn_cnt, (now->flags & ROCE_SENT_PSN_CNT_GUESS) != 0);
}

/* Sets the message count (`cum`) of the window entry at index `at`, a request that was captured out
 * of order. If this request ends a message, adds one to `cum` of all later entries. */
static void insert_message_count(struct roce_ctx *ctx, uint32_t at,
                                 const struct roce_sent_packet *prev)
{
    struct roce_window *w = &ctx->sender->req.win;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    struct roce_sent_packet *e = roce_window_at(w, at);
    uint32_t ends = (e->flags & ROCE_SENT_ENDS) != 0;
    bool ref_run_follows = false;

    if (prev)
        e->cum = prev->cum + ends;
    else if (at + 1 < w->cnt) /* the entry precedes all others */
        e->cum = roce_sent_number(roce_window_at(w, at + 1)) + ends;
    else
        e->cum = ctx->sender->req.msg_number + ends;
    for (uint32_t i = at + 1; ends && i < w->cnt; i++) {
        roce_window_at(w, i)->cum++;
        ref_run_follows |= roce_window_at(w, i)->run_id == rsp->msn_ref_run;
    }
    if (rsp->msn_ref && ref_run_follows)
        rsp->msn_ref_cum++;
}

/* Returns whether a packet may be inserted before `later` window entries. The insertion moves each
 * of these entries. To limit the time, the average number of moved entries for each packet of the
 * sender is at most HOLE_MOVES_PER_PACKET. Without the limit, a sender that fills gaps far before
 * its newest packet would cost time proportional to the window for each packet. */
static bool may_fill(struct roce_ctx *ctx, uint32_t later)
{
    struct roce_cold_counters *sum = roce_cold(ctx->flow, ctx->sender);

    if (sum->hole_moves + later > (uint64_t)ctx->sender->counts.packets * HOLE_MOVES_PER_PACKET) {
        ctx->conn->facts.truncated = true;
        ctx->flow->totals.overflown++;
        return false;
    }
    sum->hole_moves += later;
    return true;
}

/* Inserts a packet that fills a PSN gap into the window, and checks it against the packets with the
 * previous and the next PSN. */
static void fill_hole(struct roce_ctx *ctx, uint32_t at, const struct roce_sent_packet *now)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_window *w = &req->win;
    bool last = at == w->acked && req->una_known && roce_diff(roce_sent_end(now), req->una) <= 0;
    bool acked = at < w->acked || last;
    struct roce_sent_packet *e, *prev;

    e = may_fill(ctx, w->cnt - at) ? roce_sent_room(ctx, &at) : NULL;
    if (acked)
        uncount_unseen(ctx, now->psn_cnt);
    if (!e)
        return;
    *e = *now;
    w->acked += last;
    prev = at ? roce_window_at(w, at - 1) : NULL;
    insert_message_count(ctx, at, prev);
    if (!roce_sent_follows(prev, e))
        prev = NULL;
    roce_sent_link_message(req, prev, e);
    if (at == 0 && !req->base_sure && roce_diff(e->psn, req->base) < 0)
        ctx->sender->counts.first_psn = req->base =
            e->psn; /* the capture has the first packets in the wrong order: the current packet has
                     * a lower PSN than the first captured one */
    if (prev && !may_follow(prev, e))
        roce_reuse_on_mismatch(ctx);
    if (prev)
        roce_check_opcode_order(ctx, prev, e);
    roce_check_request_packet(ctx, e);
    if (acked)
        req->msg_number += (e->flags & ROCE_SENT_ENDS) != 0;
    else
        roce_sent_count(ctx, e);
    for (uint32_t i = at + 1; i < w->cnt; i++) {
        struct roce_sent_packet *next = roce_window_at(w, i);
        bool knew = (next->flags & ROCE_SENT_OFF_KNOWN) != 0;

        prev = roce_window_at(w, i - 1);
        if (!roce_sent_follows(prev, next) || next->run_id == prev->run_id)
            break;
        roce_sent_link_message(req, prev, next);
        if (i == at + 1 && !may_follow(prev, next))
            roce_reuse_on_mismatch(ctx);
        if (i == at + 1)
            roce_check_opcode_order(ctx, prev, next);
        if (!knew && (next->flags & ROCE_SENT_OFF_KNOWN))
            roce_check_request_packet(ctx, next);
    }
    if (w->cnt && roce_window_tail(w)->run_id != req->run_id)
        req->run_id =
            (uint16_t)(req->run_id + 1); /* the entries after this PSN gap have another run_id */
    roce_sent_result(ctx, e);
}

/* Records that the requester retransmits from `psn` on. If a go-back begins with this packet,
 * checks the wait before the go-back and the number of retries. */
static void note_retransmission(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                                uint32_t psn_cnt)
{
    const struct roce_req *req = &ctx->sender->req;
    uint64_t last = e && e->time > req->last_time ? e->time : req->last_time;

    if (roce_retransmission_step(ctx, e, psn, psn_cnt))
        roce_check_retransmission(ctx, e, roce_since(last, ctx->time));
}

/* Returns whether READ `now` requests the last part of the earlier READ `e` again, from PSN offset
 * `skip` to the end of `e`. */
static bool is_read_tail(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                         const struct roce_sent_packet *now, uint32_t skip)
{
    bool same_end = now->va + now->dma_len == e->va + e->dma_len;

    return roce_opcode(e->op)->kind == ROCE_KIND_READ &&
           (roce_read_psn_count_is_agreed(ctx->conn) ? same_end
            : e->flags & ROCE_SENT_PSN_CNT_GUESS     ? true
                                                     : skip + now->psn_cnt == e->psn_cnt);
}

/* Returns whether the headers of the current packet `now` differ from the headers of `e`. */
static bool headers_differ(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           const struct roce_sent_packet *now)
{
    return now->op != e->op || now->len != e->len ||
           (roce_opcode_starts(ctx->pkt->op) && roce_opcode_has(ctx->pkt->op, ROCE_HDR_RETH) &&
            (now->va != e->va || now->rkey != e->rkey || now->dma_len != e->dma_len));
}

/* Returns whether the requester sends an empty Only packet with the PSN of another request (known
 * deviation D41). Its later requests then have other PSNs than before, so findings about them are
 * doubtful. Ignores the first request after the setup of the QP: a request of an earlier connection
 * of the QPN may have the same PSN. */
static bool is_shift(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                     const struct roce_sent_packet *now)
{
    const struct roce_opcode *op = ctx->pkt->op;

    return ctx->conn->facts.svc != ROCE_SVC_UC && now->psn != ctx->sender->req.base &&
           (op->kind == ROCE_KIND_SEND || op->kind == ROCE_KIND_WRITE) &&
           op->pos == ROCE_POS_ONLY && now->len == 0 && now->dma_len == 0 &&
           (now->op != e->op || e->len > 0);
}

/* Counts and reports a request that was captured out of order. */
static void note_late(struct roce_ctx *ctx, uint32_t psn)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

    memmove(cold->late_psn + 1, cold->late_psn, (ROCE_LATE_PSNS - 1) * sizeof(cold->late_psn[0]));
    cold->late_psn[0] = psn + 1;
    cold->out_of_order++;
    ctx->result->flags |= ROCE_AN_OUT_OF_ORDER;
    REPORT(ctx, OUT_OF_ORDER, "bth.psn", ctx->sender->req.nxt, psn);
}

/* Counts the first transmission of request `e`, which was captured after its retransmission. Its
 * payload was captured before, so it refers to that frame as a retransmission does. */
static void note_overtaken(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_req *req = &ctx->sender->req;

    roce_cold(ctx->flow, ctx->sender)->naks_for_late +=
        req->retx.cause == ROCE_CAUSE_SEQ_NAK && req->retx.first == e->psn;
    ctx->result->repeats_frame = e->frame;
    roce_report_link(ctx, ROCE_LINK_REPEATED_IN, e->frame);
    roce_sent_result(ctx, e);
    note_late(ctx, e->psn);
}

/* Processes a request with a PSN that belongs to the window entry at index `at`. The request is a
 * copy (second capture of one transmission) or a retransmission, or it belongs to a new connection
 * of the QP. */
static void place_repeated(struct roce_ctx *ctx, uint32_t at, struct roce_sent_packet *now)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_sent_packet *e = roce_window_at(&req->win, at);
    bool acked = at < req->win.acked, read = ctx->pkt->op->kind == ROCE_KIND_READ;
    bool shift = is_shift(ctx, e, now);
    bool superseded; /* the requester sent this packet before the latest captured transmission */
    uint32_t skip = (now->psn - e->psn) & ROCE_PSN_MASK;

    req->shifted |= shift;
    if (skip && !(read && is_read_tail(ctx, e, now, skip))) {
        if (req->maybe_reused && !req->shifted && roce_opcode_starts(ctx->pkt->op)) {
            roce_requester_restart(ctx, now->psn, true);
            append_request_copy(ctx, now);
            return;
        }
        if (!(e->flags & ROCE_SENT_PSN_CNT_GUESS) && roce_opcode(e->op)->kind != ctx->pkt->op->kind)
            REPORT(ctx, READ_PSN_RANGE, "bth.psn", roce_sent_end(e), now->psn, e->frame);
        roce_reuse_compare(ctx, e, now);
        if (!read || roce_opcode(e->op)->kind != ROCE_KIND_READ)
            return;
    }
    if (skip == 0 && now->op == e->op && ctx->conn->facts.svc != ROCE_SVC_UC &&
        roce_request_is_overtaken(ctx, e)) {
        note_overtaken(ctx, e);
        return;
    }
    if (skip == 0 && now->op == e->op &&
        (ctx->conn->facts.svc == ROCE_SVC_UC ? now->icrc == e->icrc
                                             : roce_request_is_copy(ctx, e))) {
        if (req->watched)
            roce_spurious_request(ctx, now->psn_cnt, false); /* the network may have copied the
                                                              * packet: then the responder answers
                                                              * the copy */
        roce_copy_time(ctx, roce_since(e->time, ctx->time));
        roce_report_copy(ctx, e->last_frame); /* on UC, an equal packet is a copy, because UC never
                                               * retransmits */
        return;
    }
    if (skip == 0 && ctx->conn->facts.svc == ROCE_SVC_UC && headers_differ(ctx, e, now)) {
        roce_requester_restart(ctx, now->psn, true); /* on UC, another packet with a known PSN shows
                                                      * a QP reuse, because UC never retransmits */
        append_request_copy(ctx, now);
        return;
    }
    if (skip == 0 && !shift && ctx->conn->facts.svc != ROCE_SVC_UC &&
        roce_request_shows_reuse(ctx, e, now, acked)) {
        if (roce_opcode_starts(ctx->pkt->op)) {
            roce_requester_restart(ctx, now->psn, true);
            append_request_copy(ctx, now);
            return;
        }
        ctx->conn->inconsistent = true;
    }
    req->maybe_reused |= roce_reuse_is_unannounced(ctx) && roce_psn_may_start_use(ctx, now->psn);
    roce_reuse_compare(ctx, e, now);
    if (!read || skip == 0)
        roce_check_retry_same(ctx, e, now);
    req->moved |= req->shifted;
    ctx->result->repeats_frame = e->frame;
    ctx->result->rto = roce_since(e->time, ctx->time);
    roce_report_link(ctx, ROCE_LINK_REPEATED_IN, e->frame);
    /* For a READ, the number of PSNs in `now` may be a guess. Use the number in the window entry,
     * which later packets may have corrected. */
    note_retransmission(ctx, e, now->psn,
                        read ? (roce_sent_end(e) - now->psn) & ROCE_PSN_MASK : now->psn_cnt);
    roce_copy_note_superseded(ctx, e);
    if (acked && !(e->flags & ROCE_SENT_IMPLIED) &&
        !(roce_opcode_is_answered(ctx->pkt->op) && !(e->flags & ROCE_SENT_DONE))) {
        roce_cold(ctx->flow, ctx->sender)->duplicates++;
        ctx->result->flags |= ROCE_AN_DUPLICATE_REQUEST;
    }
    superseded = roce_sent_order(ctx, e->ip_id, e->time) < 0;
    if (!superseded) {
        e->time = now->time;
        e->icrc = now->icrc;
        e->ip_id = now->ip_id;
    }
    e->last_frame = now->frame;
    if (e->tries < 255)
        e->tries++;
    if (read && !superseded) {
        e->flags |= ROCE_SENT_RESTARTED;
        e->flags &= (uint8_t)~ROCE_SENT_ORIG;
        e->marks &= (uint8_t)~ROCE_MARK_RESP_GAP;
        e->restart = skip;
        e->resp_next = skip;
        e->resp_seen = skip << ROCE_RESP_SEEN_BITS;
    }
    if (roce_opcode_is_answered(ctx->pkt->op) && !superseded) {
        e->flags &= (uint8_t)~ROCE_SENT_IMPLIED;
        e->marks &= (uint8_t)~ROCE_MARK_RESP_LATE;
        e->marks |= ROCE_MARK_REREQUESTED;
        if (acked && (!req->implied_nak || roce_diff(e->psn, req->implied_nak_psn) < 0))
            req->implied_nak_psn = e->psn;
        req->implied_nak |= acked;
    }
    roce_sent_result(ctx, e);
}

/* Returns whether READ `now` has PSNs in common with `next`, the first window entry with a later
 * PSN. `next` may be NULL. */
static bool overlaps_next(const struct roce_sent_packet *now, const struct roce_sent_packet *next)
{
    return next && now->psn_cnt > 1 && ((next->psn - now->psn) & ROCE_PSN_MASK) < now->psn_cnt;
}

/* Processes a request with an older PSN than the newest request, but without a window entry. There
 * are three explanations: the first transmission of this request was not captured, the request is
 * late, or the QP was reused. */
static void place_unseen(struct roce_ctx *ctx, uint32_t at, struct roce_sent_packet *now)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_window *w = &req->win;
    /* true: the PSN is older than all PSNs in the window. roce_window_find() then returns w->cnt,
     * because it measures distances from the PSN of the oldest entry. */
    bool old = at == w->cnt;
    struct roce_sent_packet *next = w->cnt ? roce_window_at(w, old ? 0 : at) : NULL;
    /* true: READ `next`, which was captured before, requests the last part of READ `now` again */
    bool whole = overlaps_next(now, next) && roce_opcode(next->op)->kind == ROCE_KIND_READ &&
                 roce_sent_end(next) == roce_sent_end(now);
    int32_t back = -roce_diff(now->psn, req->nxt);

    if (old && ctx->conn->facts.svc == ROCE_SVC_UC && roce_diff(now->psn, req->base) >= 0 &&
        roce_cold_of(ctx->sender)->missing_psns <= roce_cold_of(ctx->sender)->out_of_order) {
        /* The packet must have been captured before: its PSN is older than all PSNs in the window,
         * and no older PSN is missing. */
        roce_report_copy(ctx, 0);
        return;
    }
    at = old ? 0 : at;
    if (old && ctx->conn->facts.svc != ROCE_SVC_UC &&
        (back > ROCE_PSN_JUMP || (req->base_sure && roce_diff(now->psn, req->base) < 0) ||
         (roce_reuse_is_unannounced(ctx) &&
          ((roce_qp_was_refused(ctx) && roce_opcode_starts(ctx->pkt->op)) ||
           (overlaps_next(now, next) && !whole))) ||
         (roce_opcode_starts(ctx->pkt->op) && req->una_known &&
          roce_diff(req->una, req->nxt) >= 0 && (!req->retx.active || req->retx.next == req->nxt) &&
          ((now->psn == req->base && roce_reuse_is_unannounced(ctx) &&
            digest_of(now) != req->base_digest) ||
           roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS)))) {
        roce_requester_restart(ctx, now->psn, roce_opcode_starts(ctx->pkt->op));
        append_request_copy(ctx, now);
        return;
    }
    ctx->conn->inconsistent |= roce_qp_was_idle(ctx) && !roce_conn_cm_seen(ctx->conn);
    req->maybe_reused |=
        old && roce_reuse_is_unannounced(ctx); /* the QP may have been reused: the window has no
                                                * earlier request with this PSN to compare */
    if (old && req->una_known && roce_diff(now->psn, req->una) < 0 && next &&
        ctx->conn->facts.svc != ROCE_SVC_UC && !roce_request_is_out_of_order(ctx, now->psn, next)) {
        note_retransmission(ctx, NULL, now->psn, now->psn_cnt); /* the PSN is older than all
                                                                 * entries */
        return;
    }
    if (overlaps_next(now, next)) {
        if (whole) {
            uint32_t shift = (next->psn - now->psn) & ROCE_PSN_MASK;

            next->psn = now->psn;
            next->psn_cnt = now->psn_cnt;
            next->va = now->va;
            next->dma_len = now->dma_len;
            next->resp_next = next->resp_seen = 0;
            next->resp_high += next->resp_high ? shift : 0;
            next->flags |= ROCE_SENT_RESTARTED;
            next->restart = 0;
        }
        note_retransmission(ctx, NULL, now->psn, now->psn_cnt);
        return;
    }
    if (roce_request_is_out_of_order(ctx, now->psn, next)) {
        note_late(ctx, now->psn);
    } else {
        note_retransmission(ctx, NULL, now->psn, now->psn_cnt);
        now->marks |= roce_opcode_starts(ctx->pkt->op) ? ROCE_MARK_UNTIMED : 0;
    }
    if (roce_diff(now->psn, req->base) >= 0 &&
        /* PSNs that a response has already acknowledged were counted when that response was
         * captured */
        (!req->una_known || roce_diff(now->psn, req->una) >= 0))
        roce_cold(ctx->flow, ctx->sender)->missing_read_psns += now->psn_cnt - 1;
    if (now->psn_cnt > 1)
        now->flags |= ROCE_SENT_RESTARTED; /* the request may restart a READ in the middle, and the
                                            * original request was not captured */
    fill_hole(ctx, at, now);
}

/* Returns whether the PSN gap before the current UC packet counts as another lost message. Returns
 * false if the gap continues a message that already lacks an earlier packet. */
static bool loses_another_message(const struct roce_ctx *ctx)
{
    const struct roce_sent_packet *prev = roce_window_tail(&ctx->sender->req.win);
    bool broken = prev && !(prev->flags & (ROCE_SENT_ENDS | ROCE_SENT_OFF_KNOWN));

    return !broken;
}

/* If READ `now` requests READ `e` again from the middle on, returns the path MTU: the difference of
 * their addresses divided by the difference of their PSNs. Returns 0 if `now` does not request `e`
 * again, or may be a separate READ that directly follows `e`. */
static uint32_t mtu_of_restart(const struct roce_sent_packet *e, const struct roce_sent_packet *now)
{
    uint32_t psns = (now->psn - e->psn) & ROCE_PSN_MASK;
    uint64_t skip = now->va - e->va;
    uint32_t mtu;

    if (now->op != e->op || roce_opcode(e->op)->kind != ROCE_KIND_READ || now->rkey != e->rkey ||
        e->dma_len > DMA_MAX || skip == 0 || skip + now->dma_len != e->dma_len || skip % psns != 0)
        return 0;
    mtu = (uint32_t)(skip / psns);
    for (uint32_t other = 256; other <= 4096; other *= 2)
        if (roce_psn_cnt(e->dma_len, other) == psns)
            return 0;
    return roce_mtu_code(mtu) ? mtu : 0;
}

static void place_after_gap(struct roce_ctx *ctx, int32_t d, struct roce_sent_packet *now)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_sent_packet *tail = roce_window_tail(&req->win);
    /* number of PSNs in the gap for which no packet was captured, not even a damaged one */
    uint32_t missing;

    if (req->psn_cnt_guess && tail && mtu_of_restart(tail, now)) {
        tail->psn_cnt = roce_psn_cnt(tail->dma_len, mtu_of_restart(tail, now));
        tail->flags &= (uint8_t)~ROCE_SENT_PSN_CNT_GUESS;
        req->psn_cnt_guess = false;
        req->nxt = roce_sent_end(tail);
        place_repeated(ctx, req->win.cnt - 1, now);
        return;
    }
    if (req->psn_cnt_guess && tail) {
        uint32_t len = tail->dma_len < DMA_MAX ? tail->dma_len : DMA_MAX;
        uint32_t most = roce_psn_cnt(len, 256) - tail->psn_cnt;

        if ((uint32_t)d <= most) {        /* the previous READ may have `d` more PSNs than the
                                           * guess */
            tail->psn_cnt += (uint32_t)d; /* the number is still a guess, because packets before the
                                           * current one may be missing */
            req->nxt = now->psn;
            append_request_copy(ctx, now);
            return;
        }
        d -= (int32_t)most;
    }
    if (d > ROCE_PSN_JUMP) {
        roce_requester_restart(ctx, now->psn, roce_opcode_starts(ctx->pkt->op));
        append_request_copy(ctx, now);
        return;
    }
    missing = (uint32_t)d - roce_dropped_cnt(ctx->sender, req->nxt, (uint32_t)d);
    ctx->conn->inconsistent |=
        (roce_qp_was_idle(ctx) || (roce_qp_was_refused(ctx) && roce_reuse_is_unannounced(ctx))) &&
        !roce_conn_cm_seen(ctx->conn);
    if (ctx->conn->facts.svc == ROCE_SVC_UC) {
        REPORT(ctx, UC_PSN_GAP, "bth.psn", req->nxt, now->psn);
        roce_cold(ctx->flow, ctx->sender)->lost_messages += loses_another_message(ctx);
    } else if (missing) {
        REPORT(ctx, PSN_GAP, "bth.psn", req->nxt, now->psn);
    }
    if (missing) {
        ctx->result->flags |= ROCE_AN_PSN_GAP;
        ctx->result->gap = missing;
        roce_cold(ctx->flow, ctx->sender)->missing_psns += missing;
    }
    req->gap_time = ctx->time;
    append_request_copy(ctx, now);
}

/* Returns whether request `now` fits between READ `e` and the next window entry, or is the next new
 * request. The assumed number of PSNs of `e` was then too high, so that the PSN of `now` seemed to
 * belong to `e`. */
static bool fits_behind_guess(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now)
{
    uint32_t skip = (now->psn - e->psn) & ROCE_PSN_MASK;
    bool agreed = roce_read_psn_count_is_agreed(ctx->conn);
    bool newest = agreed && e == roce_window_tail(&ctx->sender->req.win);

    return skip && (agreed || e->flags & ROCE_SENT_PSN_CNT_GUESS) &&
           roce_opcode(e->op)->kind == ROCE_KIND_READ && roce_opcode_starts(ctx->pkt->op) &&
           e->dma_len <= DMA_MAX && (newest || skip + now->psn_cnt <= e->psn_cnt) &&
           roce_psn_cnt(e->dma_len, 4096) <= skip &&
           !(ctx->pkt->op->kind == ROCE_KIND_READ && is_read_tail(ctx, e, now, skip));
}

/* Processes a request. `d` is its PSN minus the expected next PSN. */
static void place_request(struct roce_ctx *ctx, int32_t d, uint32_t psn_cnt, bool guess)
{
    struct roce_window *w = &ctx->sender->req.win;
    struct roce_sent_packet now = {0}, *e;
    uint32_t at;

    roce_sent_set(ctx, &now, psn_cnt, guess);
    if (d > 0) {
        place_after_gap(ctx, d, &now);
        return;
    }
    at = roce_window_find(w, now.psn);
    e = at < w->cnt && roce_sent_has(roce_window_at(w, at), now.psn) ? roce_window_at(w, at) : NULL;
    if (e && (at + 1 < w->cnt || roce_read_psn_count_is_agreed(ctx->conn)) && at + 1 >= w->acked &&
        fits_behind_guess(ctx, e, &now)) {
        e->psn_cnt = (now.psn - e->psn) & ROCE_PSN_MASK;
        if (at + 1 == w->cnt) {
            ctx->sender->req.nxt = now.psn;
            append_request_copy(ctx, &now);
            return;
        }
        e = NULL;
        at++;
    }
    if (e)
        place_repeated(ctx, at, &now);
    else
        place_unseen(ctx, at, &now);
}

/* Returns whether the IPv4 identifications show that the requester sent no packet between its
 * newest request and the current one, so that no request was lost before the capture point. */
static bool sent_nothing_before(const struct roce_ctx *ctx)
{
    const struct roce_sent_packet *newest = roce_window_tail(&ctx->sender->req.win);

    return newest && ctx->sender->id_score >= ROCE_ID_SCORE_MIN &&
           (uint16_t)(ctx->digest->ip_id - newest->ip_id) == 1;
}

/* Counts the time without a packet of the connection before the current new request. */
static void note_silence(struct roce_ctx *ctx)
{
    struct roce_conn_facts *facts = &ctx->conn->facts;
    uint32_t us;

    if (roce_credit_wait(ctx))
        return;
    roce_count_idle(ctx);
    if (ctx->silent_ns < ROCE_SILENCE_NS || !ctx->conn->paired)
        return;
    if (roce_opcode_starts(ctx->pkt->op) && sent_nothing_before(ctx)) {
        facts->idle_pauses++;
        return;
    }
    facts->silence.cnt++;
    us = ctx->silent_ns / 1000 < UINT32_MAX ? (uint32_t)(ctx->silent_ns / 1000) : UINT32_MAX;
    facts->silence.sum_ns += ctx->silent_ns;
    if (facts->silence.cnt == 1 || us < facts->silence.shortest_us)
        facts->silence.shortest_us = us;
    if (us <= facts->silence.longest_us)
        return;
    facts->silence.longest_us = us;
    facts->silence.frame = ctx->frame;
    facts->silence.side = ctx->sender == &ctx->conn->side[1];
    facts->silence.inside = !roce_opcode_starts(ctx->pkt->op);
}

void roce_request(struct roce_ctx *ctx)
{
    uint32_t psn = ctx->pkt->bth.psn, psn_cnt;
    struct roce_req *req;
    struct roce_rsp *rsp;
    uint64_t idle;
    bool guess = false;
    int32_t d;

    if (!ctx->conn->paired) {
        uint32_t tries = ++ctx->sender->pair_tries;

        if (ctx->conn->facts.svc != ROCE_SVC_UC)
            roce_pair_index_add(ctx->flow, ctx->sender);
        else if ((tries & (tries - 1)) == 0)
            roce_pair_uc(ctx);
    }
    req = &ctx->sender->req;
    idle = req->last_time ? roce_since(req->last_time, ctx->time) : 0;
    if (roce_qp_was_idle(ctx) && psn != req->nxt)
        roce_conn_forget_mtu(ctx->conn); /* the QP may have been reused with another path MTU */
    roce_check_mtu_learn(ctx);
    roce_check_size(ctx);
    psn_cnt = ctx->pkt->op->kind == ROCE_KIND_READ ? roce_read_psn_count(ctx, &guess) : 1;
    if (!req->started)
        roce_requester_start(ctx, psn);
    ctx->sender->counts.payload_sent += (uint16_t)ctx->pkt->payload_len;
    rsp = &roce_peer(ctx->sender)->rsp;
    if (rsp->gap_nak && ((rsp->gap_psn - psn) & ROCE_PSN_MASK) < psn_cnt)
        rsp->gap_nak = false;
    d = roce_diff(psn, req->nxt);
    if (rsp->fatal || idle >= ROCE_IDLE_REUSE_NS)
        (void)roce_reuse_suspect(ctx, ctx->sender,
                                 d < 0 ? ROCE_REUSE_OLDER_PSN : ROCE_REUSE_LATER_PSN, psn);
    else if (d == 0 && req->una_known && roce_diff(psn, req->una) < 0)
        (void)roce_reuse_suspect(ctx, ctx->sender, ROCE_REUSE_LATER_PSN,
                                 psn); /* a response that acknowledges this PSN was captured before
                                        * the request */
    else if (d != 0 && !(req->retx.active && req->retx.next == psn))
        (void)roce_reuse_suspect(ctx, ctx->sender, d < 0 ? ROCE_REUSE_OLDER_PSN : ROCE_REUSE_GAP,
                                 psn);
    if (roce_reuse_is_pending(req))
        roce_reuse_on_request(ctx, psn, psn_cnt, guess);
    if (d == 0 || (d < 0 && ctx->conn->facts.svc == ROCE_SVC_UC && d < -ROCE_PSN_JUMP)) {
        if (d != 0)
            roce_requester_restart(ctx, psn, true);
        if (idle >= KEEP_ALIVE_NS && ctx->pkt->payload_len == 0 &&
            ctx->pkt->op->pos == ROCE_POS_ONLY)
            ctx->result->flags |= ROCE_AN_KEEP_ALIVE;
        /* If the peer seemed to begin a new connection on the QPs, but this requester continues its
         * PSNs, the two contradict each other. */
        ctx->conn->inconsistent |= req->peer_restarted;
        req->maybe_reused = req->peer_restarted = false;
        note_silence(ctx);
        if (req->late_ack)
            roce_late_ack_request(ctx);
        append_request(ctx, psn_cnt, guess);
    } else if (req->peer_restarted && roce_opcode_starts(ctx->pkt->op)) {
        roce_requester_restart(ctx, psn, true);
        append_request(ctx, psn_cnt, guess);
    } else {
        place_request(ctx, d, psn_cnt, guess);
    }
    req->last_time = ctx->time;
    roce_request_result(ctx, psn_cnt);
}
