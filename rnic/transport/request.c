/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/request.h"

#include "transport/fault.h"

/* RC opcodes of the packets of a message (R127). READ and atomics have one packet, local operations
 * have none. */
/* clang-format off */
static const struct {
    uint8_t first, middle, last, only;
} opcodes[] = {
#define ROW(first, middle, last, only) { ROCE_OP_RC_##first, ROCE_OP_RC_##middle, ROCE_OP_RC_##last, ROCE_OP_RC_##only }
    [RNIC_WR_WRITE]     = ROW(WRITE_FIRST,  WRITE_MIDDLE, WRITE_LAST,     WRITE_ONLY),
    [RNIC_WR_WRITE_IMM] = ROW(WRITE_FIRST,  WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM),
    [RNIC_WR_SEND]      = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST,      SEND_ONLY),
    [RNIC_WR_SEND_IMM]  = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST_IMM,  SEND_ONLY_IMM),
    [RNIC_WR_SEND_INV]  = ROW(SEND_FIRST,   SEND_MIDDLE,  SEND_LAST_INV,  SEND_ONLY_INV),
    [RNIC_WR_READ]      = ROW(READ_REQUEST, READ_REQUEST, READ_REQUEST,   READ_REQUEST),
    [RNIC_WR_CMP_SWAP]  = ROW(CMP_SWAP,     CMP_SWAP,     CMP_SWAP,       CMP_SWAP),
    [RNIC_WR_FETCH_ADD] = ROW(FETCH_ADD,    FETCH_ADD,    FETCH_ADD,      FETCH_ADD),
    [RNIC_WR_FLUSH]     = ROW(FLUSH,        FLUSH,        FLUSH,          FLUSH),
    [RNIC_WR_ATOMIC_WRITE] = ROW(ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE),
#undef ROW
};
/* clang-format on */

/* ibv_post_send(3) lists SEND with Invalidate for UC, but the wire protocol has no such opcode
 * (R162). */
bool rnic_request_in_service(enum roce_svc svc, enum rnic_wr_opcode opcode)
{
    if ((unsigned)opcode >= sizeof(opcodes) / sizeof(opcodes[0]))
        return true; /* rnic_sq_post() rejects the unknown opcode */
    return rnic_wr_is_local(opcode) ||
           roce_opcode_in(opcodes[opcode].only, svc)->kind != ROCE_KIND_RESERVED;
}

/* Fills in the header fields that all requests share (R043-R045, R057, R179). `opcode` is the RC
 * opcode. AckReq is set only on a reliable service (R042). */
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

/* Builds a READ request at position req->nxt. The request asks for the whole READ or, if
 * retransmitted, for its missing rest (R058, R112, R140). */
static void put_read(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe)
{
    uint32_t off = (uint32_t)(req->nxt - wqe->pos) * req->attr.path_mtu;

    begin_request(req, pkt, wqe, ROCE_OP_RC_READ_REQUEST, true);
    pkt->reth =
        (struct roce_reth){.va = wqe->va + off, .rkey = wqe->rkey, .dma_len = wqe->len - off};
    if (RNIC_FAULT(READ_TAIL))
        pkt->reth.va = wqe->va;
    wqe->read_pos = req->nxt;
    req->fetch_cnt++;
    req->fetch_psns += rnic_swqe_end(wqe) - req->nxt;
    req->nxt = rnic_swqe_end(wqe);
}

/* Builds an atomic request (R037, R059). */
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
        pkt->atomiceth.compare = 0; /* the compare field is undefined for FETCH_ADD */
    req->fetch_cnt++;
    req->fetch_psns++;
    req->nxt++;
}

/* Builds a FLUSH or ATOMIC WRITE request (A19, R126) and returns true. Returns false if the L_Key
 * does not permit reading the data of an ATOMIC WRITE. */
static bool put_a19(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                    uint8_t *scratch)
{
    const uint8_t *payload = NULL;

    if (wqe->opcode == RNIC_WR_ATOMIC_WRITE &&
        rnic_sq_gather(&req->sq, wqe, 0, wqe->len, req->ops, req->qp, scratch, &payload) !=
            RNIC_MEM_OK) {
        wqe->status = RNIC_WC_LOC_PROT_ERR;
        return false;
    }
    begin_request(req, pkt, wqe, opcodes[wqe->opcode].only, true);
    pkt->reth = (struct roce_reth){.va = wqe->va, .rkey = wqe->rkey, .dma_len = wqe->len};
    if (wqe->opcode == RNIC_WR_FLUSH) {
        pkt->feth = (struct roce_feth){.plt = RNIC_SWQE_FLUSH_TYPE(wqe->extra),
                                       .sel = RNIC_SWQE_FLUSH_LEVEL(wqe->extra)};
        if (RNIC_FAULT(FLUSH_TYPE))
            pkt->feth.plt ^= 3;
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

/* Returns whether the First packet of a message has AckReq because credits are limited. The
 * decision is made at the first transmission and never changes (R153). */
static bool first_has_ackreq(const struct rnic_requester *req, struct rnic_swqe *wqe)
{
    if (req->nxt == req->max && req->limited && rnic_wr_uses_rq(wqe->opcode))
        wqe->flags |= RNIC_SWQE_FIRST_ACKREQ;
    return (wqe->flags & RNIC_SWQE_FIRST_ACKREQ) != 0;
}

/* Builds a packet of a SEND or WRITE (R027, R038, R041, R127, R128) and returns true. Returns false
 * if the L_Key does not permit reading its data. */
static bool put_data(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                     uint8_t *scratch)
{
    uint32_t k = (uint32_t)(req->nxt - wqe->pos);
    uint32_t off = k * req->attr.path_mtu;
    bool last = k == wqe->psn_cnt - 1;
    uint32_t len = last ? wqe->len - off : req->attr.path_mtu;
    bool ackreq = last || req->nxt % RNIC_ACK_EVERY == RNIC_ACK_EVERY - 1 ||
                  (k == 0 && first_has_ackreq(req, wqe));
    const uint8_t *payload = NULL;

    if (RNIC_FAULT(LAST_SHORT) && last && len > 1)
        len--;
    if (RNIC_FAULT(RESEND_BYTES) && req->nxt < req->max && wqe->len >= len)
        off = off ? 0 : wqe->len - len;
    if (len && rnic_sq_gather(&req->sq, wqe, off, len, req->ops, req->qp, scratch, &payload) !=
                   RNIC_MEM_OK) {
        wqe->status = RNIC_WC_LOC_PROT_ERR;
        return false;
    }
    begin_request(req, pkt, wqe, data_opcode(wqe, k == 0, last), ackreq);
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

bool rnic_request_put(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                      uint8_t *scratch)
{
    if (wqe->opcode == RNIC_WR_READ)
        put_read(req, pkt, wqe);
    else if (rnic_wr_is_atomic(wqe->opcode))
        put_atomic(req, pkt, wqe);
    else
        return rnic_wr_is_a19(wqe->opcode) ? put_a19(req, pkt, wqe, scratch)
                                           : put_data(req, pkt, wqe, scratch);
    return true;
}
