/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/responder.h"

#include <assert.h>
#include <string.h>
#include "transport/fault.h"
#include "transport/resp_steps.h"

#define ATOMIC_LEN 8u /* length of an atomic operand, bytes (R120) */

/* Runs one step of the responder and returns the next step. A switch lets the compiler inline the
 * steps. */
static enum rnic_resp_step run_step(enum rnic_resp_step step, struct rnic_responder *resp,
                                    const struct roce_pkt *pkt)
{
    switch (step) {
#define X(NAME, function)                                                                          \
    case RNIC_RESP_##NAME: return rnic_resp_##function(resp, pkt);
        RNIC_RESP_STEPS(X)
#undef X
    case RNIC_RESP_DONE: break;
    }
    return RNIC_RESP_DONE;
}

bool rnic_responder_init(struct rnic_responder *resp, const struct rnic_transport_ops *ops,
                         void *qp, struct rnic_transport_counters *counters, struct rnic_rq *shared,
                         uint32_t max_recv_wr, uint32_t max_recv_sge)
{
    memset(resp, 0, sizeof(*resp));
    resp->ops = ops;
    resp->qp = qp;
    resp->counters = counters;
    resp->recv_queue = shared ? shared : &resp->rq;
    return rnic_rq_init(&resp->rq, shared ? 0 : max_recv_wr, max_recv_sge);
}

/* If a message uses a receive WQE, returns the WQE to its queue without a completion (R190).
 * Without this, the queue, which may be an SRQ, would lose a WQE. */
static void return_open_wqe(struct rnic_responder *resp)
{
    if (resp->msg.wqe)
        rnic_rq_return(resp->recv_queue, resp->msg.wqe);
    resp->msg.wqe = NULL;
}

void rnic_responder_free(struct rnic_responder *resp)
{
    return_open_wqe(resp);
    rnic_rq_free(&resp->rq);
}

void rnic_responder_start(struct rnic_responder *resp, const struct rnic_responder_attr *attr)
{
    resp->attr = *attr;
    resp->epos = 0;
    resp->gap_end = 0;
    resp->msn = attr->rq_msn;
    resp->nak = RNIC_NAK_NONE;
    resp->failed = false;
    resp->sent_zero_credits = false;
    resp->msg = (struct rnic_message){0};
    rnic_respres_init(&resp->resources, attr->max_dest_rd_atomic);
    resp->responses.cnt = 0;
}

void rnic_responder_reset(struct rnic_responder *resp)
{
    static const struct rnic_responder_attr none = {0};

    return_open_wqe(resp);
    rnic_responder_start(resp, &none);
    rnic_rq_clear(&resp->rq);
}

void rnic_responder_stop(struct rnic_responder *resp)
{
    resp->failed = true;
    resp->responses.cnt = 0;
}

void rnic_responder_finish(struct rnic_responder *resp, struct rnic_wc *wc)
{
    struct rnic_rwqe *wqe = resp->msg.wqe;

    resp->msg.wqe = NULL;
    wc->wr_id = wqe->wr_id;
    rnic_rq_return(resp->recv_queue, wqe);
    resp->ops->complete(resp->qp, wc);
}

void rnic_responder_flush(struct rnic_responder *resp)
{
    struct rnic_wc wc = {.status = RNIC_WC_WR_FLUSH_ERR};

    if (resp->msg.wqe)
        rnic_responder_finish(resp, &wc);
    while (resp->recv_queue == &resp->rq && (resp->msg.wqe = rnic_rq_take(&resp->rq)) != NULL)
        rnic_responder_finish(resp, &wc);
    resp->msg.open = false;
}

void rnic_responder_srq_gone(struct rnic_responder *resp, const struct rnic_rq *shared)
{
    if (resp->recv_queue != shared)
        return;
    return_open_wqe(resp);
    rnic_message_end(&resp->msg); /* later packets of the message are refused (R072) */
    resp->recv_queue = &resp->rq;
}

