/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/requester.h"

#include <assert.h>
#include <string.h>
#include "transport/fault.h"

/* R127: the opcodes of a message's packets, as RC has them; READ and atomics have one packet. */
/* clang-format off */
static const struct {
    uint8_t first, middle, last, only;
    uint8_t wc; /* enum rnic_wc_opcode */
} opcodes[] = {
#define ROW(first, middle, last, only, wc) { ROCE_OP_RC_##first, ROCE_OP_RC_##middle, ROCE_OP_RC_##last, ROCE_OP_RC_##only, RNIC_WC_##wc }
    [RNIC_WR_WRITE]     = ROW(WRITE_FIRST,  WRITE_MIDDLE, WRITE_LAST,     WRITE_ONLY,     RDMA_WRITE),
    [RNIC_WR_WRITE_IMM] = ROW(WRITE_FIRST,  WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM, RDMA_WRITE),
    [RNIC_WR_SEND]      = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST,      SEND_ONLY,      SEND),
    [RNIC_WR_SEND_IMM]  = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST_IMM,  SEND_ONLY_IMM,  SEND),
    [RNIC_WR_SEND_INV]  = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST_INV,  SEND_ONLY_INV,  SEND),
    [RNIC_WR_READ]      = ROW(READ_REQUEST, READ_REQUEST, READ_REQUEST,   READ_REQUEST,   RDMA_READ),
    [RNIC_WR_CMP_SWAP]  = ROW(CMP_SWAP,     CMP_SWAP,     CMP_SWAP,       CMP_SWAP,       COMP_SWAP),
    [RNIC_WR_FETCH_ADD] = ROW(FETCH_ADD,    FETCH_ADD,    FETCH_ADD,      FETCH_ADD,      FETCH_ADD),
    [RNIC_WR_LOCAL_INV] = { 0, 0, 0, 0, RNIC_WC_LOCAL_INV },
    [RNIC_WR_BIND_MW]   = { 0, 0, 0, 0, RNIC_WC_BIND_MW },
    [RNIC_WR_FLUSH]     = ROW(FLUSH,        FLUSH,        FLUSH,          FLUSH,          FLUSH),
    [RNIC_WR_ATOMIC_WRITE] = ROW(ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE,  ATOMIC_WRITE),
#undef ROW
};
/* clang-format on */

const char *rnic_req_gate_name(enum rnic_req_gate gate)
{
    switch (gate) {
#define X(NAME, text)                                                                              \
    case RNIC_REQ_##NAME: return #NAME;
        RNIC_REQ_GATES(X)
#undef X
    }
    return "unknown";
}

bool rnic_requester_init(struct rnic_requester *req, const struct rnic_host *host, void *qp,
                         struct rnic_transport_counters *counters, uint32_t max_send_wr,
                         uint32_t max_send_sge, uint32_t max_inline)
{
    memset(req, 0, sizeof(*req));
    req->host = host;
    req->qp = qp;
    req->counters = counters;
    req->attr.path_mtu = 256; /* to count PSNs with that are flushed anyway */
    req->window = RNIC_WINDOW;
    rnic_retry_init(&req->retry, 0, 0, 0);
    return rnic_sq_init(&req->sq, max_send_wr, max_send_sge, max_inline);
}

void rnic_requester_free(struct rnic_requester *req)
{
    rnic_sq_free(&req->sq);
}

/* An empty queue at the beginning of a connection. */
static void rewind_all(struct rnic_requester *req)
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
    rewind_all(req);
    req->attr = *attr;
    rnic_retry_init(&req->retry, attr->timeout, attr->retry_cnt, attr->rnr_retry);
    req->started = true;
}

void rnic_requester_reset(struct rnic_requester *req)
{
    rewind_all(req);
    rnic_requester_stop(req);
}

void rnic_requester_stop(struct rnic_requester *req)
{
    req->started = false;
    rnic_retry_stop(&req->retry);
}

void rnic_requester_resume(struct rnic_requester *req)
{
    assert(rnic_sq_empty(&req->sq)); /* because SQE flushes all */
    req->sq.pos = req->max;
    req->una = req->max;
    req->nxt = req->max;
    req->cur = req->sq.tail;
    req->fetch_cnt = 0;
    req->fetch_psns = 0;
    req->started = true;
}

