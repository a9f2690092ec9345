/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/cm_exchange.h"

#include <string.h>

/* Criteria to find a CM exchange, in addition to the communication id of one side. The
 * communication id alone is not enough: ids are reused, and a host may send a REQ again with
 * another transaction id. */
struct roce_cm_match {
    uint32_t other;      /* communication id of the other side; 0 matches any */
    const uint64_t *tid; /* transaction id of the REQ; NULL matches any */
};

static struct roce_cm_exchange *find_exchange(const struct roce_ctx *ctx, int side,
                                              uint32_t comm_id, const uint8_t addr[16],
                                              struct roce_cm_match more)
{
    struct roce_flow *flow = ctx->flow;

    if (!flow->common->cm)
        return NULL;
    for (uint32_t i = 0; i < ROCE_CM_EXCHANGES; i++) { /* searches the newest exchange first */
        struct roce_cm_exchange *s =
            &flow->common->cm[(flow->common->cm_next - 1 - i) % ROCE_CM_EXCHANGES];

        if (s->used && s->net == ctx->digest->key.net && s->comm_id[side] == comm_id &&
            (s->seen & (side ? 1u << ROCE_CM_REP : 1u << ROCE_CM_REQ)) &&
            (more.other == 0 || s->comm_id[1 - side] == more.other) &&
            (!more.tid || s->tid == *more.tid) && memcmp(s->addr[side], addr, 16) == 0)
            return s;
    }
    return NULL;
}

static const struct roce_cm_match match_any;

struct roce_cm_exchange *roce_cm_exchange_of_req(const struct roce_ctx *ctx,
                                                 const struct roce_cm_req *req)
{
    return find_exchange(ctx, 0, req->local_comm_id, ctx->src, match_any);
}

struct roce_cm_exchange *roce_cm_exchange_of_rep(const struct roce_ctx *ctx,
                                                 const struct roce_cm_msg *msg)
{
    struct roce_cm_exchange *s = find_exchange(ctx, 0, msg->rep.remote_comm_id, ctx->dst,
                                               (struct roce_cm_match){.tid = &msg->mad.tid});

    if (!s)
        s = find_exchange(ctx, 0, msg->rep.remote_comm_id, ctx->dst, match_any);
    if (!s || memcmp(s->addr[1], ctx->src, 16) != 0)
        return NULL;
    /* The exchange found has another transaction id, and has ended or has another REP. So it does
     * not belong to this REP: the REQ of this REP was not captured. */
    if (s->tid != msg->mad.tid &&
        (s->gone || (s->rep_frame && s->comm_id[1] != msg->rep.local_comm_id)))
        return NULL;
    return s;
}

/* Returns the exchange with the communication ids `local` and `remote`, or NULL. If `tid` is not
 * NULL, the REQ of the exchange must also have this transaction id. Sets *side to the side that
 * sent the message: 0 active, 1 passive. */
static struct roce_cm_exchange *find_by_both_ids(const struct roce_ctx *ctx, uint32_t local,
                                                 uint32_t remote, const uint64_t *tid, int *side)
{
    const struct roce_cm_match by_remote = {remote, tid}, by_local = {local, tid};
    struct roce_cm_exchange *s = remote ? find_exchange(ctx, 0, local, ctx->src, by_remote) : NULL;

    *side = s ? 0 : 1;
    return s || !local ? s : find_exchange(ctx, 0, remote, ctx->dst, by_local);
}

struct roce_cm_exchange *roce_cm_exchange_of(const struct roce_ctx *ctx, uint32_t local,
                                             uint32_t remote, uint64_t tid, int *side)
{
    struct roce_cm_exchange *s = find_by_both_ids(ctx, local, remote, &tid, side);

    if (!s)
        s = find_by_both_ids(ctx, local, remote, NULL, side);
    if (s)
        return s;
    *side = 0;
    s = find_exchange(ctx, 0, local, ctx->src, match_any);
    if (s && (remote == 0 || s->comm_id[1] == 0 || s->comm_id[1] == remote))
        return s;
    *side = 1;
    return find_exchange(ctx, 0, remote, ctx->dst, match_any);
}

static uint32_t hash_req(const struct roce_cm_req *req)
{
    const uint8_t *p = req->private_data;
    uint32_t h = req->local_qpn * 31 + req->starting_psn;

    h = h * 31 + (uint32_t)req->service_id;
    for (size_t i = 0; i < sizeof(req->private_data); i++)
        h = h * 31 + p[i];
    return h;
}

bool roce_cm_exchange_is_same_req(const struct roce_cm_exchange *s, const struct roce_cm_req *req)
{
    return s->hash == hash_req(req);
}

void roce_cm_exchange_begin(struct roce_ctx *ctx, const struct roce_cm_msg *msg)
{
    struct roce_flow *flow = ctx->flow;
    const struct roce_cm_req *req = &msg->req;
    struct roce_cm_exchange *s;

    if (!flow->common->cm) {
        flow->common->cm =
            roce_mem_need(flow->common->mem, ROCE_CM_EXCHANGES * sizeof(*flow->common->cm));
        if (!flow->common->cm)
            return;
    }
    s = &flow->common->cm[flow->common->cm_next++ % ROCE_CM_EXCHANGES];
    memset(s, 0, sizeof(*s));
    s->used = true;
    s->net = ctx->digest->key.net;
    memcpy(s->addr[0], ctx->src, 16);
    memcpy(s->addr[1], ctx->dst, 16);
    s->comm_id[0] = req->local_comm_id;
    s->qpn[0] = req->local_qpn;
    s->psn[0] = req->starting_psn;
    s->tid = msg->mad.tid;
    s->hash = hash_req(req);
    s->req = *req;
    s->req_frame = ctx->frame;
    s->req_time = ctx->time;
    s->reqs = 1;
    s->seen = 1u << ROCE_CM_REQ;
    s->svc = req->transport == ROCE_CM_TRANSPORT_UC ? ROCE_SVC_UC
             : roce_cm_req_is_xrc(req)              ? ROCE_SVC_XRC
                                                    : ROCE_SVC_RC;
}

void roce_cm_exchange_free(struct roce_flow *flow)
{
    roce_mem_put(flow->common->mem, flow->common->cm,
                 ROCE_CM_EXCHANGES * sizeof(*flow->common->cm));
    flow->common->cm = NULL;
}
