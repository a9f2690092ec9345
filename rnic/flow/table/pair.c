/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/pair.h"

#include <string.h>
#include "flow/base/peer.h"
#include "flow/table/conn.h"
#include "flow/table/pair_index.h"
#include "flow/table/qp_reuse.h"

#define SCAN_MAX 256 /* maximum number of directions examined for one packet */
/* a PSN below this value was probably set by a program, not chosen at random */
#define PSN_SMALL 4096
/* Two directions with the same UDP source port are paired after this number of responses in one
 * direction fitted requests in the opposite direction. */
#define CONFIRM 3
/* Two directions with different UDP source ports are paired after this number of responses in one
 * direction fitted requests in the opposite direction. The number is larger, because few devices
 * use two ports for a connection. */
#define APART 5
/* A PSN is near the captured PSNs of a requester if it is less than NEAR before the first one or
 * after the last one. */
#define NEAR 64

/* Returns whether `cand` sends in the opposite direction: from the peer host of `side` to the host
 * of `side`. `cand` may be the peer of `side`. */
static inline bool is_reverse(const struct roce_endpoint *side, const struct roce_endpoint *cand)
{
    return cand != side && cand->conn->net == side->conn->net &&
           memcmp(cand->key.src, roce_peer(side)->key.src, 16) == 0 &&
           memcmp(roce_peer(cand)->key.src, side->key.src, 16) == 0;
}

/* Returns whether the source port of `side` is the one that Linux derives from the QPNs of both
 * directions. */
static bool port_follows(const struct roce_endpoint *side, const struct roce_endpoint *cand)
{
    return side->sport == roce_linux_sport(roce_peer(side)->qpn, roce_peer(cand)->qpn);
}

/* Returns whether both directions use the source port that Linux derives from their QPNs. */
static bool ports_prove(const struct roce_endpoint *side, const struct roce_endpoint *cand)
{
    return side->sport == cand->sport && side->sport != 0 && port_follows(side, cand);
}

/* Returns how certain it is that two directions are a pair, if their source port follows from the
 * two QPNs. `mates` is the number of directions that use this port. If there are several, the port
 * may fit by coincidence, so the pairing is a guess. */
static enum roce_pairing by_ports(unsigned mates)
{
    return mates > 1 ? ROCE_PAIRED_BY_PORT : ROCE_PAIRED_BY_PORTS;
}

/* Returns whether the length of the READ response `pkt` fits request `e`, which contains the PSN of
 * `pkt`. If the READ was retransmitted, the length proves nothing, and the result is true. */
static bool read_length_fits(const struct roce_sent_packet *e, const struct roce_pkt *pkt)
{
    if (roce_opcode(e->op)->kind != ROCE_KIND_READ)
        return roce_opcode_is_answered(roce_opcode(e->op)) &&
               !roce_opcode_is_atomic(roce_opcode(e->op));
    if (e->psn != pkt->bth.psn || e->tries > 1 || e->dma_len == ROCE_LEN_UNKNOWN)
        return true;
    switch (pkt->op->pos) {
    case ROCE_POS_ONLY: return pkt->payload_len == e->dma_len;
    case ROCE_POS_FIRST: return pkt->payload_len < e->dma_len;
    default: return true;
    }
}

/* Returns whether the response `pkt` can answer a request of `cand`, which may be its requester.
 * `e` is the request of `cand` with the PSN of `pkt`; NULL if there is none. */
static inline bool can_answer(struct roce_endpoint *cand, const struct roce_pkt *pkt,
                              const struct roce_sent_packet *e)
{
    const struct roce_opcode *op = pkt->op;

    if (!e && op->kind == ROCE_KIND_ACK) /* a sequence NAK has the PSN of a missing request; the
                                          * request after the missing one was captured */
        return roce_window_get(&cand->req.win, (pkt->bth.psn + 1) & ROCE_PSN_MASK) != NULL;
    if (!e)
        return false;
    if (op->kind == ROCE_KIND_READ_RESP)
        return read_length_fits(e, pkt);
    if (op->kind == ROCE_KIND_ATOMIC_ACK)
        return roce_opcode_is_atomic(roce_opcode(e->op));
    return true;
}

/* Returns the request of `cand` with the PSN of `pkt`, or NULL. A search for the requester of a
 * response calls this function for many directions. So the function avoids the slower
 * roce_window_get() if possible. */
