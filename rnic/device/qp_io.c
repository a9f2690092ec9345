/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP data path: work requests, packets, and the callbacks of the transport. */
#include "device/device.h"
#include "transport/fault.h"
#include "transport/raw.h"

/* Returns the SRQ that supplied the last receive WQE, or NULL if the QP's own receive queue did. */
static struct rnic_srq *srq_of(struct rnic_qp *qp)
{
    return qp->resp.recv_queue != &qp->resp.rq ? rnic_srq_of(qp->resp.recv_queue) : NULL;
}

/* Adds the QP to the list of ready QPs if it has packets to send. */
static void queue_if_ready(struct rnic_qp *qp)
{
    struct rnic *rnic = qp->pd->rnic;
    rnic_time at;

    rnic_delayed_ack_update(qp);
    if (!rnic_list_empty(&qp->ready) ||
        (!rnic_responder_ready(&qp->resp) && !rnic_requester_ready(&qp->req)))
        return;
    if (rnic_pace_held(qp, rnic->now, &at) && !rnic_pace_urgent(qp))
        rnic_pacer_add(&rnic->pacer, qp->cc, at);
    else
        rnic_list_add(&rnic->ready, &qp->ready);
}

/* Sets the QP's timer to the end of the ACK timeout or RNR wait of its requester. */
static void set_timer(struct rnic_qp *qp)
{
    struct rnic *rnic = qp->pd->rnic;
    const struct rnic_retry *retry = &qp->req.retry;

    if (retry->wait == RNIC_RETRY_ACK && retry->deadline != qp->timer.deadline &&
        rnic_list_empty(&qp->armed))
        rnic_list_add(&rnic->armed, &qp->armed);
    rnic_timer_set(&rnic->timers, &qp->timer, retry->wait, retry->wait_code, retry->deadline);
}

/* Updates the QP's timer and the device's lists of QPs after a change of the requester. */
static void settle_requester(struct rnic_qp *qp)
{
    struct rnic *rnic = qp->pd->rnic;

    if (qp->cq_lost && qp->state != RNIC_QPS_ERR && !RNIC_FAULT(OVERRUN_GOES_ON)) {
        rnic_event_put(&rnic->events, RNIC_EVENT_QP_FATAL, qp, NULL); /* a completion was lost
                                                                       * (R200) */
        rnic_responder_stop(&qp->resp);
        rnic_qp_enter_err(qp);
    }
    if (qp->state == RNIC_QPS_SQD && !qp->drained && rnic_requester_drained(&qp->req) &&
        !RNIC_FAULT(SQD_SILENT)) {
        qp->drained = true;
        rnic_event_put(&rnic->events, RNIC_EVENT_SQ_DRAINED, qp, NULL); /* the send queue is drained
                                                                         * (R191) */
    }
    set_timer(qp);
    queue_if_ready(qp);
}

void rnic_qp_restart_timer(struct rnic_qp *qp, rnic_time now)
{
    if (qp->req.retry.wait != RNIC_RETRY_ACK)
        return;
    rnic_retry_arm(&qp->req.retry, now);
    set_timer(qp);
}

void rnic_qp_settle(struct rnic_qp *qp)
{
    struct rnic_srq *srq = srq_of(qp);

    if (srq)
        rnic_srq_settle(srq);
    settle_requester(qp);
}

/* Updates the device's lists of QPs after a change of the responder only. Usually the only possible
 * change is a new response to send. The function then does not access the requester's members,
 * which are not in a cache if there are many QPs. If the responder failed or used an SRQ, the
 * function updates everything. */
static void settle_responder(struct rnic_qp *qp, enum rnic_qp_state before)
{
    if (qp->state != before || qp->cq_lost || srq_of(qp))
        rnic_qp_settle(qp);
    else
        queue_if_ready(qp);
}

int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr)
{
    enum rnic_rq_post posted;

    if (qp->srq || !qp->service->receive_queue)
        return RNIC_ERR_INVALID;
    if (qp->state == RNIC_QPS_RESET && !RNIC_FAULT(RECV_IN_RESET))
        return RNIC_ERR_STATE; /* no receives in RESET (C10-97.2.1, R188) */
    posted = rnic_rq_post(&qp->resp.rq, wr);
    if (posted != RNIC_RQ_POSTED)
        return posted == RNIC_RQ_FULL ? RNIC_ERR_FULL : RNIC_ERR_INVALID;
    if (qp->state == RNIC_QPS_ERR)
        rnic_responder_flush(&qp->resp); /* completes the receive WQE at once in ERR (R189) */
    else
        rnic_responder_posted(&qp->resp);
    return RNIC_OK;
}