void rnic_requester_drain(struct rnic_requester *req, bool draining)
{
    req->draining = draining;
}

bool rnic_requester_drained(const struct rnic_requester *req)
{
    return req->draining && req->una == req->max &&
           (rnic_sq_empty(&req->sq) || rnic_sq_wqe(&req->sq, req->sq.head)->pos >= req->max);
}

/* ---- completion --------------------------------------------------------------------------------
 */

void rnic_requester_complete(struct rnic_requester *req, enum rnic_wc_status status)
{
    const struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->sq.head);
    struct rnic_wc wc = {
        .wr_id = wqe->wr_id,
        .status = status,
        .opcode = (enum rnic_wc_opcode)opcodes[wqe->opcode].wc,
        .byte_len = wqe->len,
    };
    bool tell = status != RNIC_WC_SUCCESS || (wqe->flags & RNIC_SEND_SIGNALED);

    if (req->watched) {
        wc.wqe = req->sq.head | RNIC_WQE_NUMBER;
        req->host->step(req->qp, wc.wqe, tell ? RNIC_WR_STEP_COMPLETED : RNIC_WR_STEP_DONE, &wc);
    }
    if (req->cur == req->sq.head)
        req->cur++;
    rnic_sq_pop(&req->sq);
    if (tell)
        req->host->sent(req->qp, &wc);
}

void rnic_requester_flush(struct rnic_requester *req)
{
    rnic_requester_stop(req);
    while (!rnic_sq_empty(&req->sq))
        rnic_requester_complete(req, RNIC_WC_WR_FLUSH_ERR);
}

void rnic_requester_fail(struct rnic_requester *req, enum rnic_wc_status status)
{
    rnic_requester_stop(req);
    rnic_requester_complete(req, status);
    req->host->failed(req->qp);
}

void rnic_requester_answered(struct rnic_requester *req, rnic_pos pos)
{
    const struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->sq.head);
    bool counted = req->cur != req->sq.head && rnic_wr_is_fetch(wqe->opcode);

    assert(req->una < pos && pos <= rnic_swqe_end(wqe)); /* because the completer walks WQEs */
    if (counted)
        req->fetch_psns -= pos - req->una;
    req->una = pos;
    if (req->nxt < pos)
        req->nxt = pos; /* answered before it was sent again */
    req->restarted = false;
    rnic_retry_progress(&req->retry);
    if (pos == rnic_swqe_end(wqe)) {
        if (counted)
            req->fetch_cnt--;
        rnic_requester_tell(req, req->sq.head, RNIC_WR_STEP_ANSWERED);
        rnic_requester_complete(req, RNIC_WC_SUCCESS);
    }
}

/* A local operation whose turn it is: R132, R211. */
static enum rnic_wc_status do_local(struct rnic_requester *req, const struct rnic_swqe *wqe)
{
    const struct rnic_mw_bind bind = {
        .addr = wqe->va,
        .len = wqe->compare,
        .access = (unsigned)wqe->swap_add,
        .rkey = wqe->rkey,
        .mr_key = wqe->extra,
    };

    if (wqe->opcode == RNIC_WR_BIND_MW)
        return req->host->bind(req->qp, &bind) ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR;
    return req->host->invalidate(req->qp, wqe->extra) ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR;
}

/*
 * What the oldest WQE can do without the network: a local operation has waited for all before it
 * (R132), and a WQE that cannot be sent is the oldest now (R198).
 */
static void run_local(struct rnic_requester *req)
{
    while (req->started && req->cur != req->sq.tail) {
        struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->cur);

        /* A queue that may have none outstanding can never send it. */
        if (rnic_wr_is_fetch(wqe->opcode) && req->attr.max_rd_atomic == 0)
            wqe->status = RNIC_WC_LOC_QP_OP_ERR;
        if (req->cur != req->sq.head)
            return;
        if (wqe->status != RNIC_WC_SUCCESS) {
            rnic_requester_fail(req, (enum rnic_wc_status)wqe->status);
            return;
        }
        if (!rnic_wr_is_local(wqe->opcode) || req->draining)
            return;
        wqe->status = (uint8_t)do_local(req, wqe);
        if (wqe->status == RNIC_WC_SUCCESS)
            rnic_requester_complete(req, RNIC_WC_SUCCESS);
    }
}

