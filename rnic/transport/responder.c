/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/responder.h"

#include <assert.h>
#include <string.h>
#include "transport/answer.h"
#include "wire/codes.h"

#define ATOMIC_LEN 8u /* bytes an atomic works on (R120) */

typedef enum rnic_resp_step step_fn(struct rnic_responder *resp, const struct roce_pkt *pkt);

#define X(NAME, function) static step_fn function;
RNIC_RESP_STEPS(X)
#undef X

static const struct {
    const char *name;
    step_fn *run;
} steps[RNIC_RESP_DONE] = {
#define X(NAME, function) [RNIC_RESP_##NAME] = {#NAME, function},
    RNIC_RESP_STEPS(X)
#undef X
};

const char *rnic_resp_step_name(enum rnic_resp_step step)
{
    return (unsigned)step < RNIC_RESP_DONE ? steps[step].name : "DONE";
}

bool rnic_responder_init(struct rnic_responder *resp, const struct rnic_host *host, void *qp,
                         struct rnic_transport_counters *counters, uint32_t max_recv_wr,
                         uint32_t max_recv_sge)
{
    memset(resp, 0, sizeof(*resp));
    resp->host = host;
    resp->qp = qp;
    resp->counters = counters;
    return rnic_rq_init(&resp->rq, max_recv_wr, max_recv_sge);
}

void rnic_responder_free(struct rnic_responder *resp)
{
    rnic_rq_free(&resp->rq);
}

void rnic_responder_start(struct rnic_responder *resp, const struct rnic_responder_attr *attr)
{
    resp->attr = *attr;
    resp->epos = 0;
    resp->msn = attr->rq_msn;
    resp->nak = RNIC_NAK_NONE;
    resp->failed = false;
    resp->msg = (struct rnic_message){0};
    rnic_respres_init(&resp->resources, attr->max_dest_rd_atomic);
    resp->owed.cnt = 0;
}

void rnic_responder_reset(struct rnic_responder *resp)
{
    static const struct rnic_responder_attr none = {0};

    rnic_responder_start(resp, &none);
    rnic_rq_clear(&resp->rq);
}

void rnic_responder_stop(struct rnic_responder *resp)
{
    resp->failed = true;
    resp->owed.cnt = 0;
}

void rnic_responder_finish(struct rnic_responder *resp, struct rnic_wc *wc)
{
    struct rnic_rwqe *wqe = resp->msg.wqe;

    resp->msg.wqe = NULL;
    wc->wr_id = wqe->wr_id;
    rnic_rq_give(&resp->rq, wqe);
    resp->host->complete(resp->qp, wc);
}

void rnic_responder_flush(struct rnic_responder *resp)
{
    struct rnic_wc wc = {.status = RNIC_WC_WR_FLUSH_ERR};

    if (!resp->msg.wqe)
        resp->msg.wqe = rnic_rq_take(&resp->rq);
    while (resp->msg.wqe) {
        rnic_responder_finish(resp, &wc);
        resp->msg.wqe = rnic_rq_take(&resp->rq);
    }
    resp->msg.open = false;
}

enum rnic_resp_step rnic_responder_input(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    bool idle = !rnic_responder_ready(resp);
    enum rnic_resp_step step = RNIC_RESP_CHECK_PSN;
    enum rnic_resp_step last;

    assert(pkt->op->svc == ROCE_SVC_RC); /* because the device sorts packets by service (R030) */
    if (resp->failed)
        return RNIC_RESP_DROP;
    do {
        last = step;
        step = steps[step].run(resp, pkt);
    } while (step != RNIC_RESP_DONE);
    if (idle && rnic_responder_ready(resp))
        resp->host->ready(resp->qp);
    return last;
}

/* Ends the connection with an asynchronous event. */
void rnic_responder_fail(struct rnic_responder *resp, enum rnic_event_type event)
{
    resp->failed = true;
    resp->host->event(resp->qp, event);
    resp->host->failed(resp->qp);
}

/*
 * Ends the connection because of a request that cannot be answered (R089, R090): the receive WQE
 * that the request holds completes with `status`; without one `event` tells (R088).
 */