/* Fills *dest with the destination of a datagram. Returns false if the request has none. */
static bool find_dest(const struct rnic_qp *qp, const struct rnic_send_wr *wr,
                      struct rnic_dest *dest)
{
    return wr->ah && wr->ah->pd == qp->pd && rnic_ah_dest(wr->ah, qp->qpn, wr, dest);
}

static enum rnic_sq_post post_datagram(struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    struct rnic_dest dest;

    if (qp->type == RNIC_QPT_RAW_PACKET)
        return rnic_raw_post(&qp->req, wr);
    if (!find_dest(qp, wr, &dest))
        return RNIC_SQ_INVALID;
    return rnic_ud_post(&qp->req, wr, &dest);
}

/* Checks the properties of a send request that the send queue cannot check, because they depend on
 * the QP type, the QP state or the device. Returns 0 or an error. */
static int refused(const struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    if (!qp->service->sends)
        return RNIC_ERR_INVALID;
    if (qp->state < RNIC_QPS_RTS && !RNIC_FAULT(SEND_EARLY))
        return RNIC_ERR_STATE; /* no sends before RTS (R188) */
    if (wr->opcode == RNIC_WR_READ && wr->sge_cnt > qp->pd->rnic->limits.max_sge_rd)
        return RNIC_ERR_INVALID;
    return RNIC_OK;
}

int rnic_post_send_check(const struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    struct rnic_mw_bind bind;
    struct rnic_dest dest;
    int error = refused(qp, wr);
    bool takes;

    if (error)
        return error;
    if (wr->opcode == RNIC_WR_BIND_MW && !rnic_mw_prepare(&wr->mw, &bind))
        return RNIC_ERR_INVALID;
    if (qp->type == RNIC_QPT_RAW_PACKET)
        takes = rnic_raw_accepts(&qp->req, wr);
    else
        takes = qp->service->connected ? rnic_requester_accepts(&qp->req, wr)
                                       : find_dest(qp, wr, &dest) && rnic_ud_accepts(&qp->req, wr);
    return takes ? RNIC_OK : RNIC_ERR_INVALID;
}

int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr)
{
    enum rnic_sq_post posted;
    struct rnic_send_wr bind; /* bind request: copy of *wr with the keys of the window and of the
                               * region */
    int error;

    rnic_qp_prefetch_requester(qp);
    error = refused(qp, wr);
    if (error)
        return error;
    if (wr->opcode == RNIC_WR_BIND_MW) {
        bind = *wr;
        if (!rnic_mw_prepare(&wr->mw, &bind.mw))
            return RNIC_ERR_INVALID;
        wr = &bind;
    }
    posted = qp->service->connected ? rnic_requester_post(&qp->req, wr) : post_datagram(qp, wr);
    if (posted != RNIC_SQ_POSTED)
        return posted == RNIC_SQ_FULL ? RNIC_ERR_FULL : RNIC_ERR_INVALID;
    if (wr->opcode == RNIC_WR_BIND_MW)
        rnic_mw_posted(&wr->mw);
    if (qp->state == RNIC_QPS_SQE || qp->state == RNIC_QPS_ERR)
        rnic_requester_flush(&qp->req); /* completes the send WQE at once in ERR (R189) */
    settle_requester(qp);
    return RNIC_OK;
}

/* ---- receiving and sending packets ----------------------------------------------------------- */

bool rnic_qp_accepts(const struct rnic_qp *qp, const struct roce_opcode *op)
{
    if (!(roce_opcode_is_response(op) ? qp->service->sends : qp->service->receives))
        return false;
    switch (qp->state) {
    case RNIC_QPS_RTR: return !roce_opcode_is_response(op);
    case RNIC_QPS_RTS:
    case RNIC_QPS_SQD: return true;
    case RNIC_QPS_SQE:
        return !roce_opcode_is_response(op); /* in SQE only the receive queue works (R192) */
    default: return false;
    }
}

static void input_datagram(struct rnic_qp *qp, const struct roce_pkt *pkt)
{
    unsigned index = rnic_pkey_index(qp->pd->rnic, pkt->bth.pkey);

    /* rnic_qp_attr.pkey is a P_Key, not an index, so the port's P_Key table may not contain it. The
     * completion then has index 0. */
    rnic_ud_input(&qp->resp, pkt, index < qp->pd->rnic->attr.pkey_cnt ? (uint16_t)index : 0);
    rnic_qp_settle(qp);
}