/* Repeats the newest ACK with the new number of credits (9.7.7.2). */
void rnic_responder_posted(struct rnic_responder *resp)
{
    bool idle = !rnic_responder_ready(resp);

    if (!resp->sent_zero_credits || resp->failed)
        return;
    resp->sent_zero_credits = false;
    rnic_responder_queue_ack(resp);
    if (idle)
        resp->ops->ready(resp->qp);
}

enum rnic_resp_step rnic_responder_input(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    bool idle = !rnic_responder_ready(resp);
    enum rnic_resp_step step = RNIC_RESP_CHECK_PSN;
    enum rnic_resp_step last;

    assert(pkt->op->svc == resp->attr.svc); /* the device selects the transport by service (R030) */
    if (resp->failed)
        return RNIC_RESP_DROP;
    do {
        last = step;
        step = run_step(step, resp, pkt);
    } while (step != RNIC_RESP_DONE);
    if (idle && rnic_responder_ready(resp))
        resp->ops->ready(resp->qp);
    return last;
}

void rnic_responder_fail(struct rnic_responder *resp, enum rnic_event_type event)
{
    resp->failed = true;
    resp->ops->event(resp->qp, event);
    resp->ops->failed(resp->qp);
}

void rnic_responder_fail_request(struct rnic_responder *resp, enum rnic_wc_status status,
                                 enum rnic_event_type event)
{
    if (resp->msg.wqe) {
        struct rnic_wc wc = {.status = status};

        resp->failed = true;
        rnic_responder_finish(resp, &wc);
        resp->ops->failed(resp->qp);
    } else {
        rnic_responder_fail(resp, event);
    }
}

/* ---- checking a request ---------------------------------------------------------------------- */

/* Records that the request at `pos` is dropped because an earlier request is missing. gap_end
 * becomes the position after the last such request. */
static void note_gap(struct rnic_responder *resp, rnic_pos pos)
{
    if (resp->nak != RNIC_NAK_SEQ)
        resp->gap_end = 0; /* gap_end still describes an earlier gap */
    if (resp->gap_end <= pos)
        resp->gap_end = pos + 1;
}

/* Compares the PSN with the expected PSN (9.7.3; R061). */
enum rnic_resp_step rnic_resp_check_psn(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    if (RNIC_FAULT(GAP_TAKEN) && ahead > 0)
        ahead = 0;
    if (ahead < 0)
        return RNIC_RESP_DUPLICATE;
    if (ahead > 0) {
        resp->counters->out_of_sequence++;
        if (RNIC_FAULT(NAK_NO_GAP))
            return RNIC_RESP_DROP;
        note_gap(resp, resp->epos + (rnic_pos)ahead);
        return resp->nak == RNIC_NAK_NONE || RNIC_FAULT(NAK_EACH) ? RNIC_RESP_NAK_PSN_SEQ
                                                                  : RNIC_RESP_DROP;
    }
    resp->nak = RNIC_NAK_NONE; /* a request with the expected PSN ends the NAK state (R068) */
    return RNIC_RESP_CHECK_OP_SEQ;
}

/* Checks the order of opcodes (9.7.4.1.2): First, Middle, Last of one operation, or Only
 * (R072-R074). */
enum rnic_resp_step rnic_resp_check_op_seq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    bool continues = !roce_opcode_starts(pkt->op);

    if (continues != resp->msg.open || (continues && pkt->op->kind != resp->msg.kind))
        return RNIC_RESP_NAK_INVALID_REQ;
    return RNIC_RESP_CHECK_OP_VALID;
}

/* Returns the access rights that a FLUSH needs on the QP and on the memory (A19). */
static unsigned flush_access(const struct roce_pkt *pkt)
{
    unsigned access = 0;

    if (pkt->feth.plt & RNIC_FLUSH_GLOBAL)
        access |= RNIC_ACCESS_FLUSH_GLOBAL;
    if (pkt->feth.plt & RNIC_FLUSH_PERSISTENT)
        access |= RNIC_ACCESS_FLUSH_PERSISTENT;
    return access;
}

