/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/qp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "wire/codes.h"

#define QPN_FIRST 2u        /* 0 and 1 are the management QPs */
#define QPN_LAST  0xFFFFFEu /* above it is multicast (R048) */
#define PKEY_BASE 0x7FFFu   /* the part of a P_Key that names the partition */
#define PKEY_FULL 0x8000u   /* full member */

static const struct rnic_host host;

const char *rnic_qp_state_name(enum rnic_qp_state state)
{
    switch (state) {
    case RNIC_QPS_RESET: return "RESET";
    case RNIC_QPS_INIT: return "INIT";
    case RNIC_QPS_RTR: return "RTR";
    case RNIC_QPS_RTS: return "RTS";
    case RNIC_QPS_SQD: return "SQD";
    case RNIC_QPS_ERR: return "ERR";
    }
    return "unknown";
}

/* ---- creation -------------------------------------------------------------------------------- */

static uint32_t choose_qpn(struct rnic *rnic)
{
    uint32_t qpn;

    do {
        qpn = rnic_entropy_u32(&rnic->entropy) & 0xFFFFFF;
    } while (qpn < QPN_FIRST || qpn > QPN_LAST || rnic_map_get(&rnic->qpns, qpn));
    return qpn;
}

static bool send_init_valid(const struct rnic_pd *pd, const struct rnic_qp_init *init)
{
    if (init->send_cq && init->send_cq->rnic != pd->rnic)
        return false;
    if (init->max_send_wr == 0)
        return true;
    return init->send_cq && init->max_send_wr <= RNIC_WR_MAX && init->max_send_sge >= 1 &&
           init->max_send_sge <= RNIC_SGE_MAX && init->max_inline <= RNIC_INLINE_MAX;
}

static bool init_valid(const struct rnic_pd *pd, const struct rnic_qp_init *init)
{
    return init->type == RNIC_QPT_RC && init->recv_cq && init->recv_cq->rnic == pd->rnic &&
           (init->qpn == 0 || (init->qpn >= QPN_FIRST && init->qpn <= QPN_LAST)) &&
           init->max_recv_wr <= RNIC_WR_MAX && init->max_recv_sge >= 1 &&
           init->max_recv_sge <= RNIC_SGE_MAX && send_init_valid(pd, init);
}

int rnic_qp_new(struct rnic_pd *pd, const struct rnic_qp_init *init, struct rnic_qp **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_qp *qp;

    if (!init_valid(pd, init))
        return RNIC_ERR_INVALID;
    if (init->qpn && rnic_map_get(&rnic->qpns, init->qpn))
        return RNIC_ERR_EXISTS;
    qp = rnic->qpns.cnt < RNIC_QP_LIMIT ? calloc(1, sizeof(*qp)) : NULL;
    if (!qp)
        return RNIC_ERR_NOMEM;
    if (!rnic_responder_init(&qp->resp, &host, qp, &rnic->transport_counters, init->max_recv_wr,
                             init->max_recv_sge))
        goto no_responder;
    if (!rnic_requester_init(&qp->req, &host, qp, &rnic->transport_counters, init->max_send_wr,
                             init->max_send_wr ? init->max_send_sge : 1,
                             init->max_send_wr ? init->max_inline : 0))
        goto no_requester;
    qp->qpn = init->qpn ? init->qpn : choose_qpn(rnic);
    if (!rnic_map_add(&rnic->qpns, qp->qpn, qp))
        goto no_map;
    qp->pd = pd;
    qp->recv_cq = init->recv_cq;
    qp->type = init->type;
    qp->state = RNIC_QPS_RESET;
    rnic_list_init(&qp->ready);
    rnic_timer_init(&qp->timer);
    rnic_list_add(&rnic->qps, &qp->link);
    pd->users++;
    qp->recv_cq->users++;
    qp->send_cq = init->send_cq;
    if (qp->send_cq)
        qp->send_cq->users++;
    *out = qp;
    return RNIC_OK;

no_map:
    rnic_requester_free(&qp->req);
no_requester:
    rnic_responder_free(&qp->resp);
no_responder:
    free(qp);
    return RNIC_ERR_NOMEM;
}

