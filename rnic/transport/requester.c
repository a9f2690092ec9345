/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/requester.h"

#include <assert.h>
#include <string.h>
#include "transport/fault.h"
#include "transport/request.h"

/* Completion opcode for each opcode of a work request. */
/* clang-format off */
static const uint8_t wc_opcodes[] = {
    [RNIC_WR_WRITE]        = RNIC_WC_RDMA_WRITE,
    [RNIC_WR_WRITE_IMM]    = RNIC_WC_RDMA_WRITE,
    [RNIC_WR_SEND]         = RNIC_WC_SEND,
    [RNIC_WR_SEND_IMM]     = RNIC_WC_SEND,
    [RNIC_WR_SEND_INV]     = RNIC_WC_SEND,
    [RNIC_WR_READ]         = RNIC_WC_RDMA_READ,
    [RNIC_WR_CMP_SWAP]     = RNIC_WC_COMP_SWAP,
    [RNIC_WR_FETCH_ADD]    = RNIC_WC_FETCH_ADD,
    [RNIC_WR_LOCAL_INV]    = RNIC_WC_LOCAL_INV,
    [RNIC_WR_BIND_MW]      = RNIC_WC_BIND_MW,
    [RNIC_WR_FLUSH]        = RNIC_WC_FLUSH,
    [RNIC_WR_ATOMIC_WRITE] = RNIC_WC_ATOMIC_WRITE,
};
/* clang-format on */

bool rnic_requester_init(struct rnic_requester *req, const struct rnic_transport_ops *ops, void *qp,
                         struct rnic_transport_counters *counters, uint32_t max_send_wr,
                         uint32_t max_send_sge, uint32_t max_inline)
{
    memset(req, 0, sizeof(*req));
    req->ops = ops;
    req->qp = qp;
    req->counters = counters;
    req->attr.path_mtu = 256; /* replaced at RTS; before RTS, requests are only flushed, so their
                               * number of PSNs does not matter */
    req->window = RNIC_WINDOW;
    rnic_retry_init(&req->retry, 0, 0, 0);
    return rnic_sq_init(&req->sq, max_send_wr, max_send_sge, max_inline);
}

void rnic_requester_free(struct rnic_requester *req)
{
    rnic_sq_free(&req->sq);
}

static void reset_positions(struct rnic_requester *req)
{
    rnic_sq_clear(&req->sq);
    req->cur = req->sq.tail;
    req->una = 0;
    req->nxt = 0;
    req->max = 0;
    req->fetch_cnt = 0;
    req->fetch_psns = 0;
    req->restarted = false;
    req->limited = false;
    req->draining = false;
}

void rnic_requester_start(struct rnic_requester *req, const struct rnic_requester_attr *attr)
{
    reset_positions(req);
    req->attr = *attr;
    rnic_retry_init(&req->retry, attr->timeout, attr->retry_cnt, attr->rnr_retry);
    req->started = true;
}

static void stop_sending(struct rnic_requester *req)
{
    req->started = false;
    rnic_retry_stop(&req->retry);
}

void rnic_requester_reset(struct rnic_requester *req)
{
    reset_positions(req);
    stop_sending(req);
}

void rnic_requester_resume(struct rnic_requester *req)
{
    assert(rnic_sq_empty(&req->sq)); /* the queue is empty, because SQE flushed all WQEs */
    req->sq.pos = req->max;
    req->una = req->max;
    req->nxt = req->max;
    req->cur = req->sq.tail;
    req->fetch_cnt = 0;
    req->fetch_psns = 0;
    req->started = true;
}

bool rnic_requester_drained(const struct rnic_requester *req)
{
    return req->draining && req->una == req->max &&
           (rnic_sq_empty(&req->sq) || rnic_sq_wqe(&req->sq, req->sq.head)->pos >= req->max);
}

/* ---- completing WQEs ------------------------------------------------------------------------- */

void rnic_requester_complete(struct rnic_requester *req, enum rnic_wc_status status)
{
    const struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->sq.head);
    struct rnic_wc wc = {
        .wr_id = wqe->wr_id,
        .status = status,
        .opcode = (enum rnic_wc_opcode)wc_opcodes[wqe->opcode],
        .byte_len = wqe->len,
        .wqe = req->sq.head | RNIC_WQE_NUMBER,
    };
    bool report =
        status != RNIC_WC_SUCCESS || (wqe->flags & RNIC_SEND_SIGNALED) || RNIC_FAULT(SIGNAL_ALL);

    if (req->watched)
        req->ops->step(req->qp, wc.wqe, report ? RNIC_WR_STEP_COMPLETED : RNIC_WR_STEP_DONE, &wc);
    if (req->cur == req->sq.head)
        req->cur++;
    rnic_sq_pop(&req->sq);
    if (report)
        req->ops->sent(req->qp, &wc);
}

void rnic_requester_flush(struct rnic_requester *req)
{
    stop_sending(req);
    while (!rnic_sq_empty(&req->sq))
        rnic_requester_complete(req, RNIC_WC_WR_FLUSH_ERR);
}

