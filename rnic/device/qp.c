/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/qp.h"

#include <stdlib.h>
#include "device/device.h"

#define QPN_FIRST 2u        /* QPNs 0 and 1 are the management QPs */
#define QPN_LAST  0xFFFFFEu /* 0xFFFFFF is the multicast QPN (R048) */

bool rnic_qpn_range_valid(const struct rnic_attr *attr)
{
    if (attr->qpn_first == 0 && attr->qpn_last == 0)
        return true;
    return attr->qpn_first >= QPN_FIRST && attr->qpn_first <= attr->qpn_last &&
           attr->qpn_last <= QPN_LAST;
}

/* Returns a free QPN in the device's range, or 0 if there is none. The QPN is random, so that no
 * peer can guess it. If nearly all QPNs are in use, returns the first free QPN after a random one.
 */
static uint32_t choose_qpn(struct rnic *rnic)
{
    uint32_t first = rnic->attr.qpn_last ? rnic->attr.qpn_first : QPN_FIRST;
    uint32_t span = (rnic->attr.qpn_last ? rnic->attr.qpn_last : QPN_LAST) - first + 1;
    uint32_t off = 0;

    for (unsigned draw = 0; draw < 64; draw++) {
        off = (uint32_t)((uint64_t)rnic_entropy_u32(&rnic->entropy) * span >> 32);
        if (!rnic_map_get(&rnic->qpns, first + off))
            return first + off;
    }
    for (uint32_t i = 1; i < span; i++)
        if (!rnic_map_get(&rnic->qpns, first + (off + i) % span))
            return first + (off + i) % span;
    return 0;
}

static bool send_init_valid(const struct rnic_pd *pd, const struct rnic_qp_init *init)
{
    const struct rnic_limits *limits = &pd->rnic->limits;

    if (init->send_cq && init->send_cq->rnic != pd->rnic)
        return false;
    if (init->max_send_wr == 0)
        return true;
    return init->send_cq && init->max_send_wr <= limits->max_qp_wr && init->max_send_sge >= 1 &&
           init->max_send_sge <= limits->max_sge && init->max_inline <= limits->max_inline;
}

static bool qpn_valid(const struct rnic_qp_init *init)
{
    if (init->type == RNIC_QPT_GSI)
        return init->qpn == 0 || init->qpn == ROCE_QP_GSI;
    return init->qpn == 0 || (init->qpn >= QPN_FIRST && init->qpn <= QPN_LAST);
}

static bool recv_init_valid(const struct rnic_pd *pd, const struct rnic_qp_init *init)
{
    if (!init->recv_cq || init->recv_cq->rnic != pd->rnic)
        return false;
    if (init->srq)
        return init->srq->pd->rnic == pd->rnic && !init->srq->xrcd && init->type != RNIC_QPT_GSI;
    return init->max_recv_wr <= pd->rnic->limits.max_qp_wr && init->max_recv_sge >= 1 &&
           init->max_recv_sge <= pd->rnic->limits.max_sge;
}

static bool init_valid(const struct rnic_pd *pd, const struct rnic_qp_init *init)
{
    const struct rnic_service *service = rnic_service_of(init->type);

    if (!service || !qpn_valid(init))
        return false;
    if (init->type == RNIC_QPT_XRC_RECV && (!init->xrcd || init->xrcd->rnic != pd->rnic))
        return false;
    return (!service->receive_queue || recv_init_valid(pd, init)) &&
           (!service->sends || send_init_valid(pd, init));
}

/* Returns a copy of the creation attributes `given`. In the copy, members that do not apply to the
 * QP type have their defaults. */
static struct rnic_qp_init init_of(const struct rnic_qp_init *given)
{
    const struct rnic_service *service = rnic_service_of(given->type);
    struct rnic_qp_init init = *given;

    if (!service->receive_queue) {
        init.recv_cq = NULL;
        init.srq = NULL;
    }
    if (!service->receive_queue || init.srq) {
        init.max_recv_wr = 0;
        init.max_recv_sge = 1;
    }
    if (!service->sends) {
        init.send_cq = NULL;
        init.max_send_wr = 0;
    }
    if (init.max_send_wr == 0) {
        init.max_send_sge = 1;
        init.max_inline = 0;
    }
    if (init.type != RNIC_QPT_XRC_RECV)
        init.xrcd = NULL;
    return init;
}

/* Adds `by` to the use counts of the objects that the QP refers to. */
static void count_users(const struct rnic_qp *qp, uint32_t by)
{
    qp->pd->users += by;
    if (qp->recv_cq)
        qp->recv_cq->users += by;
    if (qp->send_cq)
        qp->send_cq->users += by;
    if (qp->srq)
        qp->srq->users += by;
    if (qp->xrcd)
        qp->xrcd->users += by;
}

/* Maximum length of one block that contains a QP and its queues. Such a block needs few TLB
 * entries. If the queues do not fit, they are allocated separately. */
#define BLOCK_MOST ((size_t)64 << 10)
#define LINE       ((size_t)64)

static size_t in_lines(size_t size)
{
    return (size + LINE - 1) / LINE * LINE;
}

/* Returns the length of the block for a QP with these queues. */
static size_t block_len(const struct rnic_sq *sq, const struct rnic_rq *rq)
{
    size_t len = in_lines(sizeof(struct rnic_qp)) +
                 in_lines(rnic_sq_bytes(sq->max, sq->max_sge, sq->max_inline)) +
                 rnic_rq_bytes(rq->cap, rq->max_sge);

    return len <= BLOCK_MOST ? len : sizeof(struct rnic_qp);
}