static const struct roce_sent_packet *sent_with(struct roce_endpoint *cand,
                                                const struct roce_pkt *pkt)
{
    struct roce_window *w = &cand->req.win;
    uint32_t psn = pkt->bth.psn, i;

    if (!cand->req.started || w->cnt == 0)
        return NULL;
    /* Without READs and gaps, each entry has one PSN, so no search is needed. */
    i = (psn - roce_window_at(w, 0)->psn) & ROCE_PSN_MASK;
    if (i < w->cnt && roce_sent_has(roce_window_at(w, i), psn))
        return roce_window_at(w, i);
    return roce_window_get(w, psn);
}

/* Returns whether the response `pkt` can answer a request of `cand`. The function searches for this
 * request in the window of `cand`. */
static bool may_answer(struct roce_endpoint *cand, const struct roce_pkt *pkt)
{
    return cand->req.started &&
           can_answer(cand, pkt, roce_window_get(&cand->req.win, pkt->bth.psn));
}

/* Returns whether `psn` is near the captured PSNs of requester `cand` (NEAR). `cand` may then have
 * sent a request with this PSN that was not captured. */
static bool is_near(const struct roce_endpoint *cand, uint32_t psn)
{
    return cand->req.started && roce_diff(psn, cand->req.base) >= -NEAR &&
           roce_diff(psn, cand->req.nxt) < NEAR;
}

/* Returns whether the MSN of `pkt` equals the number of messages that requester `cand` sent in the
 * capture up to request `e`. `e` has the PSN of `pkt` and may be NULL. If they are equal, the
 * capture contains the start of this connection, because the MSN counts from 0 (R102). `nak`: `pkt`
 * is a NAK. */
static bool msn_counts(const struct roce_endpoint *cand, const struct roce_pkt *pkt,
                       const struct roce_sent_packet *e, bool nak)
{
    const struct roce_window *w = &cand->req.win;
    const struct roce_sent_packet *first;
    uint32_t cum;

    if (!e || !roce_pkt_has(pkt, ROCE_HDR_AETH))
        return false;
    first = roce_window_at(w, 0);
    if (first->psn != cand->req.base || !(first->flags & ROCE_SENT_OFF_KNOWN) ||
        first->run_id != e->run_id || (e->flags & ROCE_SENT_PSN_CNT_GUESS))
        return false;
    cum = (nak ? roce_sent_number(e) : e->cum) - roce_sent_number(first);
    return pkt->aeth.msn == cum || (pkt->op->kind == ROCE_KIND_READ_RESP &&
                                    pkt->op->pos == ROCE_POS_FIRST && pkt->aeth.msn + 1 == cum);
}

static bool is_rnr(const struct roce_pkt *pkt)
{
    return roce_pkt_is_nak(pkt) && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR;
}

void roce_pair_check_response(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;
    struct roce_endpoint *peer = roce_peer(ctx->sender);
    uint32_t psn = ctx->pkt->bth.psn;
    const struct roce_sent_packet *e;
    bool late =
        roce_reuse_is_unannounced(ctx) &&
        (ctx->sender->rsp.fatal || (peer->req.una_known && roce_diff(psn, peer->req.una) < 0));

    if (!(roce_is_guess(conn) || roce_reuse_is_unannounced(ctx)) || !peer->req.started)
        return;
    e = roce_window_get(&peer->req.win, psn);
    if (e && (e->flags & ROCE_SENT_PSN_CNT_GUESS) && e->psn != psn)
        return;
    if (!e || (may_answer(peer, ctx->pkt) &&
               !(is_rnr(ctx->pkt) && (late || !roce_opcode_uses_rq(roce_opcode(e->op))))))
        return;
    /* The response does not fit the captured request with its PSN: the response is wrong, or it
     * answers another request that was not captured. */
    if (roce_is_guess(conn) || (late && roce_qp_may_be_reused(ctx)))
        conn->inconsistent = true;
    else
        (void)roce_reuse_suspect(ctx, peer, ROCE_REUSE_UNSOLICITED, psn);
}

/* Resets the counters of requests without a response before a timeout. Responses that were captured
 * before the pairing may have answered these requests. */
static void forget_unanswered(struct roce_endpoint *side)
{
    struct roce_cold_counters *cold = side->counts.cold;

    if (!cold)
        return;
    cold->timeout_losses.unanswered = cold->timeout_losses.unfinished = 0;
    cold->timeout_losses.unasked = 0;
    for (unsigned i = 0; cold->watches && i < ROCE_WATCHES; i++)
        cold->watches->of[i].unanswered = false;
}