void rnic_qp_del(struct rnic_qp *qp)
{
    struct rnic *rnic;

    if (!qp)
        return;
    rnic = qp->pd->rnic;
    rnic_event_purge(&rnic->events, qp, NULL);
    rnic_map_del(&rnic->qpns, qp->qpn);
    rnic_timer_del(&rnic->timers, &qp->timer);
    rnic_list_del(&qp->ready);
    rnic_list_del(&qp->link);
    qp->recv_cq->users--;
    if (qp->send_cq)
        qp->send_cq->users--;
    qp->pd->users--;
    rnic_requester_free(&qp->req);
    rnic_responder_free(&qp->resp);
    free(qp);
}

uint32_t rnic_qp_qpn(const struct rnic_qp *qp)
{
    return qp->qpn;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* C10-20, R183. Rows are the states left, columns the states entered. */
/* clang-format off */
static const bool transitions[RNIC_QPS_ERR + 1][RNIC_QPS_ERR + 1] = {
    /*                                     RESET  INIT   RTR    RTS    SQD    SQE    ERR */
    [RNIC_QPS_RESET] =                   { true,  true,  false, false, false, false, false },
    [RNIC_QPS_INIT]  =                   { true,  true,  true,  false, false, false, true  },
    [RNIC_QPS_RTR]   =                   { true,  false, false, true,  false, false, true  },
    [RNIC_QPS_RTS]   =                   { true,  false, false, true,  true,  false, true  },
    [RNIC_QPS_SQD]   =                   { true,  false, false, true,  true,  false, true  },
    [RNIC_QPS_ERR]   =                   { true,  false, false, false, false, false, true  },
};
/* clang-format on */

static bool gid_is_ip4(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

    return memcmp(gid, mapped, sizeof(mapped)) == 0; /* A17.4.1.1, R010 */
}

static enum roce_encap gid_encap(const struct rnic_gid *gid)
{
    if (gid->type == RNIC_GID_ROCE_V1)
        return ROCE_ENCAP_V1;
    return gid_is_ip4(gid->gid) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6;
}

static bool rtr_valid(const struct rnic *rnic, const struct rnic_qp_attr *attr)
{
    const struct rnic_av *av = &attr->av;

    if (av->sgid_idx >= rnic->attr.gid_cnt || av->flow > 0xFFFFF)
        return false;
    /* Both ends of RoCEv2 speak the same IP version. */
    if (rnic->attr.gid[av->sgid_idx].type == RNIC_GID_ROCE_V2 &&
        gid_is_ip4(rnic->attr.gid[av->sgid_idx].gid) != gid_is_ip4(av->dgid))
        return false;
    return roce_mtu_code(attr->path_mtu) != 0 && attr->dest_qpn <= 0xFFFFFF &&
           attr->rq_psn <= ROCE_PSN_MASK && attr->rq_msn <= ROCE_PSN_MASK &&
           attr->max_dest_rd_atomic <= RNIC_RD_ATOMIC_MAX && attr->min_rnr_timer < ROCE_RNR_CODES;
}

/*
 * R012, R013: one source port for the life of the connection, derived from the flow label, or from
 * both QPNs where there is none, by the folding that Linux uses (rdma_calc_flow_label,
 * rdma_flow_label_to_udp_sport), so that both ends of a pair agree.
 */
static uint16_t derive_sport(const struct rnic_qp *qp, uint32_t dest_qpn)
{
    uint64_t both = (uint64_t)qp->qpn * dest_qpn;
    uint32_t flow = qp->av.flow;

    if (flow == 0) {
        both ^= both >> 20;
        both ^= both >> 40;
        flow = both & 0xFFFFF;
    }
    return (uint16_t)(0xC000 | ((flow & 0x3FFF) ^ flow >> 14));
}

/* The envelope of everything this QP sends (R004, R008, R010-R012). */
static void make_envelope(struct rnic_qp *qp)
{
    const struct rnic *rnic = qp->pd->rnic;
    struct roce_pkt model;
    struct roce_pkt *pkt = &model;
    int rc;
    const struct rnic_av *av = &qp->av;
    const uint8_t *sgid = rnic->attr.gid[av->sgid_idx].gid;

    roce_pkt_init(pkt, qp->encap, ROCE_OP_RC_ACK);
    memcpy(pkt->eth.dst, av->dmac, sizeof(pkt->eth.dst));
    memcpy(pkt->eth.src, rnic->attr.mac, sizeof(pkt->eth.src));
    pkt->udp.sport = av->udp_sport;
    switch (qp->encap) {
    case ROCE_ENCAP_V2_IP4:
        pkt->ip4.dscp = av->tclass >> 2;
        pkt->ip4.ecn = av->tclass & 3;
        pkt->ip4.ttl = av->hop_limit;
        memcpy(pkt->ip4.src, sgid + 12, sizeof(pkt->ip4.src));
        memcpy(pkt->ip4.dst, av->dgid + 12, sizeof(pkt->ip4.dst));
        break;
    case ROCE_ENCAP_V2_IP6:
        pkt->ip6.dscp = av->tclass >> 2;
        pkt->ip6.ecn = av->tclass & 3;
        pkt->ip6.flow = av->flow;
        pkt->ip6.hop = av->hop_limit;
        memcpy(pkt->ip6.src, sgid, sizeof(pkt->ip6.src));
        memcpy(pkt->ip6.dst, av->dgid, sizeof(pkt->ip6.dst));
        break;
    default: /* RoCEv1: gid_encap() gives no other */
        pkt->grh.tclass = av->tclass;
        pkt->grh.flow = av->flow;
        pkt->grh.hop = av->hop_limit;
        memcpy(pkt->grh.sgid, sgid, sizeof(pkt->grh.sgid));
        memcpy(pkt->grh.dgid, av->dgid, sizeof(pkt->grh.dgid));
        break;
    }
    rc = roce_env_init(&qp->env, pkt);
    assert(rc == ROCE_OK); /* because gid_encap() gives only envelopes on Ethernet */
    (void)rc;
}

static void enter_rtr(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    const struct rnic_responder_attr resp = {
        .access = qp->access,
        .path_mtu = attr->path_mtu,
        .dest_qpn = attr->dest_qpn,
        .pkey = qp->pkey,
        .rq_psn = roce_psn_of(attr->rq_psn),
        .rq_msn = attr->rq_msn,
        .max_dest_rd_atomic = attr->max_dest_rd_atomic,
        .min_rnr_timer = attr->min_rnr_timer,
    };

    qp->av = attr->av;
    if (qp->av.hop_limit == 0)
        qp->av.hop_limit = 64;
    if ((qp->av.tclass & 3) == 3)
        qp->av.tclass ^= 1; /* a sender never says "congestion experienced" (R005) */
    if (qp->av.udp_sport == 0)
        qp->av.udp_sport = derive_sport(qp, attr->dest_qpn);
    qp->encap = gid_encap(&qp->pd->rnic->attr.gid[qp->av.sgid_idx]);
    make_envelope(qp);
    qp->comm_est = false;
    rnic_responder_start(&qp->resp, &resp);
}

static bool rts_valid(const struct rnic_qp_attr *attr)
{
    return attr->sq_psn <= ROCE_PSN_MASK && attr->max_rd_atomic <= RNIC_RD_ATOMIC_MAX &&
           attr->timeout < 32 && attr->retry_cnt <= RNIC_RETRY_MAX &&
           attr->rnr_retry <= RNIC_RNR_RETRY_FOREVER; /* R194 */
}

static void enter_rts(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    const struct rnic_requester_attr req = {
        .path_mtu = qp->resp.attr.path_mtu,
        .dest_qpn = qp->resp.attr.dest_qpn,
        .pkey = qp->pkey,
        .sq_psn = roce_psn_of(attr->sq_psn),
        .max_rd_atomic = attr->max_rd_atomic,
        .timeout = attr->timeout,
        .retry_cnt = attr->retry_cnt,
        .rnr_retry = attr->rnr_retry,
    };

    rnic_requester_start(&qp->req, &req);
}

/* R189: what the responder owes has been dealt with by the caller. */
static void enter_err(struct rnic_qp *qp)
{
    qp->state = RNIC_QPS_ERR;
    rnic_requester_flush(&qp->req);
    rnic_responder_flush(&qp->resp);
}

/* After anything happened to the transport: what the device must know of it. */
static void settle(struct rnic_qp *qp)
{
    struct rnic *rnic = qp->pd->rnic;

    if (qp->cq_lost && qp->state != RNIC_QPS_ERR) {
        rnic_event_put(&rnic->events, RNIC_EVENT_QP_FATAL, qp, NULL); /* R200 */
        rnic_responder_stop(&qp->resp);
        enter_err(qp);
    }
    if (qp->state == RNIC_QPS_SQD && !qp->drained && rnic_requester_drained(&qp->req)) {
        qp->drained = true;
        rnic_event_put(&rnic->events, RNIC_EVENT_SQ_DRAINED, qp, NULL); /* R191 */
    }
    rnic_timer_set(&rnic->timers, &qp->timer, qp->req.retry.wait, qp->req.retry.wait_code,
                   qp->req.retry.deadline);
    if (rnic_list_empty(&qp->ready) &&
        (rnic_responder_ready(&qp->resp) || rnic_requester_ready(&qp->req)))
        rnic_list_add(&rnic->ready, &qp->ready);
}

int rnic_qp_modify(struct rnic_qp *qp, const struct rnic_qp_attr *attr, rnic_time now)
{
    rnic_clock(qp->pd->rnic, now);
    if ((unsigned)attr->state > RNIC_QPS_ERR)
        return RNIC_ERR_INVALID;
    if (!transitions[qp->state][attr->state])
        return RNIC_ERR_STATE;
    switch (attr->state) {
    case RNIC_QPS_RESET:
        rnic_responder_reset(&qp->resp); /* R190 */
        rnic_requester_reset(&qp->req);
        qp->cq_lost = false;
        break;
    case RNIC_QPS_INIT:
        if ((attr->access & ~RNIC_ACCESS_ALL) || (attr->pkey & PKEY_BASE) == 0)
            return RNIC_ERR_INVALID;
        qp->access = attr->access;
        qp->pkey = attr->pkey;
        break;
    case RNIC_QPS_RTR:
        if (!rtr_valid(qp->pd->rnic, attr))
            return RNIC_ERR_INVALID;
        enter_rtr(qp, attr);
        break;
    case RNIC_QPS_RTS:
        if (qp->state == RNIC_QPS_RTR) {
            if (!rts_valid(attr))
                return RNIC_ERR_INVALID;
            enter_rts(qp, attr);
        }
        rnic_requester_drain(&qp->req, false);
        break;
    case RNIC_QPS_SQD:
        if (qp->state != RNIC_QPS_SQD)
            qp->drained = false;
        rnic_requester_drain(&qp->req, true);
        break;
    case RNIC_QPS_ERR:
        rnic_responder_stop(&qp->resp);
        enter_err(qp);
        break;
    }
    qp->state = attr->state;
    settle(qp);
    return RNIC_OK;
}

void rnic_qp_view(const struct rnic_qp *qp, struct rnic_qp_view *out)
{
    *out = (struct rnic_qp_view){
        .state = qp->state,
        .epsn = rnic_responder_epsn(&qp->resp).v,
        .msn = qp->resp.msn,
        .recv_wr = rnic_rq_cnt(&qp->resp.rq),
        .sq_psn = rnic_requester_psn(&qp->req).v,
        .una_psn = rnic_pos_psn(qp->req.attr.sq_psn, qp->req.una).v,
        .send_wr = rnic_sq_cnt(&qp->req.sq),
    };
}

int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr)
{
    enum rnic_rq_post posted;

    if (qp->state == RNIC_QPS_RESET)
        return RNIC_ERR_STATE; /* C10-97.2.1, R188 */
    posted = rnic_rq_post(&qp->resp.rq, wr);
    if (posted != RNIC_RQ_POSTED)
        return posted == RNIC_RQ_FULL ? RNIC_ERR_FULL : RNIC_ERR_INVALID;
    if (qp->state == RNIC_QPS_ERR)
        rnic_responder_flush(&qp->resp); /* R189 */
    return RNIC_OK;
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    enum rnic_sq_post posted;

    rnic_qp_prefetch(qp);
    if (qp->state != RNIC_QPS_RTS && qp->state != RNIC_QPS_SQD && qp->state != RNIC_QPS_ERR)
        return RNIC_ERR_STATE; /* R188 */
    posted = rnic_requester_post(&qp->req, wr);
    if (posted != RNIC_SQ_POSTED)
        return posted == RNIC_SQ_FULL ? RNIC_ERR_FULL : RNIC_ERR_INVALID;
    if (qp->state == RNIC_QPS_ERR)
        rnic_requester_flush(&qp->req); /* R189 */
    settle(qp);
    return RNIC_OK;
}

