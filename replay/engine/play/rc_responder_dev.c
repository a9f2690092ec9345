/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_responder_dev.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"

static const struct trace_packet *first_request(const struct inferred_setup *s)
{
    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (!s->event[i].response && !s->event[i].damaged)
            return event_packet(s, i);
    return NULL;
}

const char *rc_responder_dev_open(struct rc_responder_dev *dev, const struct rc_direction *any)
{
    struct rnic_attr attr = {.gid_cnt = 1, .no_icrc = true}; /* the ICRCs are not compared */
    struct rnic_mr_attr recv = {.access = RNIC_ACCESS_LOCAL_WRITE};
    uint8_t src[6];
    const char *why = shadow_map(&dev->host->memory);
    struct shadow_memory *memory = &dev->host->memory;

    if (why)
        return why;
    inject_macs(first_request(&any->setup), attr.mac, src);
    memcpy(attr.gid[0].gid, dev->host->addr, 16);
    attr.gid[0].type = dev->host->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    dev->rnic = rnic_new(&attr);
    dev->recv_buf = malloc(dev->recv_len + 1);
    dev->invalidated = calloc(memory->keys.cnt + 1, 1);
    if (!dev->rnic || !dev->recv_buf || !dev->invalidated ||
        rnic_pd_new(dev->rnic, &dev->pd) != 0 || rnic_cq_new(dev->rnic, 1024, &dev->cq) != 0)
        return "no memory for the RNIC";
    /* Register the captured R_Keys first, so that our RNIC does not choose one of them for the
     * receive buffers. */
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        int rc;

        if (memory->region[i].rkey == 0)
            return "a request uses R_Key 0, which our RNIC cannot register";
        rc = shadow_register(&memory->region[i], dev->pd);
        if (rc != 0)
            return rnic_error_text(rc);
    }
    recv.addr = dev->recv_buf;
    recv.len = dev->recv_len + 1;
    recv.iova = 0;
    if (rnic_mr_reg(dev->pd, &recv, &dev->recv_mr) != 0)
        return "no memory for the receive buffers";
    dev->recv_key = rnic_mr_key(dev->recv_mr);
    return NULL;
}

void rc_responder_dev_close(struct rc_responder_dev *dev)
{
    struct shadow_memory *memory = &dev->host->memory;

    for (uint32_t i = 0; i < memory->keys.cnt; i++)
        memory->region[i].mr = NULL; /* rnic_del() frees the memory region */
    rnic_del(dev->rnic);
    free(dev->recv_buf);
    free(dev->invalidated);
    free(dev->srq);
}

static const char *qp_open(struct rc_responder_dev *dev, struct dir_state *state, rnic_time now)
{
    const struct inferred_setup *s = &state->dir->setup;
    const struct trace_packet *first = first_request(s);
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .recv_cq = dev->cq,
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

    if (inferred_setup_svc(s) == ROCE_SVC_XRC) {
        if (!dev->xrcd)
            rc = rnic_xrcd_new(dev->rnic, &dev->xrcd);
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .qpn = s->qpn, .xrcd = dev->xrcd};
    }
    if (rc == 0)
        rc = rnic_qp_new(dev->pd, &init, &state->qp);
    if (rc != 0) {
        state->qp = NULL;
        return rnic_error_text(rc);
    }
    trace_parse(first, &pkt);
    memcpy(attr.av.dgid, dev->session->trace->flow[s->recorded->req_flow].src, 16);
    inject_macs(first, mac, attr.av.dmac);
    rc = rnic_qp_modify(state->qp, &attr, now);
    attr.state = RNIC_QPS_RTR;
    if (rc == 0)
        rc = rnic_qp_modify(state->qp, &attr, now);
    return rc == 0 ? NULL : rnic_error_text(rc);
}

struct rnic_qp *rc_responder_dev_qp(struct rc_responder_dev *dev, uint32_t dir, rnic_time now)
{
    struct dir_state *state = &dev->state[dir];

    if (state->qp || state->over || state->dir->failed)
        return state->qp;
    for (uint32_t i = dev->host->first_dir; i != KEYMAP_NONE; i = dev->state[i].dir->next_of_host) {
        struct dir_state *other = &dev->state[i];

        /* Packets of an earlier connection on this QP may still wait for requests of other
         * connections. They are never executed, because the QP is now reused. */
        if ((other->qp && other->dir->setup.qpn == state->dir->setup.qpn) ||
            (!other->over && rc_direction_precedes(other->dir, state->dir))) {
            if (other->qp)
                rnic_qp_del(other->qp);
            other->qp = NULL;
            other->over = true;
            shared_memory_ended(&dev->sharing, i);
        }
    }
    if (state->dir->setup.recorded->after_gap)
        shadow_forget_writes(&dev->host->memory);
    state->dir->failed = qp_open(dev, state, now);
    if (state->dir->failed && state->qp) {
        rnic_qp_del(state->qp);
        state->qp = NULL;
    }
    return state->qp;
}