static void join_pair(struct roce_ctx *ctx, struct roce_endpoint *cand, enum roce_pairing by)
{
    struct roce_conn *mine = ctx->conn, *its = cand->conn;
    /* true: a response of one direction was captured before the pairing, so the opposite direction
     * had sent requests */
    bool late = ctx->sender->counts.responses || cand->counts.responses;

    if (mine->conn_index < its->conn_index) {
        roce_conn_join(ctx->flow, mine, its);
        ctx->sender = &mine->side[0];
    } else {
        roce_conn_join(ctx->flow, its, mine);
        ctx->conn = its;
        ctx->sender = &its->side[1];
    }
    ctx->conn->facts.pairing = by;
    ctx->conn->join_frame = late ? ctx->frame : 0;
    for (unsigned i = 0; late && i < 2; i++)
        forget_unanswered(&ctx->conn->side[i]);
    roce_conn_note_use(ctx->flow, ctx->conn);
}

/* Candidates for the opposite direction of a given direction, according to one kind of evidence.
 * `cnt` is the number of candidates, `side` the last one found. */
struct candidates {
    unsigned cnt;
    struct roce_endpoint *side;
};

static void note_candidate(struct candidates *cands, struct roce_endpoint *cand)
{
    cands->cnt++;
    cands->side = cand;
}

/* Sets pair_ambiguous in `side`, which sent a response, and in all endpoints `fits`, each of which
 * may have sent the request of that response. */
static void note_ambiguous_pairs(struct roce_endpoint *side, struct roce_endpoint *const *fits,
                                 unsigned cnt)
{
    side->pair_ambiguous = true;
    for (unsigned i = 0; i < cnt; i++)
        fits[i]->pair_ambiguous = true;
}

void roce_pair_response(struct roce_ctx *ctx, uint32_t psn)
{
    struct roce_endpoint *side = ctx->sender, *one, *fits[SCAN_MAX];
    struct candidates proven = {0}, fit = {0}, counted = {0}, same_port = {0};
    /* Directions in which no captured request fits the response, but for which there is other
     * evidence. `port`: the source port follows from the QPNs. `near`: the PSN of the response is
     * near their PSNs. */
    struct candidates port = {0}, near = {0};
    unsigned scan = 0, mates = 0; /* mates: number of directions with the source port of `side` */
    bool ports, alone, nak = roce_pkt_is_nak(ctx->pkt);

    for (struct roce_endpoint *cand = roce_pair_candidates(ctx->flow, side);
         cand && scan < SCAN_MAX; cand = cand->pair_next, scan++) {
        const struct roce_sent_packet *sent;
        bool mate = side->sport && cand->sport == side->sport;

        if (cand->conn->facts.svc != side->conn->facts.svc || !is_reverse(side, cand))
            continue;
        mates += mate;
        sent = sent_with(cand, ctx->pkt);
        if (!cand->req.started || !can_answer(cand, ctx->pkt, sent)) {
            if (mate && port_follows(side, cand))
                note_candidate(&port, cand);
            if (is_near(cand, psn))
                note_candidate(&near, cand);
            continue;
        }
        fits[fit.cnt] = cand;
        note_candidate(&fit, cand);
        if (mate && port_follows(side, cand))
            note_candidate(&proven, cand);
        if (msn_counts(cand, ctx->pkt, sent, nak))
            note_candidate(&counted, cand);
        if (mate)
            note_candidate(&same_port, cand);
    }
    if (proven.cnt == 1) {
        join_pair(ctx, proven.side, by_ports(mates));
        return;
    }
    if (fit.cnt == 0 && may_answer(side, ctx->pkt) &&
        memcmp(side->key.src, roce_peer(side)->key.src, 16) == 0) {
        /* No other QP sent the request, and source and destination are the same host: the QP is
         * connected to itself. */
        side->conn->self = side->conn->paired = side->conn->facts.paired = true;
        side->conn->facts.pairing = ROCE_PAIRED_SELF;
        side->qpn = roce_peer(side)->qpn = side->conn->side[1].qpn;
        roce_pair_index_remove(ctx->flow, side);
        return;
    }
    if (fit.cnt == 0 && port.cnt == 1 && near.cnt == 1 && near.side == port.side) {
        /* The request was not captured, but the source port follows from the QPNs of both. */
        join_pair(ctx, port.side, by_ports(mates));
        return;
    }
    if (fit.cnt && !side->pair_ambiguous)
        note_ambiguous_pairs(side, fits, fit.cnt);
    if (port.cnt)
        return; /* The UDP source port of a direction in `port` follows from its two QPNs. So that
                 * direction is the requester, although its request was not captured. Do not pair
                 * `side` with another direction. */
    one = fit.cnt == 1         ? fit.side
          : counted.cnt == 1   ? counted.side
          : same_port.cnt == 1 ? same_port.side
                               : NULL;
    if (!one)
        return;
    /* Most devices use the same source port in both directions of a connection. */
    ports = one->sport == side->sport;
    if (mates && !ports)
        return;
    if (near.cnt && !(ports && side->sport && same_port.cnt == 1))
        return;
    if (side->pair_with != one->conn->conn_index) {
        side->pair_with = one->conn->conn_index;
        side->pair_hits = 0;
    }
    side->pair_hits = (uint8_t)(side->pair_hits + (side->pair_hits < APART));
    alone = counted.cnt && roce_pair_is_alone(ctx->flow, side->conn);
    if (side->pair_hits >= (ports ? CONFIRM : APART) ||
        (fit.cnt == 1 && !near.cnt &&
         (ports ? psn >= PSN_SMALL || alone || (counted.cnt && side->pair_hits > 1)
                : alone && side->pair_hits > 1)))
        join_pair(ctx, one,
                  fit.cnt == 1       ? ROCE_PAIRED_BY_PSNS
                  : counted.cnt == 1 ? ROCE_PAIRED_BY_MSNS
                                     : ROCE_PAIRED_BY_PORT);
    else if (roce_pkt_has(ctx->pkt, ROCE_HDR_AETH))
        roce_rsp_note_nak(ctx, &roce_peer(one)->rsp); /* record the NAK already for the probable
                                                       * requester: it may cause a go-back before
                                                       * the directions are paired */
}

