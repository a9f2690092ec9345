/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/qp_reuse.h"

#include "flow/table/qp_life.h"

#define FIRST_LOST                                                                                 \
    4u /* messages of another use that may be missing before the first that is seen */

/* What a turn was. */
enum outcome { SAME, ANOTHER, UNKNOWN };

/* ---- what is held ------------------------------------------------------------------------------
 */

static bool is_nak(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_ACK && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
}

static struct roce_side *turning(struct roce_conn *conn)
{
    for (int i = 0; i < 2; i++)
        if (roce_turn_is_open(&conn->side[i].req))
            return &conn->side[i];
    return NULL;
}

bool roce_turn_hold(const struct roce_ctx *ctx, struct roce_finding *finding)
{
    struct roce_side *side = ctx->conn ? turning(ctx->conn) : NULL;
    struct roce_held *held;

    if (!side)
        return false;
    if (!side->turn->held)
        side->turn->held = roce_flow_get(ctx->flow, sizeof(*held), ctx->conn);
    held = side->turn->held;
    if (!held || held->cnt == ROCE_HELD_MAX) {
        finding->severity = ROCE_SEV_WARN;
        return false;
    }
    held->of_peer[held->cnt] = ctx->side != side;
    held->finding[held->cnt++] = *finding;
    return true;
}

/* A response that nobody asked for, when the use that was known had ended or rested, or with an MSN
 * that counts nothing new: as the first ones of another use, whatever comes after it. */
static bool may_be_of_another(const struct roce_side *side)
{
    const struct roce_turn *turn = side->turn;

    return side->req.turning == ROCE_TURN_STRAY &&
           (roce_peer(side)->rsp.fatal || turn->rested || roce_diff(turn->msn, turn->was) <= 0);
}

/* The turn of `side` ends. Where the other one's lasts, what it was may still change all. */
static void settle(struct roce_ctx *ctx, struct roce_side *side, enum outcome outcome)
{
    struct roce_held *held = side->turn ? side->turn->held : NULL;
    struct roce_ctx of = *ctx;
    uint32_t cnt = held ? held->cnt : 0;

    if (outcome == SAME && may_be_of_another(side))
        outcome = UNKNOWN;
    side->req.turning = ROCE_TURN_NONE;
    if (held)
        held->cnt = 0;
    for (uint32_t i = 0; i < cnt; i++) {
        struct roce_finding f = held->finding[i];

        of.side = held->of_peer[i] ? roce_peer(side) : side;
        if (outcome == SAME && roce_turn_hold(&of, &f))
            continue;
        f.stream = ctx->conn->stream;
        f.side = roce_side_idx(of.side);
        if (outcome != SAME || ctx->conn->doubt)
            f.severity = ROCE_SEV_WARN;
        roce_say_as(&of, &f);
    }
    roce_turn_free(ctx->flow, side);
}

/* What was thought of the two since the turn began is wrong. */
static void another(struct roce_ctx *ctx, struct roce_side *side)
{
    const struct roce_turn *turn = side->turn;
    struct roce_ctx of = *ctx;

    of.side = side;
    of.frame = turn->frame;
    of.time = turn->time;
    SAY(&of, QP_REUSED, "bth.psn", side->req.nxt, turn->first, .other = ctx->conn->sum.first_frame);
    settle(ctx, side, ANOTHER);
    if (roce_life_may_be_anew(ctx))
        ctx->conn->doubt = true; /* and not all of it is known */
    else
        roce_life_forget(ctx);
}

/* One packet that differs is a fault more often than another use; where nothing is as it was, that
 * is not so. */
static bool is_one_fault(const struct roce_side *side)
{
    const struct roce_turn *turn = side->turn;
    const struct roce_held *held = turn->held;
    const struct roce_rsp *rsp = &roce_peer(side)->rsp;
    uint32_t frames = turn->unlike, last = turn->unlike_frame;

    for (uint32_t i = 0; turn->unlike && held && i < held->cnt; i++) {
        frames += held->finding[i].frame != last;
        last = held->finding[i].frame;
    }
    if (rsp->last_frame > turn->frame &&
        (turn->was == 0 || (side->req.turning != ROCE_TURN_AHEAD && rsp->last_msn == turn->ends)))
        return false; /* what was answered may be the first of all */
    if (side->req.turning == ROCE_TURN_MSN && roce_diff(turn->msn, turn->was) < 0)
        return false;
    return frames <= 1 && !turn->port;
}