static void input_request(struct rnic_qp *qp, const struct roce_pkt *pkt)
{
    enum rnic_qp_state state = qp->state;

    if (qp->ack_delayed) /* the response to this request replaces the delayed ACK, and one WRITE may
                          * again be sent before the response */
        qp->passed = false;
    if (qp->service->svc == ROCE_SVC_UC)
        rnic_uc_input(&qp->resp, pkt);
    else
        rnic_responder_input(&qp->resp, pkt);
    settle_responder(qp, state);
}

void rnic_qp_input(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now)
{
    struct rnic_event_queue *events = &qp->pd->rnic->events;

    if (!qp->service->connected) {
        input_datagram(qp, pkt);
        return;
    }
    if (qp->state == RNIC_QPS_RTR && !qp->comm_est && !RNIC_FAULT(ESTABLISHED_LOST)) {
        qp->comm_est = true; /* the first packet after the transition to RTR establishes the
                              * communication (R055) */
        rnic_event_put(events, RNIC_EVENT_COMM_EST, qp, NULL);
    }
    if (!roce_opcode_is_response(pkt->op)) {
        input_request(qp, pkt);
        return;
    }
    rnic_completer_input(&qp->req, pkt, now);
    settle_requester(qp);
}

/* Handles the expiry of the QP's timer. While congestion control delays requests, the peer cannot
 * acknowledge them. In this case, restarts the ACK timer first, so that it does not expire. */
void rnic_qp_expire(struct rnic_qp *qp, rnic_time now)
{
    rnic_time at;

    if (qp->req.retry.wait == RNIC_RETRY_ACK && rnic_requester_ready(&qp->req) &&
        rnic_pace_held(qp, now, &at))
        rnic_retry_arm(&qp->req.retry, now);
    rnic_requester_expire(&qp->req, now);
    rnic_qp_settle(qp);
}

/* Builds the next packet. Requests and responses alternate: a long WRITE does not delay the
 * responses, and a long READ does not delay the requests. */
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
    enum rnic_qp_state state = qp->state;
    rnic_time at;
    bool held, any;

    if (!qp->service->connected) {
        any = rnic_ud_output(&qp->req, pkt, qp->pd->rnic->scratch);
        rnic_qp_settle(qp);
        return any;
    }
    pkt->encap = qp->encap;
    pkt->header_template = &qp->env;
    held = rnic_pace_held(qp, now, &at);
    /* Acknowledgements are sent before requests and are not paced. The ACK comes first because the
     * peer's program expects the completion of its SEND before the message that answers the SEND.
     * Only one kind of request may precede an acknowledgement: a WRITE of a single packet without
     * immediate data. It causes no completion at the peer, and a peer that polls its memory gets
     * the data one packet earlier. */
    if (!rnic_pace_urgent(qp)) {
        any = !held && next_packet(qp, pkt, now);
    } else if (!held && !qp->passed && rnic_requester_next_is_single_write(&qp->req)) {
        qp->passed = true;
        any = rnic_requester_output(&qp->req, pkt, qp->pd->rnic->scratch, now);
    } else {
        qp->passed = false;
        any = rnic_responder_output(&qp->resp, pkt);
    }
    if (any && roce_opcode_is_response(pkt->op))
        settle_responder(qp, state);
    else if (any)
        settle_requester(qp);
    else
        rnic_qp_settle(qp);
    return any;
}

/* ---- callbacks of the transport: transport/transport_ops.h ----------------------------------- */

/* Returns the PD in which the keys of requests are looked up. For an XRC target, this is the PD of
 * the SRQ that the current request names (Annex A14). Returns NULL if that SRQ was destroyed. */
static const struct rnic_pd *request_pd(const struct rnic_qp *qp)
{
    const struct rnic_srq *srq;

    if (qp->type != RNIC_QPT_XRC_RECV) /* test qp->type first: its cache line is already loaded, but
                                        * the cache line of qp->xrcd is not */
        return qp->pd;
    srq = rnic_srq_find(qp->xrcd, qp->resp.srqn);
    return srq ? srq->pd : NULL;
}

static enum rnic_mem translate(void *ctx, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                               uint8_t **out)
{
    const struct rnic_pd *pd = request_pd(ctx);

    return pd ? rnic_key_translate(pd, ctx, key, va, len, access, out) : RNIC_MEM_KEY;
}

static enum rnic_mem check_whole_mr(void *ctx, uint32_t key, unsigned access)
{
    const struct rnic_pd *pd = request_pd(ctx);