/* Returns whether the current packet belongs to another connection than ctx->conn: its source port
 * is not the port that proved the pairing, and its PSN does not continue the connection. If the
 * device uses several paths, the port changes, but the PSN continues. */
static bool is_foreign(struct roce_ctx *ctx, uint16_t sport)
{
    const struct roce_req *req = &ctx->sender->req;
    struct roce_endpoint *peer = roce_peer(ctx->sender);
    uint32_t psn = ctx->pkt->bth.psn;

    if (ctx->flow->opts.any_order || sport == roce_linux_sport(ctx->sender->qpn, peer->qpn) ||
        ctx->sender->sport != roce_linux_sport(ctx->sender->qpn, peer->qpn))
        return false;
    if (roce_opcode_is_response(ctx->pkt->op))
        return !may_answer(peer, ctx->pkt) ||
               (peer->req.una_known && roce_diff(psn, peer->req.una) < 0);
    if (!req->started)
        return true;
    return psn != req->nxt &&
           (roce_opcode_starts(ctx->pkt->op) || !roce_window_get(&ctx->sender->req.win, psn));
}

bool roce_pair_has_ended(struct roce_ctx *ctx)
{
    const struct roce_conn *conn = ctx->conn;
    struct roce_endpoint *side = ctx->sender, *peer = roce_peer(side);
    uint64_t last =
        side->req.last_time > peer->req.last_time ? side->req.last_time : peer->req.last_time;
    bool response = roce_opcode_is_response(ctx->pkt->op);
    uint16_t sport = roce_pkt_has(ctx->pkt, ROCE_HDR_UDP) ? ctx->pkt->udp.sport : 0;
    struct candidates proven = {0}, fit = {0};
    unsigned scan = 0;
    bool rested, other;

    if (!conn->paired || conn->self || roce_conn_cm_seen(conn) || last == 0)
        return false;
    rested = roce_since(last, ctx->time) >= ROCE_IDLE_REUSE_NS;
    other = !roce_is_guess(conn) && sport && sport != side->sport;
    if (!rested && !other)
        return false;
    for (struct roce_endpoint *cand = roce_pair_candidates(ctx->flow, side);
         cand && scan < SCAN_MAX; cand = cand->pair_next, scan++) {
        if (!is_reverse(side, cand) || cand->conn->facts.svc != ctx->pkt->op->svc ||
            cand->conn->facts.first_time < last || (response && !may_answer(cand, ctx->pkt)))
            continue;
        note_candidate(&fit, cand);
        if (sport && cand->sport == sport &&
            sport == roce_linux_sport(peer->qpn, roce_peer(cand)->qpn))
            note_candidate(&proven, cand);
    }
    return proven.cnt == 1 || (other && is_foreign(ctx, sport)) ||
           (rested && response && fit.cnt == 1 && !may_answer(peer, ctx->pkt));
}