/* Returns whether a request uses a responder resource, which stores its response for duplicates
 * (R101; A19). */
static bool takes_resource(const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_READ || op->kind == ROCE_KIND_FLUSH ||
           op->kind == ROCE_KIND_ATOMIC_WRITE || roce_opcode_is_atomic(op);
}

/* Checks that the device supports the operation (R031, R126) and the QP allows it (9.7.4.1.3; R075,
 * R121). */
enum rnic_resp_step rnic_resp_check_op_valid(struct rnic_responder *resp,
                                             const struct roce_pkt *pkt)
{
    unsigned needed;

    switch (pkt->op->kind) {
    case ROCE_KIND_SEND: needed = 0; break;
    case ROCE_KIND_WRITE: needed = RNIC_ACCESS_REMOTE_WRITE; break;
    case ROCE_KIND_READ: needed = RNIC_ACCESS_REMOTE_READ; break;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: needed = RNIC_ACCESS_REMOTE_ATOMIC; break;
    case ROCE_KIND_ATOMIC_WRITE: needed = RNIC_ACCESS_REMOTE_WRITE; break;
    case ROCE_KIND_FLUSH:
        if (pkt->feth.plt == 0 || (pkt->feth.plt & ~(RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT)) ||
            (pkt->feth.sel != RNIC_FLUSH_RANGE && pkt->feth.sel != RNIC_FLUSH_MR))
            return RNIC_RESP_NAK_INVALID_REQ; /* the FETH has reserved values */
        needed = flush_access(pkt);
        break;
    default: return RNIC_RESP_NAK_INVALID_REQ;
    }
    if ((needed & resp->attr.access) != needed && !RNIC_FAULT(QP_RIGHTS))
        return RNIC_RESP_NAK_INVALID_REQ;
    return resp->attr.svc == ROCE_SVC_XRC ? RNIC_RESP_CHECK_SRQ : RNIC_RESP_CHECK_RESOURCE;
}

/* Checks that the SRQ exists in the XRC domain of the QP, and that all packets of a message name
 * one SRQ (Annex A14, R180). */
enum rnic_resp_step rnic_resp_check_srq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_rq *rq = resp->ops->srq(resp->qp, pkt->xrceth.srqn);

    if (!rq || (resp->msg.open && pkt->xrceth.srqn != resp->msg.srqn))
        return RNIC_RESP_NAK_XRCETH;
    assert(!resp->msg.wqe || resp->recv_queue == rq); /* only an open message has a receive WQE */
    resp->recv_queue = rq;
    resp->srqn = pkt->xrceth.srqn;
    return RNIC_RESP_CHECK_RESOURCE;
}

/* Checks that a responder resource is available for READ and atomics (9.7.4.1.4; R076). Removes a
 * receive WQE from its queue for the first packet of a SEND (R093), or for a WRITE packet with
 * immediate (R094). */
enum rnic_resp_step rnic_resp_check_resource(struct rnic_responder *resp,
                                             const struct roce_pkt *pkt)
{
    if (takes_resource(pkt->op))
        return rnic_respres_next(&resp->resources) ? RNIC_RESP_CHECK_LENGTH
                                                   : RNIC_RESP_NAK_INVALID_REQ;
    if (roce_opcode_uses_rq(pkt->op) && !resp->msg.wqe) {
        resp->msg.wqe = rnic_rq_take(resp->recv_queue);
        if (!resp->msg.wqe) /* no receive WQE is posted (R093, R094, R098) */
            return resp->recv_queue->broken ? RNIC_RESP_NAK_OPERATIONAL : RNIC_RESP_NAK_RNR;
    }
    return RNIC_RESP_CHECK_LENGTH;
}

/* Checks the payload length of the packet and the length of the message so far (9.7.4.1.5,
 * 9.7.4.1.6; R079-R082). For an atomic, checks the alignment (R120). */