void rnic_requester_settle(struct rnic_requester *req, uint64_t now)
{
    run_local(req);
    if (!req->started || req->retry.wait == RNIC_RETRY_RNR)
        return;
    if (req->una < req->nxt)
        rnic_retry_arm(&req->retry, now);
    else
        rnic_retry_disarm(&req->retry);
}

/* Whether the service has the packets of an operation (man ibv_post_send.3 lists SEND with
 * Invalidate for UC; the wire has no such opcode: R162). A local operation has none. */
static bool in_service(enum roce_svc svc, enum rnic_wr_opcode opcode)
{
    if ((unsigned)opcode >= sizeof(opcodes) / sizeof(opcodes[0]))
        return true; /* rnic_sq_post() refuses it */
    return rnic_wr_is_local(opcode) ||
           roce_opcode_in(opcodes[opcode].only, svc)->kind != ROCE_KIND_RESERVED;
}

enum rnic_sq_post rnic_requester_post(struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    enum rnic_sq_post posted;

    if (!in_service(req->attr.svc, wr->opcode))
        return RNIC_SQ_INVALID;
    posted = rnic_sq_post(&req->sq, wr, req->attr.path_mtu);
    if (posted == RNIC_SQ_POSTED) {
        if (req->attr.svc == ROCE_SVC_XRC)
            rnic_sq_wqe(&req->sq, req->sq.tail - 1)->srqn = wr->srqn & 0xFFFFFF;
        rnic_requester_tell(req, req->sq.tail - 1, RNIC_WR_STEP_POSTED);
        run_local(req);
    }
    return posted;
}

/* ---- retries -----------------------------------------------------------------------------------
 */

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
    if (rnic_retry_take(&req->retry)) {
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
    case RNIC_RETRY_RNR: break; /* nxt was set when the RNR NAK came */
    case RNIC_RETRY_ACK:
        req->counters->local_ack_timeout_err++;
        req->restarted = false; /* the network has lost what answered the last restart */
        rnic_requester_retry(req);
        break;
    }
}

/* ---- output ------------------------------------------------------------------------------------
 */

/*
 * R134, R135: a message that uses a receive WQE is begun when a credit for it is there; one more
 * may send its first packet, to ask, and goes on when that is acknowledged. With nothing
 * outstanding there is always one to ask, so that a wrong MSN cannot stop the queue for ever. What
 * was sent before credits were limited is sent again, and goes on, as it began (R153).
 */
static bool credit_for(const struct rnic_requester *req, const struct rnic_swqe *wqe)
{
    int32_t over;

    if (!req->limited || !rnic_wr_uses_rq(wqe->opcode))
        return true;
    over = roce_psn_diff(roce_psn_of(wqe->ssn), roce_psn_of(req->lsn));
    if (over <= 0)
        return true;
    if (req->nxt < req->max)
        return true;
    if (req->nxt == wqe->pos)
        return over == 1 || req->una == req->nxt;
    return !(wqe->flags & RNIC_SWQE_ASKS) || req->una > wqe->pos;
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
    return credit_for(req, wqe) ? RNIC_REQ_OPEN : RNIC_REQ_CREDIT;
}

bool rnic_requester_is_quiet(const struct rnic_requester *req)
{
    const struct rnic_swqe *wqe;

    if (!rnic_requester_ready(req))
        return false;
    wqe = rnic_sq_wqe(&req->sq, req->cur);
    return wqe->opcode == RNIC_WR_WRITE && wqe->psn_cnt == 1 && req->nxt == req->max;
}

/* What all requests share (R043-R045, R057, R179); `opcode` is that of RC. Only a reliable service
 * asks for acknowledgements (R042). */
