/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pairing: which two directions between two hosts are one connection, when no CM message told.
 *
 * A response names a PSN that the other direction must have sent. A direction that waits for its
 * partner stands in a list of its pair of hosts, the one that sent last first: a response comes
 * soon after its request, so that the partner is near the front however many connections there are.
 *
 * Many programs start every QP at the same PSN, so a match of PSNs alone may be chance. The UDP
 * source port helps: Linux derives it from both QPNs, the same for both directions
 * (include/rdma/ib_verbs.h rdma_calc_flow_label, rdma_flow_label_to_udp_sport). Without it small
 * PSNs have to match uniquely several times.
 */
#include "flow/check.h"

#include <string.h>

#define SCAN_MAX  256  /* partners looked at a time */
#define PSN_SMALL 4096 /* below: a PSN that programs choose, not a random one */
#define CONFIRM   3

static uint16_t sport_of(uint32_t qpn, uint32_t other)
{
    uint64_t v = (uint64_t)qpn * other;
    uint32_t label;

    v ^= v >> 20;
    v ^= v >> 40;
    label = v & 0xFFFFF;
    return (uint16_t)(0xC000 | ((label & 0x3FFF) ^ label >> 14));
}

static uint32_t bucket_of(const uint8_t src[16], const uint8_t dst[16], uint32_t net)
{
    uint64_t w[4], h;

    memcpy(w, src, 16);
    memcpy(w + 2, dst, 16);
    h = (w[0] ^ w[1] * 3 ^ w[2] * 5 ^ w[3] * 7 ^ net) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h >> 40) & (ROCE_PAIR_BUCKETS - 1);
}

static void unlink_side(struct roce_flow *flow, struct roce_side *side)
{
    if (side->pair_prev)
        side->pair_prev->pair_next = side->pair_next;
    else
        flow->pair[side->pair_key] = side->pair_next;
    if (side->pair_next)
        side->pair_next->pair_prev = side->pair_prev;
    side->pair_next = side->pair_prev = NULL;
}

void roce_pair_wait(struct roce_flow *flow, struct roce_side *side)
{
    if (side->pair_wait) {
        if (flow->pair[side->pair_key] == side)
            return;
        unlink_side(flow, side);
    } else
        side->pair_key = bucket_of(side->key.src, roce_peer(side)->key.src, side->conn->net);
    side->pair_next = flow->pair[side->pair_key];
    if (side->pair_next)
        side->pair_next->pair_prev = side;
    flow->pair[side->pair_key] = side;
    side->pair_wait = true;
}

void roce_pair_done(struct roce_flow *flow, struct roce_side *side)
{
    if (!side->pair_wait)
        return;
    unlink_side(flow, side);
    side->pair_wait = false;
}

/* Whether `cand` sends from where `side` sends to, and the other way round. */
static bool faces(const struct roce_side *side, const struct roce_side *cand)
{
    return cand != side && cand->conn->net == side->conn->net &&
           memcmp(cand->key.src, roce_peer(side)->key.src, 16) == 0 &&
           memcmp(roce_peer(cand)->key.src, side->key.src, 16) == 0;
}

/* Their QPNs give the source port that both use. */
static bool ports_prove(const struct roce_side *side, const struct roce_side *cand)
{
    return side->sport == cand->sport && side->sport != 0 &&
           side->sport == sport_of(roce_peer(side)->qpn, roce_peer(cand)->qpn);
}

/* Whether `op` at `psn` can be an answer to what `cand` sent. */
static bool answers(struct roce_side *cand, const struct roce_opcode *op, uint32_t psn)
{
    struct roce_sent *e;

    if (!cand->req.started)
        return false;
    e = roce_window_get(&cand->req.win, psn);
    if (!e && op->kind == ROCE_KIND_ACK) /* a NAK names what is missing */
        return roce_window_get(&cand->req.win, (psn + 1) & ROCE_PSN_MASK) != NULL;
    if (!e)
        return false;
    if (op->kind == ROCE_KIND_READ_RESP)
        return roce_opcode(e->op)->kind == ROCE_KIND_READ;
    if (op->kind == ROCE_KIND_ATOMIC_ACK)
        return roce_opcode_is_atomic(roce_opcode(e->op));
    return true;
}

