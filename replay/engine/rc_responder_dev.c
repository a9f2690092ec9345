/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_responder_dev.h"

#include <stdlib.h>
#include <string.h>
#include "engine/inject.h"

static const struct trace_packet *first_request(const struct setup *s)
{
    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (!s->step[i].response && !s->step[i].damaged)
            return setup_packet(s, i);
    return NULL;
}

const char *stage_open(struct stage *st, const struct run *any)
{
    struct rnic_attr attr = {.gid_cnt = 1};
    struct rnic_mr_attr recv = {.access = RNIC_ACCESS_LOCAL_WRITE};
    uint8_t src[6];
    const char *why = memory_map(&st->device->memory);
    struct memory *memory = &st->device->memory;

    if (why)
        return why;
    if (st->given && given_image(st->given, memory) != 0)
        return "the given image is more than replay may hold";
    feed_macs(first_request(&any->setup), attr.mac, src);
    memcpy(attr.gid[0].gid, st->device->addr, 16);
    attr.gid[0].type = st->device->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    st->rnic = rnic_new(&attr);
    st->recv_buf = malloc(st->recv_len + 1);
    st->invalidated = calloc(memory->keys.cnt + 1, 1);
    if (!st->rnic || !st->recv_buf || !st->invalidated || rnic_pd_new(st->rnic, &st->pd) != 0 ||
        rnic_cq_new(st->rnic, 1024, &st->cq) != 0)
        return "no memory for the RNIC";
    /* Keys of the capture first, so that the receive buffers' own does not take one of them. */
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        int rc;

        if (memory->region[i].rkey == 0)
            return "R_Key 0 is used, which our RNIC cannot be made to have";
        rc = memory_register(&memory->region[i], st->pd);
        if (rc != 0)
            return rnic_error_text(rc);
    }
    recv.addr = st->recv_buf;
    recv.len = st->recv_len + 1;
    recv.iova = 0;
    if (rnic_mr_reg(st->pd, &recv, &st->recv_mr) != 0)
        return "no memory for the receive buffers";
    st->recv_key = rnic_mr_key(st->recv_mr);
    return NULL;
}

void stage_close(struct stage *st)
{
    struct memory *memory = &st->device->memory;

    for (uint32_t i = 0; i < memory->keys.cnt; i++)
        memory->region[i].mr = NULL; /* freed with the RNIC */
    rnic_del(st->rnic);
    free(st->recv_buf);
    free(st->invalidated);
    free(st->shared);
}

static const char *qp_open(struct stage *st, struct playing *play, rnic_time now)
{
    const struct setup *s = &play->run->setup;
    const struct trace_packet *first = first_request(s);
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .recv_cq = st->cq,
                                .qpn = s->qpn,
                                .max_recv_wr = 4,
                                .max_recv_sge = 1,
                                .no_credits = true};
    struct rnic_qp_attr attr = {
        .state = RNIC_QPS_INIT,
        .access = s->access,
        .pkey = s->pkey,
        .path_mtu = s->mtu,
        .dest_qpn = s->peer_qpn,
        .rq_psn = s->rq_psn,
        .rq_msn = s->msn,
        .max_dest_rd_atomic = s->resources,
        .min_rnr_timer = s->rnr_code,
    };
    struct roce_pkt pkt;
    uint8_t mac[6];
    int rc = 0;

    if (setup_svc(s) == ROCE_SVC_XRC) {
        if (!st->xrcd)
            rc = rnic_xrcd_new(st->rnic, &st->xrcd);
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .qpn = s->qpn, .xrcd = st->xrcd};
    }
    if (rc == 0)
        rc = rnic_qp_new(st->pd, &init, &play->qp);
    if (rc != 0) {
        play->qp = NULL;
        return rnic_error_text(rc);
    }
    trace_parse(first, &pkt);
    memcpy(attr.av.dgid, st->drive->trace->flow[s->side->req_flow].src, 16);
    feed_macs(first, mac, attr.av.dmac);
    rc = rnic_qp_modify(play->qp, &attr, now);
    attr.state = RNIC_QPS_RTR;
    if (rc == 0)
        rc = rnic_qp_modify(play->qp, &attr, now);
    return rc == 0 ? NULL : rnic_error_text(rc);
}

struct rnic_qp *stage_qp(struct stage *st, uint32_t run, rnic_time now)
{
    struct playing *play = &st->play[run];

    if (play->qp || play->over || play->run->failed)
        return play->qp;
    for (size_t i = 0; i < st->drive->run_cnt; i++) {
        struct playing *other = &st->play[i];

        if (other->qp && other->run->device == play->run->device &&
            other->run->setup.qpn == play->run->setup.qpn) {
            rnic_qp_del(other->qp);
            other->qp = NULL;
            other->over = true;
        }
    }
    if (play->run->setup.side->resumed)
        memory_forget(&st->device->memory);
    play->run->failed = qp_open(st, play, now);
    if (play->run->failed && play->qp) {
        rnic_qp_del(play->qp);
        play->qp = NULL;
    }
    return play->qp;
}