static void fail_request(struct rnic_responder *resp, enum rnic_wc_status status,
                         enum rnic_event_type event)
{
    if (resp->msg.wqe) {
        struct rnic_wc wc = {.status = status};

        resp->failed = true;
        rnic_responder_finish(resp, &wc);
        resp->host->failed(resp->qp);
    } else {
        rnic_responder_fail(resp, event);
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* 9.7.3: at, behind or ahead of the expected PSN (R061). */
static enum rnic_resp_step check_psn(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    if (ahead < 0)
        return RNIC_RESP_DUPLICATE;
    if (ahead > 0) {
        resp->counters->out_of_sequence++;
        return resp->nak == RNIC_NAK_NONE ? RNIC_RESP_NAK_PSN_SEQ : RNIC_RESP_DROP;
    }
    resp->nak = RNIC_NAK_NONE; /* R068 */
    return RNIC_RESP_CHECK_OP_SEQ;
}

/* 9.7.4.1.2: First (Middle ...) Last of one operation, or Only (R072-R074). */
static enum rnic_resp_step check_op_seq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    bool continues = !roce_opcode_starts(pkt->op);

    if (continues != resp->msg.open || (continues && pkt->op->kind != resp->msg.kind))
        return RNIC_RESP_NAK_INVALID_REQ;
    return RNIC_RESP_CHECK_OP_VALID;
}

/* 9.7.4.1.3: an operation that this device has (R031, R126) and the QP allows (R075, R121). */
static enum rnic_resp_step check_op_valid(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    unsigned needed;

    switch (pkt->op->kind) {
    case ROCE_KIND_SEND: needed = 0; break;
    case ROCE_KIND_WRITE: needed = RNIC_ACCESS_REMOTE_WRITE; break;
    case ROCE_KIND_READ: needed = RNIC_ACCESS_REMOTE_READ; break;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: needed = RNIC_ACCESS_REMOTE_ATOMIC; break;
    default: return RNIC_RESP_NAK_INVALID_REQ;
    }
    if ((needed & resp->attr.access) != needed)
        return RNIC_RESP_NAK_INVALID_REQ;
    return RNIC_RESP_CHECK_RESOURCE;
}

/* 9.7.4.1.4: a responder resource for READ and atomics (R076); a receive WQE for a SEND, from its
 * first packet on (R093), and for the packet with immediate of a WRITE (R094). */
static enum rnic_resp_step check_resource(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (pkt->op->kind == ROCE_KIND_READ || roce_opcode_is_atomic(pkt->op))
        return rnic_respres_next(&resp->resources) ? RNIC_RESP_CHECK_LENGTH
                                                   : RNIC_RESP_NAK_INVALID_REQ;
    if (roce_opcode_uses_rq(pkt->op) && !resp->msg.wqe) {
        resp->msg.wqe = rnic_rq_take(&resp->rq);
        if (!resp->msg.wqe)
            return RNIC_RESP_NAK_RNR;
    }
    return RNIC_RESP_CHECK_LENGTH;
}

/* Whether the payload is one that the packet's place in its message allows (R079; C9-92). */
static bool payload_allowed(const struct roce_pkt *pkt, uint32_t path_mtu)
{
    switch (pkt->op->payload) {
    case ROCE_PAYLOAD_MTU: return pkt->payload_len == path_mtu;
    case ROCE_PAYLOAD_TAIL: return pkt->payload_len >= 1 && pkt->payload_len <= path_mtu;
    case ROCE_PAYLOAD_ANY: return pkt->payload_len <= path_mtu;
    case ROCE_PAYLOAD_NONE:
    case ROCE_PAYLOAD_8:
    case ROCE_PAYLOAD_FREE: return true; /* the parser checked, or the opcode was refused */
    }
    return false;
}

/* 9.7.4.1.5 and 9.7.4.1.6: lengths of the packet and of the message (R079-R082), and the alignment
 * of an atomic (R120). */
static enum rnic_resp_step check_length(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_message *msg = &resp->msg;
    uint32_t done = msg->open ? msg->len : 0;
    uint32_t dma_len;

    if (!payload_allowed(pkt, resp->attr.path_mtu))
        return RNIC_RESP_NAK_INVALID_REQ;
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND:
        if (pkt->payload_len > RNIC_MESSAGE_MAX - done)
            return RNIC_RESP_NAK_INVALID_REQ;
        if (pkt->payload_len > msg->wqe->len - done)
            return RNIC_RESP_NAK_TOO_LONG; /* R082 */
        break;
    case ROCE_KIND_WRITE:
        dma_len = msg->open ? msg->dma_len : pkt->reth.dma_len;
        if (dma_len > RNIC_MESSAGE_MAX || pkt->payload_len > dma_len - done)
            return RNIC_RESP_NAK_INVALID_REQ; /* R081; R080 too many */
        if (roce_opcode_ends(pkt->op) && pkt->payload_len != dma_len - done)
            return RNIC_RESP_NAK_INVALID_REQ; /* R080 too few */
        break;
    case ROCE_KIND_READ:
        if (pkt->reth.dma_len > RNIC_MESSAGE_MAX)
            return RNIC_RESP_NAK_INVALID_REQ; /* R081 */
        break;
    default:
        if (pkt->atomiceth.va % ATOMIC_LEN != 0)
            return RNIC_RESP_NAK_INVALID_REQ; /* R120 */
        break;
    }
    return RNIC_RESP_CHECK_RKEY;
}