/* What the turn was, where nothing told. */
static enum outcome at_last(const struct roce_ctx *ctx, const struct roce_side *side)
{
    const struct roce_turn *turn = side->turn;
    const struct roce_rsp *rsp = &roce_peer(side)->rsp;

    /* Of the pair that was: the answers to another use may come from another QP. */
    if (!ctx->conn->paired || !rsp->started ||
        ((turn->packets > 1 || side->req.turning == ROCE_TURN_ANEW) &&
         rsp->last_frame <= turn->frame))
        return UNKNOWN;
    if (side->req.turning != ROCE_TURN_AHEAD && roce_life_may_be_anew(ctx))
        return UNKNOWN;
    return is_one_fault(side) ? SAME : UNKNOWN;
}

void roce_turn_free(struct roce_flow *flow, struct roce_side *side)
{
    if (side->turn)
        roce_mem_put(&flow->mem, side->turn->held, sizeof(*side->turn->held));
    roce_mem_put(&flow->mem, side->turn, sizeof(*side->turn));
    side->turn = NULL;
}

void roce_turn_was_anew(struct roce_ctx *ctx, struct roce_side *side)
{
    if (roce_turn_is_open(&side->req))
        settle(ctx, side, ANOTHER);
}

void roce_turn_end(struct roce_ctx *ctx)
{
    for (int i = 0; i < 2; i++) {
        struct roce_side *side = &ctx->conn->side[i];
        bool open = roce_turn_is_open(&side->req); /* or CM told of another use meanwhile */

        settle(ctx, side, open ? at_last(ctx, side) : UNKNOWN);
    }
}

/* ---- how one begins ----------------------------------------------------------------------------
 */

bool roce_turn_begin(struct roce_ctx *ctx, struct roce_side *side, enum roce_turn_kind kind,
                     uint32_t psn)
{
    struct roce_req *req = &side->req;
    struct roce_turn *turn;

    if (!roce_life_untold(ctx))
        return false;
    if (roce_turn_is_open(req)) {
        if (req->turning != ROCE_TURN_AHEAD || kind == ROCE_TURN_AHEAD)
            return false;
        settle(ctx, side, at_last(ctx, side)); /* it said little */
    }
    if (!side->turn)
        side->turn = roce_flow_get(ctx->flow, sizeof(*turn), ctx->conn);
    turn = side->turn;
    if (!turn)
        return false;
    req->turning = (uint8_t)kind;
    *turn = (struct roce_turn){.frame = ctx->frame,
                               .time = ctx->time,
                               .first = psn,
                               .next = psn,
                               .was = roce_peer(side)->rsp.last_msn,
                               .flying = req->reqs_in_flight,
                               .rested = roce_since(req->last_time, ctx->time) >= ROCE_QUICK_NS,
                               .held = turn->held};
    if (kind == ROCE_TURN_STRAY) /* a NAK counts nothing, what has no MSN tells nothing */
        turn->msn = roce_pkt_has(ctx->pkt, ROCE_HDR_AETH) ? ctx->pkt->aeth.msn + is_nak(ctx->pkt)
                                                          : turn->was + 1;
    return true;
}

void roce_turn_port(struct roce_ctx *ctx)
{
    struct roce_req *req = &ctx->side->req;
    uint32_t psn = ctx->pkt->bth.psn;

    if (roce_opcode_is_request(ctx->pkt->op)) {
        (void)roce_turn_begin(ctx, ctx->side,
                              roce_diff(psn, req->nxt) < 0 ? ROCE_TURN_BACK : ROCE_TURN_ANEW, psn);
        if (roce_turn_is_open(req))
            ctx->side->turn->port = true;
    } else if (roce_life_untold(ctx) && ctx->conn->sum.pairing == ROCE_PAIRED_BY_PORTS)
        ctx->conn->doubt = true;
}

void roce_turn_msn(struct roce_ctx *ctx, struct roce_side *side, uint32_t ends)
{
    const struct roce_req *req = &side->req;
    struct roce_turn *turn;

    if (ctx->pkt->aeth.msn > ends || !roce_turn_begin(ctx, side, ROCE_TURN_MSN, req->una))
        return;
    turn = side->turn;
    turn->next = is_nak(ctx->pkt) ? ctx->pkt->bth.psn : req->nxt;
    turn->msn = ctx->pkt->aeth.msn;
    turn->ends = ends;
}

/* ---- how it goes on ----------------------------------------------------------------------------
 */

/* Whether it began by going back, so that it ends where it left. */
static bool is_back(const struct roce_req *req)
{
    return req->turning == ROCE_TURN_BACK || req->turning == ROCE_TURN_STRAY;
}

