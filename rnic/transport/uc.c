/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/uc.h"

#include <assert.h>
#include <string.h>
#include "transport/fault.h"
#include "transport/response_tx.h"

typedef enum rnic_uc_step step_fn(struct rnic_responder *resp, const struct roce_pkt *pkt);

#define X(NAME, function) static step_fn function;
RNIC_UC_STEPS(X)
#undef X

static const struct {
    const char *name;
    step_fn *run;
} steps[RNIC_UC_DONE] = {
#define X(NAME, function) [RNIC_UC_##NAME] = {#NAME, function},
    RNIC_UC_STEPS(X)
#undef X
};

enum rnic_uc_step rnic_uc_input(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    enum rnic_uc_step step = RNIC_UC_CHECK_PSN;
    enum rnic_uc_step last;

    assert(pkt->op->svc == ROCE_SVC_UC &&
           resp->attr.svc == ROCE_SVC_UC); /* the device selects the transport by service */
    if (resp->failed)
        return RNIC_UC_DROP;
    do {
        last = step;
        step = steps[step].run(resp, pkt);
    } while (step != RNIC_UC_DONE);
    return last;
}

/* ---- checking a packet ----------------------------------------------------------------------- */

/* Makes the PSN after this packet the expected PSN. If this packet does not have the expected PSN,
 * the message in progress ends incomplete (R065, R163). */
static enum rnic_uc_step check_psn(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    if (ahead != 0) {
        resp->counters->out_of_sequence++;
        if (!RNIC_FAULT(UC_ANSWER))
            rnic_message_end(&resp->msg);
        resp->attr.rq_psn = roce_psn_add(resp->attr.rq_psn, ahead);
    }
    resp->epos++;
    if (RNIC_FAULT(UC_GAP_DROPS) && ahead != 0)
        return RNIC_UC_DROP;
    return RNIC_UC_CHECK_OP_SEQ;
}

/* Checks the order of opcodes: First and Only begin a message at any time; Middle and Last continue
 * the open message (R164). */
static enum rnic_uc_step check_op_seq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (roce_opcode_starts(pkt->op))
        rnic_message_end(&resp->msg);
    else if (!resp->msg.open || pkt->op->kind != resp->msg.kind)
        return RNIC_UC_DROP;
    return RNIC_UC_CHECK_OP_VALID;
}

/* Accepts SEND, and WRITE if the QP allows remote writes (R162, R165, R075). */
static enum rnic_uc_step check_op_valid(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (pkt->op->kind == ROCE_KIND_SEND)
        return RNIC_UC_CHECK_RESOURCE;
    if (pkt->op->kind == ROCE_KIND_WRITE && (resp->attr.access & RNIC_ACCESS_REMOTE_WRITE))
        return RNIC_UC_CHECK_RESOURCE;
    return RNIC_UC_DROP;
}

/* Ensures that the message has a receive WQE: the WQE of an incomplete earlier message (R163), or
 * the next WQE of the queue. Drops the message if neither exists (R165). */
static enum rnic_uc_step check_resource(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (roce_opcode_uses_rq(pkt->op) && !resp->msg.wqe) {
        resp->msg.wqe = rnic_rq_take(resp->recv_queue);
        if (!resp->msg.wqe) {
            resp->counters->out_of_buffer++;
            return RNIC_UC_DROP;
        }
    }
    return RNIC_UC_CHECK_LENGTH;
}

static enum rnic_uc_step check_length(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    return rnic_message_fits(&resp->msg, pkt, resp->attr.path_mtu) == RNIC_FIT_OK
               ? RNIC_UC_CHECK_RKEY
               : RNIC_UC_DROP;
}

static enum rnic_uc_step check_rkey(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_range range;

    if (pkt->op->kind == ROCE_KIND_SEND)
        return RNIC_UC_EXECUTE_SEND;
    range = rnic_message_range(&resp->msg, pkt);
    if (range.len && resp->ops->translate(resp->qp, range.rkey, range.va, range.len,
                                          RNIC_ACCESS_REMOTE_WRITE, &resp->mem) != RNIC_MEM_OK)
        return RNIC_UC_DROP;
    return RNIC_UC_EXECUTE_WRITE;
}

/* ---- executing a packet ---------------------------------------------------------------------- */

static enum rnic_uc_step execute_send(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_message *msg = &resp->msg;

    rnic_message_begin(msg, pkt);
    if (rnic_scatter_put(&msg->at, msg->wqe, resp->ops, resp->qp, pkt->payload, pkt->payload_len) !=
        RNIC_MEM_OK)
        return RNIC_UC_FAIL;
    msg->len += pkt->payload_len;
    resp->counters->rx_send_requests++;
    return RNIC_UC_ADVANCE;
}

static enum rnic_uc_step execute_write(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    rnic_message_begin(&resp->msg, pkt);
    rnic_message_write(resp->mem, pkt->payload, pkt->payload_len);
    resp->msg.len += pkt->payload_len;
    resp->counters->rx_write_requests++;
    return RNIC_UC_ADVANCE;
}

static enum rnic_uc_step advance(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (!roce_opcode_ends(pkt->op))
        return RNIC_UC_DONE;
    resp->msn = (resp->msn + 1) & ROCE_PSN_MASK; /* counts messages for statistics only; UC sends no
                                                  * MSN */
    rnic_message_end(&resp->msg);
    return roce_opcode_uses_rq(pkt->op) ? RNIC_UC_COMPLETE : RNIC_UC_DONE;
}

/* Completes the receive WQE of the message (R087, R202). */
static enum rnic_uc_step complete(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_wc wc = rnic_message_wc(&resp->msg, pkt);

    rnic_responder_finish(resp, &wc);
    return RNIC_UC_DONE;
}

/* ---- dropping a message ---------------------------------------------------------------------- */

static enum rnic_uc_step fail_request(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_fail_request(resp, RNIC_WC_LOC_PROT_ERR, RNIC_EVENT_QP_FATAL);
    return RNIC_UC_DONE;
}

/* Drops the message; its receive WQE serves the next message (R163, R165). */
static enum rnic_uc_step drop_message(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    resp->counters->rx_uc_dropped++;
    if (RNIC_FAULT(UC_FATAL))
        return RNIC_UC_FAIL;
    rnic_message_end(&resp->msg);
    return RNIC_UC_DONE;
}