static size_t block_len_of(const struct rnic_qp_init *init)
{
    const struct rnic_sq sq = {
        .max = init->max_send_wr, .max_sge = init->max_send_sge, .max_inline = init->max_inline};
    const struct rnic_rq rq = {.cap = init->max_recv_wr, .max_sge = init->max_recv_sge};

    return block_len(&sq, &rq);
}

/* Moves the empty queues of a new QP from their own memory into the block that contains the QP. */
static void lend_block(struct rnic_qp *qp, size_t len)
{
    uint8_t *room = (uint8_t *)qp + in_lines(sizeof(*qp));
    struct rnic_sq *sq = &qp->req.sq;

    if (len == sizeof(*qp))
        return;
    rnic_sq_use_block(sq, room);
    rnic_rq_use_block(&qp->resp.rq,
                      room + in_lines(rnic_sq_bytes(sq->max, sq->max_sge, sq->max_inline)));
}

int rnic_qp_new(struct rnic_pd *pd, const struct rnic_qp_init *given, struct rnic_qp **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_qp *qp;
    struct rnic_qp_init init;
    uint32_t qpn = given->qpn;

    if (!init_valid(pd, given))
        return RNIC_ERR_INVALID;
    init = init_of(given);
    if (init.type == RNIC_QPT_GSI)
        qpn = ROCE_QP_GSI; /* the GSI QP, one per device (R171) */
    if (qpn && rnic_map_get(&rnic->qpns, qpn))
        return RNIC_ERR_EXISTS;
    qp = rnic->qpns.cnt < rnic->limits.max_qp ? rnic_slab_get(&rnic->slab, block_len_of(&init))
                                              : NULL;
    if (!qp)
        return RNIC_ERR_NOMEM;
    if (!rnic_responder_init(&qp->resp, &rnic_qp_transport_ops, qp, &rnic->transport_counters,
                             init.srq ? &init.srq->rq : NULL, init.max_recv_wr, init.max_recv_sge))
        goto no_responder;
    if (!rnic_requester_init(&qp->req, &rnic_qp_transport_ops, qp, &rnic->transport_counters,
                             init.max_send_wr, init.max_send_sge, init.max_inline))
        goto no_requester;
    lend_block(qp, block_len_of(&init));
    qp->service = rnic_service_of(init.type);
    qp->qpn = qpn ? qpn : choose_qpn(rnic);
    qp->pd = pd;
    if (!qp->service->connected && init.type != RNIC_QPT_RAW_PACKET &&
        !rnic_sq_add_dests(&qp->req.sq))
        goto no_cc;
    if (!rnic_cc_new(qp))
        goto no_cc;
    if (qp->qpn == 0 || !rnic_map_add(&rnic->qpns, qp->qpn, qp))
        goto no_map;
    qp->recv_cq = init.recv_cq;
    qp->type = init.type;
    qp->state = RNIC_QPS_RESET;
    rnic_list_init(&qp->ready);
    rnic_list_init(&qp->windows);
    rnic_list_init(&qp->armed);
    rnic_timer_init(&qp->timer);
    rnic_list_add(&rnic->qps, &qp->link);
    qp->send_cq = init.send_cq;
    qp->req.watched = rnic->step_fn != NULL;
    qp->srq = init.srq;
    qp->xrcd = init.xrcd;
    qp->credits = init.type == RNIC_QPT_RC && !init.srq && !init.no_credits;
    if (init.window)
        qp->req.window = init.window;
    qp->req.ignore_credits = init.any_credits;
    qp->req.endless_retries = init.endless_retries;
    count_users(qp, 1);
    *out = qp;
    return RNIC_OK;

no_map:
    rnic_cc_free(qp);
no_cc:
    rnic_requester_free(&qp->req);
no_requester:
    rnic_responder_free(&qp->resp);
no_responder:
    rnic_slab_put(&rnic->slab, qp, block_len_of(&init));
    return RNIC_ERR_NOMEM;
}

int rnic_qp_del(struct rnic_qp *qp)
{
    struct rnic *rnic;
    size_t len;

    if (!qp)
        return RNIC_OK;
    if (qp->mcast_cnt)
        return RNIC_ERR_BUSY; /* the QP is in a multicast group (o10-2.2.3, R177) */
    if (qp->steer_cnt)
        return RNIC_ERR_BUSY; /* flows refer to the QP */
    if (rnic_mw_hold(qp))
        return RNIC_ERR_BUSY; /* 2A windows are bound to the QP (R213) */
    rnic = qp->pd->rnic;
    rnic_event_purge(&rnic->events, qp, NULL);
    rnic_map_del(&rnic->qpns, qp->qpn);
    rnic_timer_del(&rnic->timers, &qp->timer);
    rnic_cc_free(qp);
    rnic_list_del(&qp->ready);
    rnic_list_del(&qp->armed);
    rnic_list_del(&qp->link);
    rnic_mw_unbind_all(qp);
    count_users(qp, UINT32_MAX); /* adding UINT32_MAX subtracts one */
    len = block_len(&qp->req.sq, &qp->resp.rq);
    rnic_requester_free(&qp->req);
    rnic_responder_free(&qp->resp);
    rnic_slab_put(&rnic->slab, qp, len);
    return RNIC_OK;
}

uint32_t rnic_qp_qpn(const struct rnic_qp *qp)
{
    return qp->qpn;
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