/* 9.7.4.1.7: R_Key, rights and range, of the whole message when it begins (R083, R084), and again
 * of what each later packet writes, because the key may have been withdrawn since (R208). Nothing
 * to check where nothing is touched (R085; C9-88). A SEND has its WQE. */
static enum rnic_resp_step check_rkey(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    const struct rnic_message *msg = &resp->msg;
    enum rnic_resp_step next;
    unsigned access;
    uint64_t va = pkt->reth.va;
    uint32_t len = pkt->reth.dma_len;
    uint32_t rkey = pkt->reth.rkey;

    switch (pkt->op->kind) {
    case ROCE_KIND_SEND: return RNIC_RESP_EXECUTE_SEND;
    case ROCE_KIND_WRITE:
        access = RNIC_ACCESS_REMOTE_WRITE;
        next = RNIC_RESP_EXECUTE_WRITE;
        if (msg->open) {
            va = msg->va + msg->len;
            len = pkt->payload_len;
            rkey = msg->rkey;
        }
        break;
    case ROCE_KIND_READ:
        access = RNIC_ACCESS_REMOTE_READ;
        next = RNIC_RESP_EXECUTE_READ;
        break;
    default:
        access = RNIC_ACCESS_REMOTE_ATOMIC;
        next = RNIC_RESP_EXECUTE_ATOMIC;
        va = pkt->atomiceth.va;
        len = ATOMIC_LEN;
        rkey = pkt->atomiceth.rkey;
        break;
    }
    if (len && resp->host->mem(resp->qp, rkey, va, len, access, &resp->target) != RNIC_MEM_OK)
        return RNIC_RESP_NAK_ACCESS;
    return next;
}

/* ---- execution ------------------------------------------------------------------------------- */

/* A SEND or WRITE packet passed the checks: the message it begins is open. */
static void begin_message(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_message *msg = &resp->msg;

    if (msg->open)
        return;
    *msg = (struct rnic_message){.open = true, .kind = pkt->op->kind, .wqe = msg->wqe};
    if (msg->kind == ROCE_KIND_WRITE) {
        msg->va = pkt->reth.va;
        msg->rkey = pkt->reth.rkey;
        msg->dma_len = pkt->reth.dma_len;
    }
}

static enum rnic_resp_step execute_send(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_message *msg = &resp->msg;

    begin_message(resp, pkt);
    if (rnic_scatter_put(&msg->at, msg->wqe, resp->host, resp->qp, pkt->payload,
                         pkt->payload_len) != RNIC_MEM_OK)
        return RNIC_RESP_NAK_OPERATIONAL; /* R090 */
    msg->len += pkt->payload_len;
    resp->counters->rx_send_requests++;
    return roce_opcode_has(pkt->op, ROCE_HDR_IETH) ? RNIC_RESP_INVALIDATE : RNIC_RESP_ADVANCE;
}