/* ---- packets --------------------------------------------------------------------------------- */

bool rnic_qp_addr_fits(const struct rnic_qp *qp, enum roce_encap encap, const uint8_t src[16],
                       const uint8_t dst[16])
{
    return encap == qp->encap && memcmp(src, qp->av.dgid, 16) == 0 &&
           memcmp(dst, qp->pd->rnic->attr.gid[qp->av.sgid_idx].gid, 16) == 0;
}

bool rnic_qp_pkey_fits(const struct rnic_qp *qp, uint16_t pkey)
{
    return ((qp->pkey ^ pkey) & PKEY_BASE) == 0 && (pkey & PKEY_BASE) != 0 &&
           ((qp->pkey | pkey) & PKEY_FULL) != 0;
}

void rnic_qp_input(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now)
{
    struct rnic_event_queue *events = &qp->pd->rnic->events;

    if (qp->state == RNIC_QPS_RTR && !qp->comm_est) {
        qp->comm_est = true; /* R055 */
        rnic_event_put(events, RNIC_EVENT_COMM_EST, qp, NULL);
    }
    if (roce_opcode_is_response(pkt->op))
        rnic_completer_input(&qp->req, pkt, now);
    else
        rnic_responder_input(&qp->resp, pkt);
    settle(qp);
}