enum rnic_resp_step rnic_resp_check_length(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE:
        switch (rnic_message_fits(&resp->msg, pkt, resp->attr.path_mtu)) {
        case RNIC_FIT_OK: break;
        case RNIC_FIT_INVALID: return RNIC_RESP_NAK_INVALID_REQ;
        case RNIC_FIT_TOO_LONG:
            if (RNIC_FAULT(RECV_LENGTH))
                break;
            return RNIC_RESP_NAK_TOO_LONG;
        }
        break;
    case ROCE_KIND_READ:
        if (pkt->reth.dma_len > RNIC_MESSAGE_MAX)
            return RNIC_RESP_NAK_INVALID_REQ; /* the DMA length exceeds the maximum message length
                                               * (R081) */
        break;
    case ROCE_KIND_ATOMIC_WRITE:
        if (pkt->payload_len != ATOMIC_LEN || pkt->reth.dma_len != ATOMIC_LEN ||
            pkt->reth.va % ATOMIC_LEN != 0)
            return RNIC_RESP_NAK_INVALID_REQ; /* an ATOMIC WRITE has a wrong length or alignment
                                               * (R126; oA19-28) */
        break;
    case ROCE_KIND_FLUSH:
        if (pkt->payload_len != 0 ||
            (pkt->feth.sel == RNIC_FLUSH_RANGE && pkt->reth.dma_len > RNIC_MESSAGE_MAX))
            return RNIC_RESP_NAK_INVALID_REQ; /* a FLUSH has a payload or a range above the
                                               * maximum length (R126; R081) */
        break;
    default:
        if (pkt->atomiceth.va % ATOMIC_LEN != 0 && !RNIC_FAULT(ATOMIC_UNALIGNED))
            return RNIC_RESP_NAK_INVALID_REQ; /* the address of an atomic is not aligned (R120) */
        break;
    }
    return RNIC_RESP_CHECK_RKEY;
}

/* Checks R_Key, rights and range of the request (9.7.4.1.7; R083, R084, R208). A request of length
 * 0 needs no check (R085; C9-88), except FLUSH. A SEND has no R_Key; it uses its receive WQE. */
enum rnic_resp_step rnic_resp_check_rkey(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_range range = {pkt->reth.va, pkt->reth.dma_len, pkt->reth.rkey};
    enum rnic_resp_step next;
    unsigned access;

    switch (pkt->op->kind) {
    case ROCE_KIND_SEND: return RNIC_RESP_EXECUTE_SEND;
    case ROCE_KIND_WRITE:
        access = RNIC_ACCESS_REMOTE_WRITE;
        next = RNIC_RESP_EXECUTE_WRITE;
        range = rnic_message_range(&resp->msg, pkt);
        break;
    case ROCE_KIND_READ:
        access = RNIC_ACCESS_REMOTE_READ;
        next = RNIC_RESP_EXECUTE_READ;
        break;
    case ROCE_KIND_ATOMIC_WRITE:
        access = RNIC_ACCESS_REMOTE_WRITE;
        next = RNIC_RESP_EXECUTE_ATOMIC_WRITE;
        break;
    case ROCE_KIND_FLUSH:
        access = flush_access(pkt);
        next = RNIC_RESP_EXECUTE_FLUSH;
        /* A FLUSH of the whole region or of length 0 has no range, but its R_Key is checked. */
        if (pkt->feth.sel == RNIC_FLUSH_MR || range.len == 0)
            return resp->ops->check_whole_mr(resp->qp, range.rkey, access) == RNIC_MEM_OK
                       ? next
                       : RNIC_RESP_NAK_ACCESS;
        break;
    default:
        access = RNIC_ACCESS_REMOTE_ATOMIC;
        next = RNIC_RESP_EXECUTE_ATOMIC;
        range = (struct rnic_range){pkt->atomiceth.va, ATOMIC_LEN, pkt->atomiceth.rkey};
        break;
    }
    if (range.len && resp->ops->translate(resp->qp, range.rkey, range.va, range.len, access,
                                          &resp->mem) != RNIC_MEM_OK)
        return RNIC_RESP_NAK_ACCESS;
    return next;
}

/* ---- executing a request --------------------------------------------------------------------- */