static void begin_request(const struct rnic_requester *req, struct roce_pkt *pkt,
                          const struct rnic_swqe *wqe, uint8_t opcode, bool ackreq)
{
    pkt->op = roce_opcode_in(opcode, req->attr.svc);
    pkt->bth = (struct roce_bth){
        .opcode = pkt->op->value,
        .migreq = 1,
        .pkey = req->attr.pkey,
        .dest_qp = req->attr.dest_qpn,
        .ackreq = ackreq && !RNIC_FAULT(ACKREQ_NEVER) && req->attr.svc != ROCE_SVC_UC,
        .psn = rnic_pos_psn(req->attr.sq_psn, req->nxt).v &
               (RNIC_FAULT(PSN_TOP) ? ROCE_PSN_MASK >> 1 : ROCE_PSN_MASK),
    };
    if (req->attr.svc == ROCE_SVC_XRC)
        pkt->xrceth = (struct roce_xrceth){.srqn = wqe->srqn};
    pkt->payload = NULL;
    pkt->payload_len = 0;
}

/* A READ from nxt on: all of it, or what is still missing (R058, R112, R140). */
static void put_read(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe)
{
    uint32_t off = (uint32_t)(req->nxt - wqe->pos) * req->attr.path_mtu;

    begin_request(req, pkt, wqe, ROCE_OP_RC_READ_REQUEST, true);
    pkt->reth =
        (struct roce_reth){.va = wqe->va + off, .rkey = wqe->rkey, .dma_len = wqe->len - off};
    if (RNIC_FAULT(READ_TAIL))
        pkt->reth.va = wqe->va;
    wqe->asked = req->nxt;
    req->fetch_cnt++;
    req->fetch_psns += rnic_swqe_end(wqe) - req->nxt;
    req->nxt = rnic_swqe_end(wqe);
}

/* R037, R059. */
static void put_atomic(struct rnic_requester *req, struct roce_pkt *pkt,
                       const struct rnic_swqe *wqe)
{
    begin_request(req, pkt, wqe, opcodes[wqe->opcode].only, true);
    pkt->atomiceth = (struct roce_atomiceth){
        .va = wqe->va, .rkey = wqe->rkey, .swap_add = wqe->swap_add, .compare = wqe->compare};
    if (RNIC_FAULT(SWAP_OPERANDS)) {
        pkt->atomiceth.swap_add = wqe->compare;
        pkt->atomiceth.compare = wqe->swap_add;
    }
    if (wqe->opcode == RNIC_WR_FETCH_ADD)
        pkt->atomiceth.compare = 0; /* means nothing there */
    req->fetch_cnt++;
    req->fetch_psns++;
    req->nxt++;
}

/* A19: R126. The data of an ATOMIC WRITE is taken as that of a WRITE: false if it may not be read.
 */
static bool put_a19(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                    uint8_t *scratch)
{
    const uint8_t *payload = NULL;

    if (wqe->opcode == RNIC_WR_ATOMIC_WRITE &&
        rnic_sq_gather(&req->sq, wqe, 0, wqe->len, req->host, req->qp, scratch, &payload) !=
            RNIC_MEM_OK) {
        wqe->status = RNIC_WC_LOC_PROT_ERR;
        return false;
    }
    begin_request(req, pkt, wqe, opcodes[wqe->opcode].only, true);
    pkt->reth = (struct roce_reth){.va = wqe->va, .rkey = wqe->rkey, .dma_len = wqe->len};
    if (wqe->opcode == RNIC_WR_FLUSH) {
        pkt->feth = (struct roce_feth){.plt = RNIC_SWQE_FLUSH_TYPE(wqe->extra),
                                       .sel = RNIC_SWQE_FLUSH_LEVEL(wqe->extra)};
    } else {
        pkt->payload = payload;
        pkt->payload_len = wqe->len;
    }
    req->fetch_cnt++;
    req->fetch_psns++;
    req->nxt++;
    return true;
}

static uint8_t data_opcode(const struct rnic_swqe *wqe, bool first, bool last)
{
    if (first)
        return last ? opcodes[wqe->opcode].only : opcodes[wqe->opcode].first;
    return last && !RNIC_FAULT(LAST_OPCODE) ? opcodes[wqe->opcode].last
                                            : opcodes[wqe->opcode].middle;
}