void rnic_requester_fail(struct rnic_requester *req, enum rnic_wc_status status)
{
    stop_sending(req);
    rnic_requester_complete(req, status);
    req->ops->failed(req->qp);
}

void rnic_requester_answered(struct rnic_requester *req, rnic_pos pos)
{
    const struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->sq.head);
    bool counted = req->cur != req->sq.head && rnic_wr_is_fetch(wqe->opcode);

    /* `pos` is in the oldest WQE, because the completer acknowledges one WQE at a time */
    assert(req->una < pos && pos <= rnic_swqe_end(wqe));
    if (counted)
        req->fetch_psns -= pos - req->una;
    req->una = pos;
    if (req->nxt < pos)
        req->nxt = pos; /* the responder has acknowledged the packets before `pos`, so the requester
                         * need not retransmit them */
    req->restarted = false;
    rnic_retry_progress(&req->retry);
    if (pos == rnic_swqe_end(wqe)) {
        if (counted)
            req->fetch_cnt--;
        rnic_requester_report_step(req, req->sq.head, RNIC_WR_STEP_ANSWERED);
        rnic_requester_complete(req, RNIC_WC_SUCCESS);
    }
}

/* Executes a local operation after all earlier WQEs are complete (R132, R211). */
static enum rnic_wc_status execute_local_wqe(struct rnic_requester *req,
                                             const struct rnic_swqe *wqe)
{
    const struct rnic_mw_bind bind = {
        .addr = wqe->va,
        .len = wqe->compare,
        .access = (unsigned)wqe->swap_add,
        .rkey = wqe->rkey,
        .mr_key = wqe->extra,
    };

    if (wqe->opcode == RNIC_WR_BIND_MW)
        return req->ops->bind(req->qp, &bind) ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR;
    return req->ops->invalidate(req->qp, wqe->extra) ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR;
}

/* Processes the oldest WQEs that need no network: local operations that waited for all earlier WQEs
 * (R132), and WQEs that cannot be sent (R198). */
static void execute_local_wqes(struct rnic_requester *req)
{
    while (req->started && req->cur != req->sq.tail) {
        struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->cur);

        /* With max_rd_atomic 0, a READ or atomic can never be sent. */
        if (rnic_wr_is_fetch(wqe->opcode) && req->attr.max_rd_atomic == 0 && !req->draining)
            wqe->status = RNIC_WC_LOC_QP_OP_ERR;
        if (req->cur != req->sq.head)
            return;
        if (wqe->status != RNIC_WC_SUCCESS) {
            rnic_requester_fail(req, (enum rnic_wc_status)wqe->status);
            return;
        }
        if (!rnic_wr_is_local(wqe->opcode) || req->draining)
            return;
        wqe->status = (uint8_t)execute_local_wqe(req, wqe);
        if (wqe->status == RNIC_WC_SUCCESS)
            rnic_requester_complete(req, RNIC_WC_SUCCESS);
    }
}

void rnic_requester_drain(struct rnic_requester *req, bool draining)
{
    req->draining = draining;
    execute_local_wqes(req);
}

void rnic_requester_after_response(struct rnic_requester *req, uint64_t now)
{
    execute_local_wqes(req);
    if (!req->started || req->retry.wait == RNIC_RETRY_RNR)
        return;
    if (req->una < req->nxt)
        rnic_retry_arm(&req->retry, now);
    else
        rnic_retry_disarm(&req->retry);
}

bool rnic_requester_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    return rnic_request_in_service(req->attr.svc, wr->opcode) && rnic_sq_accepts(&req->sq, wr);
}

enum rnic_sq_post rnic_requester_post(struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    enum rnic_sq_post posted;

    if (!rnic_request_in_service(req->attr.svc, wr->opcode))
        return RNIC_SQ_INVALID;
    posted = rnic_sq_post(&req->sq, wr, req->attr.path_mtu);
    if (posted == RNIC_SQ_POSTED) {
        if (req->attr.svc == ROCE_SVC_XRC)
            rnic_sq_wqe(&req->sq, req->sq.tail - 1)->srqn = wr->srqn & 0xFFFFFF;
        rnic_requester_report_step(req, req->sq.tail - 1, RNIC_WR_STEP_POSTED);
        execute_local_wqes(req);
    }
    return posted;
}

/* ---- retries after a timeout or NAK ---------------------------------------------------------- */

void rnic_requester_go_back(struct rnic_requester *req)
{
    req->nxt = req->una;
    req->cur = req->sq.head;
    req->fetch_cnt = 0;
    req->fetch_psns = 0;
    rnic_retry_disarm(&req->retry);
}

void rnic_requester_retry(struct rnic_requester *req)
{
    if (req->endless_retries || rnic_retry_use_one(&req->retry)) {
        rnic_requester_go_back(req);
    } else {
        req->counters->retry_exceeded_err++;
        rnic_requester_fail(req, RNIC_WC_RETRY_EXC_ERR);
    }
}