enum rnic_resp_step rnic_resp_execute_send(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_message *msg = &resp->msg;

    rnic_message_begin(msg, pkt);
    if (RNIC_FAULT(RECV_LENGTH) && pkt->payload_len > msg->wqe->len - msg->len)
        return RNIC_RESP_ADVANCE;
    if (rnic_scatter_put(&msg->at, msg->wqe, resp->ops, resp->qp, pkt->payload, pkt->payload_len) !=
        RNIC_MEM_OK)
        return RNIC_RESP_NAK_OPERATIONAL; /* the L_Key of the receive WQE does not permit the write
                                           * (R090) */
    msg->len += pkt->payload_len;
    resp->counters->rx_send_requests++;
    return roce_opcode_has(pkt->op, ROCE_HDR_IETH) ? RNIC_RESP_INVALIDATE : RNIC_RESP_ADVANCE;
}

enum rnic_resp_step rnic_resp_execute_write(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    rnic_message_begin(&resp->msg, pkt);
    if (RNIC_FAULT(WRITE_PLACE) && pkt->payload_len)
        memcpy(resp->mem + 1, pkt->payload, pkt->payload_len - 1);
    else
        rnic_message_write(resp->mem, pkt->payload, pkt->payload_len);
    resp->msg.len += pkt->payload_len;
    resp->counters->rx_write_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Assigns a responder resource to a READ. The data is read later, when each response packet is
 * built (R063, R086, R208). */
enum rnic_resp_step rnic_resp_execute_read(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_respres *res = rnic_respres_next(&resp->resources);

    rnic_respres_use(&resp->resources, res, ROCE_KIND_READ, resp->epos,
                     roce_psn_cnt(pkt->reth.dma_len, resp->attr.path_mtu));
    res->va = pkt->reth.va;
    res->rkey = pkt->reth.rkey;
    res->len = pkt->reth.dma_len;
    res->srqn = resp->srqn;
    res->left = res->len;
    resp->counters->rx_read_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Returns the value that an atomic stores if it finds `value`: compare and swap, or fetch and add
 * modulo 2^64 (9.4.5; R122). */
static uint64_t atomic_value(const struct roce_atomiceth *eth, enum roce_kind kind, uint64_t value)
{
    if (kind == ROCE_KIND_FETCH_ADD)
        return value + (RNIC_FAULT(ADD_TWICE) ? 2 * eth->swap_add : eth->swap_add);
    return value == eth->compare || RNIC_FAULT(SWAP_ALWAYS) ? eth->swap_add : value;
}

/* Executes an atomic. The device processes one packet at a time, so atomics of its QPs do not
 * overlap (R123). But another process can have a device that executes an atomic on the same shared
 * memory at the same time, so this function uses an atomic operation of the processor. Operands in
 * memory are in host byte order. */
enum rnic_resp_step rnic_resp_execute_atomic(struct rnic_responder *resp,
                                             const struct roce_pkt *pkt)
{
    struct rnic_respres *res = rnic_respres_next(&resp->resources);
    uint64_t *mem = (uint64_t *)(void *)resp->mem;
    uint64_t old, value;

    rnic_respres_use(&resp->resources, res, pkt->op->kind, resp->epos, 1);
    memcpy(&old, resp->mem, sizeof(old));
    value = atomic_value(&pkt->atomiceth, pkt->op->kind, old);
    if ((uintptr_t)resp->mem %
        sizeof(*mem)) /* the iova is aligned, but the memory address is not */
        memcpy(resp->mem, &value, sizeof(value));
    else
        while (!__atomic_compare_exchange_n(mem, &old, value, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
            value = atomic_value(&pkt->atomiceth, pkt->op->kind, old);
    res->orig = RNIC_FAULT(ATOMIC_NEW) ? value : old;
    resp->counters->rx_atomic_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Executes an ATOMIC WRITE: writes eight bytes in one store (A19). */
enum rnic_resp_step rnic_resp_execute_atomic_write(struct rnic_responder *resp,
                                                   const struct roce_pkt *pkt)
{
    struct rnic_respres *res = rnic_respres_next(&resp->resources);
    uint64_t value;

    rnic_respres_use(&resp->resources, res, pkt->op->kind, resp->epos, 1);
    memcpy(&value, pkt->payload, sizeof(value));
    if ((uintptr_t)resp->mem % sizeof(value) == 0)
        __atomic_store_n((uint64_t *)(void *)resp->mem, value, __ATOMIC_RELEASE);
    else /* the iova is aligned, but the memory address is not */
        memcpy(resp->mem, &value, sizeof(value));
    resp->counters->rx_atomic_write_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Executes FLUSH (A19). The CPU that runs this function also stored the data of earlier requests,
 * so a memory fence before the response makes that data visible. Persistence needs no action: the
 * owner of the memory guaranteed it by granting the FLUSH right. */
enum rnic_resp_step rnic_resp_execute_flush(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_respres *res = rnic_respres_next(&resp->resources);

    rnic_respres_use(&resp->resources, res, pkt->op->kind, resp->epos, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    resp->counters->rx_flush_requests++;
    return RNIC_RESP_ADVANCE;
}

/* Invalidates the key of a SEND with Invalidate, before the completion is written (R203). */
enum rnic_resp_step rnic_resp_invalidate(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (!RNIC_FAULT(INVALIDATE) && !resp->ops->invalidate(resp->qp, pkt->ieth.rkey))
        return RNIC_RESP_NAK_INVALIDATE;
    return RNIC_RESP_ADVANCE;
}

/* Advances the expected PSN after execution, and the MSN at the end of a message (R058, R059,
 * R102). */
enum rnic_resp_step rnic_resp_advance(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    rnic_pos pos = resp->epos;

    resp->epos +=
        pkt->op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt->reth.dma_len, resp->attr.path_mtu) : 1;
    if (RNIC_FAULT(READ_SPAN) && pkt->op->kind == ROCE_KIND_READ)
        resp->epos = pos + 1;
    if (RNIC_FAULT(GAP_TAKEN)) /* injected fault: continue at the PSN of the packet */
        resp->epos += (rnic_pos)roce_psn_diff(
            roce_pkt_psn(pkt), roce_psn_add(resp->attr.rq_psn, (int32_t)(pos & ROCE_PSN_MASK)));
    if (RNIC_FAULT(MSN_PACKET) && !roce_opcode_ends(pkt->op))
        resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
    if (roce_opcode_ends(pkt->op) && (!RNIC_FAULT(MSN_READ) || pkt->op->kind != ROCE_KIND_READ))
        resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
    if (resp->gap_end)
        rnic_responder_update_seq_nak(resp);
    if (!roce_opcode_ends(pkt->op))
        return RNIC_RESP_ACKNOWLEDGE;
    if (takes_resource(pkt->op)) {
        /* The response acknowledges the request, whether or not the request has AckReq (R101). */
        uint8_t idx =
            (uint8_t)((resp->resources.next + resp->resources.max - 1) % resp->resources.max);

        rnic_responder_queue_resource(resp, &resp->resources.res[idx], pos);
        return RNIC_RESP_DONE;
    }
    rnic_message_end(&resp->msg);
    return resp->msg.wqe ? RNIC_RESP_COMPLETE : RNIC_RESP_ACKNOWLEDGE;
}

/* Completes the receive WQE of the message (R087, R202, R203). */
enum rnic_resp_step rnic_resp_complete(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    struct rnic_wc wc = rnic_message_wc(&resp->msg, pkt);

    rnic_responder_finish(resp, &wc);
    return RNIC_RESP_ACKNOWLEDGE;
}

/* Queues an ACK if the request has AckReq. The specification permits ACKs for other requests but
 * does not require them (9.7.5.1; R099). */
enum rnic_resp_step rnic_resp_acknowledge(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (pkt->bth.ackreq && !RNIC_FAULT(ACK_SILENT))
        rnic_responder_queue_ack(resp);
    return RNIC_RESP_DONE;
}