void rnic_qp_expire(struct rnic_qp *qp, rnic_time now)
{
    rnic_requester_expire(&qp->req, now);
    settle(qp);
}

/* Requests and responses take turns, so that neither a long READ nor a long WRITE starves what goes
 * the other way. */
static bool next_packet(struct rnic_qp *qp, struct roce_pkt *pkt, rnic_time now)
{
    qp->turn = !qp->turn;
    if (qp->turn && rnic_requester_output(&qp->req, pkt, qp->pd->rnic->scratch, now))
        return true;
    if (rnic_responder_output(&qp->resp, pkt))
        return true;
    return !qp->turn && rnic_requester_output(&qp->req, pkt, qp->pd->rnic->scratch, now);
}

bool rnic_qp_output(struct rnic_qp *qp, struct roce_pkt *pkt, rnic_time now)
{
    bool any;

    pkt->encap = qp->encap;
    pkt->env = &qp->env;
    any = next_packet(qp, pkt, now);
    settle(qp);
    return any;
}

/* ---- what the transport asks for: transport/host.h ------------------------------------------- */

static enum rnic_mem host_mem(void *ctx, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                              uint8_t **out)
{
    const struct rnic_qp *qp = ctx;

    return rnic_mr_translate(qp->pd, key, va, len, access, out);
}

