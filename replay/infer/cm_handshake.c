/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/cm_handshake.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"

/* How many exchanges back the REQ of a REP is looked for: CM retries end long before. */
#define LOOK_BACK 4096

static bool same_addr(const uint8_t a[16], const uint8_t b[16])
{
    return memcmp(a, b, 16) == 0;
}

/* The newest exchange that a message from the active end with this id belongs to, or NULL. */
static struct cm_handshake *find_handshake(struct cm_handshakes *cm, const uint8_t active[16],
                                           const uint8_t passive[16], uint32_t comm_id)
{
    size_t low = cm->cnt > LOOK_BACK ? cm->cnt - LOOK_BACK : 0;

    for (size_t i = cm->cnt; i-- > low;) {
        struct cm_handshake *c = &cm->handshake[i];

        if (c->active.comm_id == comm_id && same_addr(c->active.addr, active) &&
            same_addr(c->passive.addr, passive))
            return c;
    }
    return NULL;
}

static bool on_req(struct cm_handshakes *cm, const struct trace_flow *flow,
                   const struct roce_cm_req *req, bool whole)
{
    struct cm_handshake *c = find_handshake(cm, flow->src, flow->dst, req->local_comm_id);

    if (c && c->active.qpn == req->local_qpn && c->active.psn == req->starting_psn)
        return true; /* repeated */
    if (!VEC_GROW(cm->handshake, cm->cnt, cm->cap))
        return false;
    c = &cm->handshake[cm->cnt++];
    *c = (struct cm_handshake){
        .active = {.comm_id = req->local_comm_id,
                   .qpn = req->local_qpn,
                   .psn = req->starting_psn,
                   .resources = req->responder_resources,
                   .rnr_retry = req->rnr_retry_count},
        .encap = flow->encap,
        .mtu = roce_mtu_bytes(req->mtu),
        .timeout = req->primary_ack_timeout,
        .retry_cnt = req->retry_count,
        .whole = whole,
    };
    memcpy(c->active.addr, flow->src, 16);
    memcpy(c->passive.addr, flow->dst, 16);
    return true;
}

static void on_rep(struct cm_handshakes *cm, const struct trace_flow *flow,
                   const struct roce_cm_rep *rep, uint32_t pkt, bool whole)
{
    struct cm_handshake *c = find_handshake(cm, flow->dst, flow->src, rep->remote_comm_id);

    if (!c || c->complete)
        return;
    c->passive.comm_id = rep->local_comm_id;
    c->passive.qpn = roce_cm_rep_qpn(rep);
    c->passive.psn = rep->starting_psn;
    c->passive.resources = rep->responder_resources;
    c->passive.rnr_retry = rep->rnr_retry_count;
    c->whole &= whole;
    c->complete = true;
    c->pkt = pkt;
}

int cm_handshakes_find(struct cm_handshakes *cm, const struct trace *trace, struct error *error)
{
    memset(cm, 0, sizeof(*cm));
    for (uint32_t i = 0; i < trace->cnt; i++) {
        const struct trace_flow *flow = &trace->flow[trace->pkt[i].flow];
        struct roce_cm_msg msg;
        struct roce_pkt pkt;
        bool whole = !trace->pkt[i].cut && !trace->pkt[i].zero_filled;

        if (flow->dest_qp != ROCE_QP_GSI || flow->svc != ROCE_SVC_UD || trace->pkt[i].dropped)
            continue;
        trace_parse(&trace->pkt[i], &pkt);
        if (roce_cm_msg_of_pkt(&msg, &pkt) != 0)
            continue;
        if (msg.kind == ROCE_CM_REQ && !on_req(cm, flow, &msg.req, whole))
            return error_set(error, "%s: no memory", trace->name);
        if (msg.kind == ROCE_CM_REP)
            on_rep(cm, flow, &msg.rep, i, whole);
    }
    return 0;
}

void cm_handshakes_free(struct cm_handshakes *cm)
{
    free(cm->handshake);
    memset(cm, 0, sizeof(*cm));
}