void roce_pair_count(struct roce_flow *flow, const struct roce_conn *conn)
{
    uint16_t *cnt =
        &flow->directions[bucket_of(conn->side[0].key.src, conn->side[1].key.src, conn->net)];

    *cnt = (uint16_t)(*cnt + (*cnt < UINT16_MAX));
}

bool roce_pair_sure(const struct roce_flow *flow, const struct roce_conn *conn)
{
    const uint8_t *a = conn->side[0].key.src, *b = conn->side[1].key.src;
    unsigned most = memcmp(a, b, 16) == 0 ? 2 : 1;

    if (!conn->guess)
        return true;
    return conn->fits >= ROCE_PAIR_FITS && flow->directions[bucket_of(a, b, conn->net)] <= most &&
           flow->directions[bucket_of(b, a, conn->net)] <= most;
}

void roce_pair_fits(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;
    struct roce_side *peer = roce_peer(ctx->side);
    uint32_t psn = ctx->pkt->bth.psn;
    const struct roce_sent *e;

    if (!conn->guess || !peer->req.started)
        return;
    e = roce_window_get(&peer->req.win, psn);
    if (e && (e->flags & ROCE_SENT_SPAN_GUESS) && e->psn != psn)
        return;
    if (e && !answers(peer, ctx->pkt->op, psn))
        conn->doubt = true; /* what it answers, nobody asked */
    else if (e && conn->fits < ROCE_PAIR_FITS)
        conn->fits++;
}

static void join(struct roce_ctx *ctx, struct roce_side *cand, bool guess)
{
    struct roce_conn *mine = ctx->conn, *its = cand->conn;

    if (mine->stream < its->stream) {
        roce_conn_join(ctx->flow, mine, its);
        ctx->side = &mine->side[0];
    } else {
        roce_conn_join(ctx->flow, its, mine);
        ctx->conn = its;
        ctx->side = &its->side[1];
    }
    ctx->conn->guess = guess;
    roce_conn_touch(ctx->flow, ctx->conn);
}

void roce_pair_response(struct roce_ctx *ctx, uint32_t psn)
{
    struct roce_side *side = ctx->side, *found = NULL, *proven = NULL;
    unsigned cnt = 0, proofs = 0, scan = 0;

    for (struct roce_side *cand =
             ctx->flow->pair[bucket_of(roce_peer(side)->key.src, side->key.src, side->conn->net)];
         cand && scan < SCAN_MAX; cand = cand->pair_next, scan++) {
        if (!faces(side, cand) || cand->conn->sum.svc != side->conn->sum.svc ||
            !answers(cand, ctx->pkt->op, psn))
            continue;
        if (ports_prove(side, cand)) {
            proven = cand;
            proofs++;
        }
        found = cand;
        cnt++;
    }
    if (proofs == 1) {
        join(ctx, proven, false);
        return;
    }
    if (cnt == 0 && answers(side, ctx->pkt->op, psn) &&
        memcmp(side->key.src, roce_peer(side)->key.src, 16) == 0) {
        /* A QP that is connected to itself. */
        side->conn->self = side->conn->paired = side->conn->sum.paired = true;
        side->qpn = roce_peer(side)->qpn = side->conn->side[1].qpn;
        roce_pair_done(ctx->flow, side);
        return;
    }
    if (cnt != 1)
        return;
    if (psn >= PSN_SMALL || ++side->pair_hits >= CONFIRM)
        join(ctx, found, true);
    else if (roce_pkt_has(ctx->pkt, ROCE_HDR_AETH))
        roce_note_nak(ctx,
                      &roce_peer(found)->rsp); /* it goes back for this before they are joined */
}

void roce_pair_silent(struct roce_ctx *ctx)
{
    struct roce_side *side = ctx->side, *found = NULL;
    unsigned cnt = 0, scan = 0;

    for (struct roce_side *cand =
             ctx->flow->pair[bucket_of(roce_peer(side)->key.src, side->key.src, side->conn->net)];
         cand && scan < SCAN_MAX; cand = cand->pair_next, scan++)
        if (faces(side, cand) && cand->conn->sum.svc == side->conn->sum.svc &&
            ports_prove(side, cand)) {
            found = cand;
            cnt++;
        }
    if (cnt == 1)
        join(ctx, found, false);
    else
        roce_pair_wait(ctx->flow, side);
}