static enum rnic_resp_step execute_write(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    begin_message(resp, pkt);
    if (pkt->payload_len)
        memcpy(resp->target, pkt->payload, pkt->payload_len);
    resp->msg.len += pkt->payload_len;
    resp->counters->rx_write_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Only a promise: the data is read when each response packet is made (R063, R086, R208). */
static enum rnic_resp_step execute_read(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_respres *res = rnic_respres_next(&resp->resources);

    rnic_respres_use(&resp->resources, res, ROCE_KIND_READ, resp->epos,
                     roce_psn_cnt(pkt->reth.dma_len, resp->attr.path_mtu));
    res->va = pkt->reth.va;
    res->rkey = pkt->reth.rkey;
    res->len = pkt->reth.dma_len;
    res->next_va = res->va;
    res->left = res->len;
    resp->counters->rx_read_requests++;
    return RNIC_RESP_ADVANCE;
}

/* 9.4.5: compare and swap, fetch and add modulo 2^64 (R122). The device runs one packet at a time,
 * so atomics of its QPs exclude each other (R123). Operands in memory are in the host's order. */
static enum rnic_resp_step execute_atomic(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    const struct roce_atomiceth *eth = &pkt->atomiceth;
    struct rnic_respres *res = rnic_respres_next(&resp->resources);
    uint64_t value;

    rnic_respres_use(&resp->resources, res, pkt->op->kind, resp->epos, 1);
    memcpy(&value, resp->target, sizeof(value));
    res->orig = value;
    if (pkt->op->kind == ROCE_KIND_FETCH_ADD)
        value += eth->swap_add;
    else if (value == eth->compare)
        value = eth->swap_add;
    memcpy(resp->target, &value, sizeof(value));
    resp->counters->rx_atomic_requests++;
    return RNIC_RESP_ADVANCE;
}

/* SEND with Invalidate: the key goes before the completion tells (R203). */
static enum rnic_resp_step invalidate(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (!resp->host->invalidate(resp->qp, pkt->ieth.rkey))
        return RNIC_RESP_NAK_INVALIDATE;
    return RNIC_RESP_ADVANCE;
}

/* The request was executed: the next PSN is expected, and a message that ended counts (R058, R059,
 * R102). */
static enum rnic_resp_step advance(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    rnic_pos pos = resp->epos;

    resp->epos +=
        pkt->op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt->reth.dma_len, resp->attr.path_mtu) : 1;
    if (!roce_opcode_ends(pkt->op))
        return RNIC_RESP_ACKNOWLEDGE;
    resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
    if (pkt->op->kind == ROCE_KIND_READ || roce_opcode_is_atomic(pkt->op)) {
        /* The response is the acknowledgement, asked for or not (R101). */
        uint8_t idx =
            (uint8_t)((resp->resources.next + resp->resources.max - 1) % resp->resources.max);

        rnic_answer_owe_resource(resp, &resp->resources.res[idx], pos);
        return RNIC_RESP_DONE;
    }
    resp->msg.open = false;
    return resp->msg.wqe ? RNIC_RESP_COMPLETE : RNIC_RESP_ACKNOWLEDGE;
}

/* The receive WQE of the message is done (R087, R202, R203). */
static enum rnic_resp_step complete(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_wc wc = {
        .status = RNIC_WC_SUCCESS,
        .opcode = pkt->op->kind == ROCE_KIND_SEND ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM,
        .byte_len = resp->msg.len,
        .solicited = pkt->bth.se != 0,
    };

    if (roce_opcode_has(pkt->op, ROCE_HDR_IMMDT)) {
        wc.flags |= RNIC_WC_WITH_IMM;
        wc.imm = pkt->immdt.imm;
    }
    if (roce_opcode_has(pkt->op, ROCE_HDR_IETH)) {
        wc.flags |= RNIC_WC_WITH_INV;
        wc.invalidated_key = pkt->ieth.rkey;
    }
    rnic_responder_finish(resp, &wc);
    return RNIC_RESP_ACKNOWLEDGE;
}