void rnic_requester_expire(struct rnic_requester *req, uint64_t now)
{
    switch (rnic_retry_expire(&req->retry, now)) {
    case RNIC_RETRY_IDLE:
    case RNIC_RETRY_RNR: break; /* nak_rnr() has already gone back to una */
    case RNIC_RETRY_ACK:
        req->counters->local_ack_timeout_err++;
        req->restarted = false; /* the latest go-back got no response, so another one is allowed */
        rnic_requester_retry(req);
        break;
    }
}

/* ---- building the next packet ---------------------------------------------------------------- */

/* Returns whether credits allow the WQE at cur to be sent (R134, R135). A message that uses a
 * receive WQE needs a credit. The first message without a credit may send its first packet, with
 * AckReq; its other packets follow after the ACK. If nothing is in flight, every message may send
 * its first packet, so that a wrong MSN in an ACK cannot block the queue forever. A retransmission
 * needs no credit, because the responder may have sent its first credits only after the first
 * transmission (R153). */
static bool has_credit(const struct rnic_requester *req, const struct rnic_swqe *wqe)
{
    int32_t over;

    if (!req->limited || !rnic_wr_uses_rq(wqe->opcode) || RNIC_FAULT(CREDIT_IGNORED))
        return true;
    over = roce_psn_diff(roce_psn_of(wqe->ssn), roce_psn_of(req->lsn));
    if (over <= 0)
        return true;
    if (req->nxt < req->max)
        return true;
    if (req->nxt == wqe->pos)
        return over == 1 || req->una == req->nxt;
    return !(wqe->flags & RNIC_SWQE_FIRST_ACKREQ) || req->una > wqe->pos;
}

enum rnic_req_gate rnic_requester_gate(const struct rnic_requester *req)
{
    const struct rnic_swqe *wqe;
    rnic_pos out = req->nxt - req->una;

    if (!req->started)
        return RNIC_REQ_STOPPED;
    if (req->cur == req->sq.tail)
        return RNIC_REQ_EMPTY;
    if (req->retry.wait == RNIC_RETRY_RNR)
        return RNIC_REQ_RNR_WAIT;
    wqe = rnic_sq_wqe(&req->sq, req->cur);
    if (wqe->status != RNIC_WC_SUCCESS)
        return RNIC_REQ_FAULT;
    if (rnic_wr_is_local(wqe->opcode))
        return RNIC_REQ_LOCAL;
    if (req->draining && wqe->pos >= req->max)
        return RNIC_REQ_DRAIN;
    if (rnic_wr_is_fetch(wqe->opcode)) {
        if (req->fetch_cnt >= req->attr.max_rd_atomic)
            return RNIC_REQ_RD_ATOMIC;
        if (rnic_swqe_end(wqe) - req->una > RNIC_PSN_SPAN)
            return RNIC_REQ_WINDOW;
    } else if (out >= RNIC_PSN_SPAN || out - req->fetch_psns >= req->window) {
        return RNIC_REQ_WINDOW;
    }
    if ((wqe->flags & RNIC_SEND_FENCE) && req->nxt == wqe->pos && req->fetch_cnt)
        return RNIC_REQ_FENCE;
    return has_credit(req, wqe) ? RNIC_REQ_OPEN : RNIC_REQ_CREDIT;
}

bool rnic_requester_next_is_single_write(const struct rnic_requester *req)
{
    const struct rnic_swqe *wqe;

    if (!rnic_requester_ready(req))
        return false;
    wqe = rnic_sq_wqe(&req->sq, req->cur);
    return wqe->opcode == RNIC_WR_WRITE && wqe->psn_cnt == 1 && req->nxt == req->max;
}

/* Reports the steps of the packet that was built last, at the position before nxt, to ops->step().
 * The packet belongs to the WQE at index cur. */
static void report_packet_sent(const struct rnic_requester *req, const struct rnic_swqe *wqe,
                               bool again, bool first)
{
    if (again)
        rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_RESENT);
    else if (first)
        rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_FIRST);
    if (req->nxt == rnic_swqe_end(wqe))
        rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_LAST);
}

bool rnic_requester_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch,
                           uint64_t now)
{
    struct rnic_swqe *wqe;
    bool again;
    bool first;

    if (!rnic_requester_ready(req))
        return false;
    wqe = rnic_sq_wqe(&req->sq, req->cur);
    again = req->nxt < req->max;
    first = req->nxt == wqe->pos;
    if (!rnic_request_put(req, pkt, wqe, scratch)) {
        execute_local_wqes(req);
        return false;
    }
    if (req->watched)
        report_packet_sent(req, wqe, again, first);
    if (req->nxt == rnic_swqe_end(wqe))
        req->cur++;
    req->counters->tx_retransmitted += again;
    if (req->max < req->nxt)
        req->max = req->nxt;
    if (req->attr.svc == ROCE_SVC_UC) {
        rnic_requester_answered(req, req->nxt); /* a UC packet counts as acknowledged when it is
                                                 * sent (R167) */
        execute_local_wqes(req);
    } else {
        rnic_retry_arm(&req->retry, now);
    }
    return true;
}