/* Whether the First of a message asks for an ACK because credits are limited: decided when it is
 * sent for the first time, and the same ever after (R153). */
static bool asks_for_credit(const struct rnic_requester *req, struct rnic_swqe *wqe)
{
    if (req->nxt == req->max && req->limited && rnic_wr_uses_rq(wqe->opcode))
        wqe->flags |= RNIC_SWQE_ASKS;
    return (wqe->flags & RNIC_SWQE_ASKS) != 0;
}

/* A packet of a SEND or WRITE (R027, R038, R041, R127, R128); false if the memory that it would
 * carry may not be read. */
static bool put_data(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                     uint8_t *scratch)
{
    uint32_t k = (uint32_t)(req->nxt - wqe->pos);
    uint32_t off = k * req->attr.path_mtu;
    bool last = k == wqe->psn_cnt - 1;
    uint32_t len = last ? wqe->len - off : req->attr.path_mtu;
    bool asks = last || req->nxt % RNIC_ACK_EVERY == RNIC_ACK_EVERY - 1 ||
                (k == 0 && asks_for_credit(req, wqe));
    const uint8_t *payload = NULL;

    if (RNIC_FAULT(LAST_SHORT) && last && len > 1)
        len--;
    if (RNIC_FAULT(RESEND_BYTES) && req->nxt < req->max && wqe->len >= len)
        off = off ? 0 : wqe->len - len;
    if (len && rnic_sq_gather(&req->sq, wqe, off, len, req->host, req->qp, scratch, &payload) !=
                   RNIC_MEM_OK) {
        wqe->status = RNIC_WC_LOC_PROT_ERR;
        return false;
    }
    begin_request(req, pkt, wqe, data_opcode(wqe, k == 0, last), asks);
    pkt->payload = payload;
    pkt->payload_len = len;
    pkt->bth.se = last && !RNIC_FAULT(SE_LOST) && (wqe->flags & RNIC_SEND_SOLICITED) &&
                  rnic_wr_uses_rq(wqe->opcode);
    if (roce_opcode_has(pkt->op, ROCE_HDR_RETH))
        pkt->reth = (struct roce_reth){
            .va = wqe->va, .rkey = wqe->rkey, .dma_len = wqe->len + RNIC_FAULT(RETH_LEN)};
    if (roce_opcode_has(pkt->op, ROCE_HDR_IMMDT))
        pkt->immdt.imm = RNIC_FAULT(IMM_LOST) ? 0 : wqe->extra;
    if (roce_opcode_has(pkt->op, ROCE_HDR_IETH))
        pkt->ieth.rkey = wqe->extra;
    req->nxt++;
    return true;
}

/* What the packet up to nxt, of the WQE at cur, was to who watches. */
static void tell_sent(const struct rnic_requester *req, const struct rnic_swqe *wqe, bool again,
                      bool first)
{
    if (again)
        rnic_requester_tell(req, req->cur, RNIC_WR_STEP_RESENT);
    else if (first)
        rnic_requester_tell(req, req->cur, RNIC_WR_STEP_FIRST);
    if (req->nxt == rnic_swqe_end(wqe))
        rnic_requester_tell(req, req->cur, RNIC_WR_STEP_LAST);
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
    if (wqe->opcode == RNIC_WR_READ) {
        put_read(req, pkt, wqe);
    } else if (rnic_wr_is_atomic(wqe->opcode)) {
        put_atomic(req, pkt, wqe);
    } else if (rnic_wr_is_a19(wqe->opcode) ? !put_a19(req, pkt, wqe, scratch)
                                           : !put_data(req, pkt, wqe, scratch)) {
        run_local(req);
        return false;
    }
    if (req->watched)
        tell_sent(req, wqe, again, first);
    if (req->nxt == rnic_swqe_end(wqe))
        req->cur++;
    req->counters->tx_retransmitted += again;
    if (req->max < req->nxt)
        req->max = req->nxt;
    if (req->attr.svc == ROCE_SVC_UC) {
        rnic_requester_answered(req, req->nxt); /* R167 */
        run_local(req);
    } else {
        rnic_retry_arm(&req->retry, now);
    }
    return true;
}