/* 9.7.5.1: only when asked, which is always allowed (R099). */
static enum rnic_resp_step acknowledge(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (pkt->bth.ackreq)
        rnic_answer_owe_ack(resp);
    return RNIC_RESP_DONE;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

/*
 * 9.7.5.1.4, C9-105: nothing is executed again, a message that is arriving is not touched (R118),
 * and what is wrong with a duplicate is not NAKed (R117).
 */
static enum rnic_resp_step duplicate(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    resp->counters->duplicate_request++;
    /* A PSN from before this connection was never received: to acknowledge it would be a ghost of
     * the connection that had this QPN before (R252). */
    if ((rnic_pos)-ahead > resp->epos)
        return RNIC_RESP_DROP;
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return RNIC_RESP_DUPLICATE_ACK;
    case ROCE_KIND_READ: return RNIC_RESP_DUPLICATE_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return RNIC_RESP_DUPLICATE_ATOMIC;
    default: return RNIC_RESP_DROP;
    }
}

/* The position of a PSN behind the expected one. */
static rnic_pos duplicate_pos(const struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    return resp->epos - (rnic_pos)-ahead;
}

/* R111-R113, R116. The key is looked at when the packets are made. */
static enum rnic_resp_step duplicate_read(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    const struct roce_reth *reth = &pkt->reth;
    rnic_pos pos = duplicate_pos(resp, pkt);
    struct rnic_respres *res = rnic_respres_read(&resp->resources, pos, reth->va, reth->dma_len,
                                                 reth->rkey, resp->attr.path_mtu);

    if (!res || !rnic_respres_restart(res, pos, reth->va, reth->dma_len))
        return RNIC_RESP_DROP;
    rnic_answer_owe_resource(resp, res, pos);
    return RNIC_RESP_DONE;
}

/* R114-R116: the value of then, whatever the duplicate's operands are. */
static enum rnic_resp_step duplicate_atomic(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    rnic_pos pos = duplicate_pos(resp, pkt);
    struct rnic_respres *res = rnic_respres_atomic(&resp->resources, pos, pkt->op->kind);

    if (!res)
        return RNIC_RESP_DROP;
    res->owed = true;
    rnic_answer_owe_resource(resp, res, pos);
    return RNIC_RESP_DONE;
}

/* R109, R110: the newest acknowledgement again. */
static enum rnic_resp_step duplicate_ack(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (pkt->bth.ackreq)
        rnic_answer_owe_ack(resp);
    return RNIC_RESP_DONE;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Class B: R067. */
static enum rnic_resp_step nak_psn_seq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    resp->nak = RNIC_NAK_SEQ;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    return RNIC_RESP_DONE;
}

/* Class B: R093, R094, R096, R097; the packets in flight behind it are dropped (R070). */
static enum rnic_resp_step nak_rnr(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    resp->counters->out_of_buffer++;
    resp->nak = RNIC_NAK_RNR;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_RNR | resp->attr.min_rnr_timer);
    return RNIC_RESP_DONE;
}

/* Class C: R072, R073, R075, R076, R079-R081, R120, R126. A receive WQE in use completes with the
 * status that hfi1 gives here; the REM_ statuses belong to the requester. */
static enum rnic_resp_step nak_invalid_req(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ);
    fail_request(resp, RNIC_WC_LOC_QP_OP_ERR, RNIC_EVENT_QP_REQ_ERR);
    return RNIC_RESP_DONE;
}

/* Class C: the SEND does not fit its receive WQE (R082). */
static enum rnic_resp_step nak_too_long(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ);
    fail_request(resp, RNIC_WC_LOC_LEN_ERR, RNIC_EVENT_QP_REQ_ERR);
    return RNIC_RESP_DONE;
}

/* Class C: R083, R088. */
static enum rnic_resp_step nak_access(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    fail_request(resp, RNIC_WC_LOC_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR);
    return RNIC_RESP_DONE;
}

/* Class J: R204. NAK 0x62 and this status are what google/rdma-unit-test expects of hardware
 * (SendWithInvalidateBadRkey). */
static enum rnic_resp_step nak_invalidate(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    fail_request(resp, RNIC_WC_REM_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR);
    return RNIC_RESP_DONE;
}

/* Class A: R090. */
static enum rnic_resp_step nak_operational(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_answer_owe_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_OP);
    fail_request(resp, RNIC_WC_LOC_PROT_ERR, RNIC_EVENT_QP_FATAL);
    return RNIC_RESP_DONE;
}

static enum rnic_resp_step drop(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)resp;
    (void)pkt;
    return RNIC_RESP_DONE;
}