static bool host_invalidate(void *ctx, uint32_t key)
{
    const struct rnic_qp *qp = ctx;

    return rnic_mr_invalidate(qp->pd, key);
}

static void put_completion(struct rnic_qp *qp, struct rnic_cq *cq, const struct rnic_wc *wc)
{
    struct rnic_wc mine = *wc;

    mine.qpn = qp->qpn;
    if (!rnic_cq_put(cq, &mine))
        qp->cq_lost = true;
}

static void host_complete(void *ctx, const struct rnic_wc *wc)
{
    struct rnic_qp *qp = ctx;

    put_completion(qp, qp->recv_cq, wc);
}

static void host_sent(void *ctx, const struct rnic_wc *wc)
{
    struct rnic_qp *qp = ctx;

    put_completion(qp, qp->send_cq, wc);
}

static void host_event(void *ctx, enum rnic_event_type type)
{
    struct rnic_qp *qp = ctx;

    rnic_event_put(&qp->pd->rnic->events, type, qp, NULL);
}

/* A responder that failed still sends its NAK; when the requester did, nothing is sent any more. */
static void host_failed(void *ctx)
{
    struct rnic_qp *qp = ctx;

    if (!qp->resp.failed)
        rnic_responder_stop(&qp->resp);
    enter_err(qp);
}

static void host_ready(void *ctx)
{
    struct rnic_qp *qp = ctx;

    if (rnic_list_empty(&qp->ready))
        rnic_list_add(&qp->pd->rnic->ready, &qp->ready);
}

static const struct rnic_host host = {
    .mem = host_mem,
    .invalidate = host_invalidate,
    .complete = host_complete,
    .event = host_event,
    .failed = host_failed,
    .ready = host_ready,
    .sent = host_sent,
};