    return pd ? rnic_key_check(pd, ctx, key, access) : RNIC_MEM_KEY;
}

static bool bind_window(void *ctx, const struct rnic_mw_bind *bind)
{
    return rnic_mw_do_bind(ctx, bind);
}

static enum rnic_mem translate_recv(void *ctx, uint32_t key, uint64_t va, uint64_t len,
                                    uint8_t **out)
{
    struct rnic_qp *qp = ctx;
    const struct rnic_srq *srq = srq_of(qp);

    return rnic_key_translate(srq ? srq->pd : qp->pd, qp, key, va, len, RNIC_ACCESS_LOCAL_WRITE,
                              out);
}

static struct rnic_rq *find_srq(void *ctx, uint32_t srqn)
{
    const struct rnic_qp *qp = ctx;
    struct rnic_srq *srq = rnic_srq_find(qp->xrcd, srqn);

    return srq ? &srq->rq : NULL;
}

static bool invalidate_key(void *ctx, uint32_t key)
{
    const struct rnic_pd *pd = request_pd(ctx);

    return pd && rnic_key_invalidate(pd, ctx, key);
}

static void put_completion(struct rnic_qp *qp, struct rnic_cq *cq, const struct rnic_wc *wc)
{
    if (!rnic_cq_put(cq, wc, qp->qpn))
        qp->cq_lost = true;
}

static void complete_recv(void *ctx, const struct rnic_wc *wc)
{
    struct rnic_qp *qp = ctx;
    struct rnic_device_counters *counters = &qp->pd->rnic->counters;

    counters->resp_cqe_error += wc->status != RNIC_WC_SUCCESS;
    counters->resp_cqe_flush_error += wc->status == RNIC_WC_WR_FLUSH_ERR;
    counters->resp_local_length_error += wc->status == RNIC_WC_LOC_LEN_ERR;
    if (qp->type != RNIC_QPT_XRC_RECV) {
        put_completion(qp, qp->recv_cq, wc);
        return;
    }
    put_completion(qp, srq_of(qp)->cq, wc);
    if (qp->cq_lost)
        rnic_srq_break(srq_of(qp));
}

static void complete_send(void *ctx, const struct rnic_wc *wc)
{
    struct rnic_qp *qp = ctx;
    struct rnic_device_counters *counters = &qp->pd->rnic->counters;

    counters->req_cqe_error += wc->status != RNIC_WC_SUCCESS;
    counters->req_cqe_flush_error += wc->status == RNIC_WC_WR_FLUSH_ERR;
    put_completion(qp, qp->send_cq, wc);
}

static void raise_event(void *ctx, enum rnic_event_type type)
{
    struct rnic_qp *qp = ctx;

    rnic_event_put(&qp->pd->rnic->events, type, qp, NULL);
}

/* Moves a failed QP to ERR. If the requester failed and the service has the state SQE, moves the QP
 * to SQE instead, in which the receive queue continues (R192). A failed responder still sends its
 * NAK. After a failure of the requester, the QP sends nothing more. */
static void fail_qp(void *ctx)
{
    struct rnic_qp *qp = ctx;

    if (!qp->resp.failed && qp->service->sqe && !RNIC_FAULT(SQE_MISSING)) {
        qp->state = RNIC_QPS_SQE;
        rnic_requester_flush(&qp->req);
        return;
    }
    if (!qp->resp.failed)
        rnic_responder_stop(&qp->resp);
    rnic_qp_enter_err(qp);
}

static void report_step(void *ctx, uint32_t wqe, enum rnic_wr_step step, const struct rnic_wc *wc)
{
    struct rnic_qp *qp = ctx;
    const struct rnic *rnic = qp->pd->rnic;

    if (rnic->step_fn)
        rnic->step_fn(rnic->step_user, qp, wqe, step, wc);
}

static void queue_response(void *ctx)
{
    struct rnic_qp *qp = ctx;

    if (rnic_list_empty(&qp->ready))
        rnic_list_add(&qp->pd->rnic->ready, &qp->ready);
}

const struct rnic_transport_ops rnic_qp_transport_ops = {
    .translate = translate,
    .translate_recv = translate_recv,
    .check_whole_mr = check_whole_mr,
    .srq = find_srq,
    .invalidate = invalidate_key,
    .bind = bind_window,
    .complete = complete_recv,
    .event = raise_event,
    .failed = fail_qp,
    .ready = queue_response,
    .sent = complete_send,
    .step = report_step,
};