void roce_pair_uc(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    struct candidates proven = {0};
    unsigned scan = 0, mates = 0;

    for (struct roce_endpoint *cand = roce_pair_candidates(ctx->flow, side);
         cand && scan < SCAN_MAX; cand = cand->pair_next, scan++)
        if (is_reverse(side, cand) && cand->conn->facts.svc == side->conn->facts.svc) {
            mates += side->sport && cand->sport == side->sport;
            if (ports_prove(side, cand))
                note_candidate(&proven, cand);
        }
    if (proven.cnt == 1)
        join_pair(ctx, proven.side, by_ports(mates));
    else
        roce_pair_index_add(ctx->flow, side);
}

static bool at_one_time(const struct roce_conn *conn, const struct roce_conn *other)
{
    return conn->facts.first_time <= other->facts.last_time &&
           other->facts.first_time <= conn->facts.last_time;
}

/* Returns whether `cand` may have sent the requests that `side` answered: the PSNs are near, and
 * both endpoints sent packets in the same period. The PSNs need not match exactly. If the clocks of
 * two mirror ports differ, each ACK may precede its request in the capture. */
static bool answers_near(const struct roce_endpoint *side, const struct roce_endpoint *cand)
{
    return side->rsp.started && is_near(cand, side->rsp.last_psn) &&
           at_one_time(side->conn, cand->conn);
}

/* Returns the unpaired direction that is the opposite of `side` by the source ports: both ports
 * follow from the two QPNs. Returns NULL if no direction or several directions fit. Sets *by to the
 * evidence. */
static struct roce_endpoint *proven_by_port(struct roce_flow *flow, struct roce_endpoint *side,
                                            enum roce_pairing *by)
{
    struct candidates proven = {0};
    unsigned scan = 0, mates = 0;

    for (struct roce_endpoint *cand = roce_pair_candidates(flow, side); cand && scan < SCAN_MAX;
         cand = cand->pair_next, scan++) {
        if (cand->conn->paired || !is_reverse(side, cand) ||
            cand->conn->facts.svc != side->conn->facts.svc)
            continue;
        mates += side->sport && cand->sport == side->sport;
        if (ports_prove(side, cand))
            note_candidate(&proven, cand);
    }
    *by = by_ports(mates);
    return proven.cnt == 1 ? proven.side : NULL;
}

void roce_pair_finish(struct roce_flow *flow)
{
    for (struct roce_conn *conn = flow->first_all, *next; conn; conn = next) {
        struct roce_endpoint *side = &conn->side[0], *cand = NULL;
        struct roce_ctx ctx = {.flow = flow,
                               .conn = conn,
                               .sender = side,
                               .frame = conn->facts.last_frame,
                               .time = conn->facts.last_time};
        enum roce_pairing by;

        next = conn->next_all;
        if (conn->paired || conn->ud)
            continue;
        /* If no request was answered, the source ports still show which directions belong together.
         */
        cand = proven_by_port(flow, side, &by);
        if (cand && cand->conn->conn_index > conn->conn_index) {
            if (next == cand->conn)
                next = next->next_all;
            join_pair(&ctx, cand, by);
            continue;
        }
        if (!roce_pair_is_alone(flow, conn))
            continue;
        for (cand = roce_pair_candidates(flow, side); cand && !is_reverse(side, cand);
             cand = cand->pair_next)
            ;
        if (!cand || cand->conn->paired || cand->conn->facts.svc != conn->facts.svc ||
            (side->pair_indexed &&
             /* the loop has already examined this pair of directions, with the roles of `side` and
              * `cand` exchanged */
             cand->conn->conn_index < conn->conn_index))
            continue;
        if (side->pair_hits || cand->pair_hits || answers_near(side, cand) ||
            answers_near(cand, side) ||
            (conn->facts.svc == ROCE_SVC_UC && at_one_time(conn, cand->conn))) {
            if (next == cand->conn)
                next = next->next_all;
            join_pair(&ctx, cand, ROCE_PAIRED_ALONE);
        }
    }
}
