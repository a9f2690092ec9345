/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/raw.h"

#include <string.h>

bool rnic_raw_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    uint64_t len = 0;

    if (wr->opcode != RNIC_WR_SEND || !rnic_sq_accepts(&req->sq, wr))
        return false;
    for (uint32_t i = 0; i < wr->sge_cnt; i++)
        len += wr->sge[i].len;
    return len >= RNIC_RAW_MIN && len <= RNIC_RAW_MAX;
}

enum rnic_sq_post rnic_raw_post(struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    enum rnic_sq_post posted = RNIC_SQ_INVALID;

    if (rnic_raw_accepts(req, wr))
        posted = rnic_sq_post(&req->sq, wr, RNIC_MESSAGE_MAX); /* a frame uses one position,
                                                                * whatever its length */
    if (posted == RNIC_SQ_POSTED)
        rnic_requester_report_step(req, req->sq.tail - 1, RNIC_WR_STEP_POSTED);
    return posted;
}

size_t rnic_raw_output(struct rnic_requester *req, uint8_t *buf)
{
    const struct rnic_swqe *wqe;
    const uint8_t *frame = NULL;
    uint32_t len;

    if (!rnic_requester_ready(req))
        return 0;
    wqe = rnic_sq_wqe(&req->sq, req->cur);
    len = wqe->len;
    if (rnic_sq_gather(&req->sq, wqe, 0, len, req->ops, req->qp, buf, &frame) != RNIC_MEM_OK) {
        rnic_requester_fail(req, RNIC_WC_LOC_PROT_ERR);
        return 0;
    }
    if (frame != buf)
        memcpy(buf, frame, len);
    req->max = rnic_swqe_end(wqe);
    req->nxt = req->max;
    rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_FIRST);
    rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_LAST);
    req->cur++;
    rnic_requester_answered(req, req->max);
    return len;
}

void rnic_raw_input(struct rnic_responder *resp, const uint8_t *frame, uint32_t len)
{
    const struct rnic_rwqe *first = rnic_rq_first(resp->recv_queue);
    struct rnic_scatter at = {0};
    struct rnic_wc wc = {
        .status = RNIC_WC_SUCCESS, .opcode = RNIC_WC_RECV, .byte_len = len, .vlan = RNIC_VLAN_NONE};

    if (!first) {
        resp->counters->out_of_buffer++;
        return;
    }
    if (len > first->len) {
        resp->counters->rx_datagram_too_long++;
        return;
    }
    resp->msg.wqe = rnic_rq_take(resp->recv_queue);
    if (rnic_scatter_put(&at, resp->msg.wqe, resp->ops, resp->qp, frame, len) == RNIC_MEM_OK) {
        rnic_responder_finish(resp, &wc);
        return;
    }
    wc = (struct rnic_wc){.status = RNIC_WC_LOC_PROT_ERR};
    resp->failed = true;
    rnic_responder_finish(resp, &wc);
    resp->ops->failed(resp->qp);
}