/* Whether the packet at hand may come next after the newest. */
static bool goes_on(const struct roce_ctx *ctx, const struct roce_req *req)
{
    const struct roce_sent *tail = roce_window_tail(&req->win);

    return !tail || roce_may_follow(roce_opcode(tail->op), ctx->pkt->op);
}

void roce_turn_step(struct roce_ctx *ctx, uint32_t psn, uint32_t span, bool guess)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_turn *turn = ctx->side->turn;

    if (is_back(req) && psn == req->nxt && !turn->guess &&
        (psn == turn->next
             ? turn->alike == turn->packets
             : !roce_life_may_be_anew(ctx) && !turn->port && turn->unlike <= (turn->was > 0) &&
                   goes_on(ctx, req) && roce_diff(turn->next, psn) <= 0)) {
        settle(ctx, ctx->side, SAME); /* it goes on where it had been */
        return;
    }
    turn->packets++;
    turn->guess |= guess;
    if (roce_diff(psn, turn->next) < 0)
        return; /* again */
    turn->ends += roce_opcode_ends(ctx->pkt->op);
    turn->next = (psn + span) & ROCE_PSN_MASK;
}

/* A fault alters one thing of a packet; another use of the QP sends another one. */
static bool is_another_packet(const struct roce_sent *e, const struct roce_sent *now)
{
    return now->op != e->op && now->len != e->len;
}

void roce_turn_compare(struct roce_ctx *ctx, const struct roce_sent *e, const struct roce_sent *now)
{
    bool alike = now->psn == e->psn && !roce_life_differs(ctx, e, now);
    struct roce_turn *turn;

    if (!alike && roce_turn_begin(ctx, ctx->side, ROCE_TURN_BACK, now->psn))
        roce_turn_step(ctx, now->psn, now->span, (now->flags & ROCE_SENT_SPAN_GUESS) != 0);
    if (!roce_turn_is_open(&ctx->side->req))
        return;
    turn = ctx->side->turn;
    turn->alike += alike;
    if (!alike) {
        roce_turn_unlike(ctx);
        turn->unlike += turn->rested && is_another_packet(e, now);
    }
}

void roce_turn_unlike(struct roce_ctx *ctx)
{
    struct roce_turn *turn;

    if (!roce_turn_is_open(&ctx->side->req))
        return;
    turn = ctx->side->turn;
    if (turn->unlike++ == 0)
        turn->unlike_frame = ctx->frame;
}

void roce_turn_answer(struct roce_ctx *ctx, struct roce_side *side)
{
    const struct roce_turn *turn = side->turn;
    uint32_t psn = ctx->pkt->bth.psn, msn = ctx->pkt->aeth.msn;
    bool anew = side->req.turning == ROCE_TURN_MSN;
    bool nak = is_nak(ctx->pkt);
    bool all = ((psn + 1) & ROCE_PSN_MASK) == turn->next && !nak;
    uint32_t ends = turn->ends - (nak && turn->ends); /* what a NAK names did not end */
    uint32_t most = ends + (roce_life_may_be_anew(ctx)             ? ROCE_LIFE_STARTS
                            : side->req.turning == ROCE_TURN_STRAY ? FIRST_LOST
                                                                   : 0);
    int32_t on = roce_diff(msn, turn->was), least = 0;
    const struct roce_sent *e = roce_window_get(&side->req.win, psn);
    bool kept = ctx->pkt->op->kind != ROCE_KIND_ACK && e && e->tries > 1;

    if (roce_diff(psn, turn->first) < -1 || roce_diff(psn, side->req.nxt) >= 0)
        return; /* perhaps from before, or to what was not captured */
    if (!is_back(&side->req) && !nak)
        least = all ? (int32_t)ends : 1;
    if (anew && msn > most)
        settle(ctx, side, SAME);
    else if (!anew && msn > most + (turn->unlike ? FIRST_LOST : 0) && turn->was && on >= least &&
             (uint32_t)on <= turn->flying + most)
        settle(ctx, side, SAME);
    else if (msn <= most && (anew ? msn > turn->msn : on < 0 || (on < least && msn == ends))) {
        if (anew || !kept) {
            another(ctx, side);
        } else if (roce_life_may_be_anew(ctx)) { /* some send again what they kept, its MSN too */
            settle(ctx, side, UNKNOWN);
            ctx->conn->doubt = true;
        }
    } else if (is_back(&side->req) && turn->alike == turn->packets && turn->next == side->req.nxt &&
               all)
        settle(ctx, side, SAME); /* all came again as it was, and was answered */
}
