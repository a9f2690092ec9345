/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Handling of duplicate requests. responder.h explains the section and rule numbers. */
#include "transport/fault.h"
#include "transport/resp_steps.h"

/* Handles a duplicate request (9.7.5.1.4, C9-105). The responder does not execute it again. A
 * duplicate does not affect a message in progress (R118) and causes no NAK (R117). */
enum rnic_resp_step rnic_resp_duplicate(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    resp->counters->duplicate_request++;
    /* If the PSN precedes the first PSN of this connection, the request probably belongs to an
     * earlier connection with the same QPN. The responder drops this request, because an ACK would
     * acknowledge a request that the present peer never sent (a ghost ACK, R252). */
    if ((rnic_pos)-ahead > resp->epos)
        return RNIC_RESP_DROP;
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return RNIC_RESP_DUPLICATE_ACK;
    case ROCE_KIND_READ: return RNIC_RESP_DUPLICATE_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: return RNIC_RESP_DUPLICATE_ATOMIC;
    default: return RNIC_RESP_DROP;
    }
}

/* Returns the position (pos.h) of a request with a PSN before the expected PSN. */
static rnic_pos duplicate_pos(const struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_responder_epsn(resp));

    return resp->epos - (rnic_pos)-ahead;
}

/* Queues the response to a duplicate READ once more (R111-R113, R116). The R_Key is checked when
 * the packets are built. */
enum rnic_resp_step rnic_resp_duplicate_read(struct rnic_responder *resp,
                                             const struct roce_pkt *pkt)
{
    const struct roce_reth *reth = &pkt->reth;
    rnic_pos pos = duplicate_pos(resp, pkt);
    struct rnic_respres *res = rnic_respres_read(&resp->resources, pos, reth->va, reth->dma_len,
                                                 reth->rkey, resp->attr.path_mtu);

    if (!res || !rnic_respres_restart(res, pos, reth->va, reth->dma_len))
        return RNIC_RESP_DROP;
    rnic_responder_queue_resource(resp, res, pos);
    return RNIC_RESP_DONE;
}

/* Queues the response to a duplicate atomic, with the stored original value (R114-R116). The
 * operands of the duplicate are not compared, because Linux rxe retransmits FLUSH and ATOMIC WRITE
 * with another address (deviation D17 in traces/linux-rxe.md). */
enum rnic_resp_step rnic_resp_duplicate_atomic(struct rnic_responder *resp,
                                               const struct roce_pkt *pkt)
{
    rnic_pos pos = duplicate_pos(resp, pkt);
    struct rnic_respres *res = rnic_respres_atomic(&resp->resources, pos, pkt->op->kind);

    if (!res)
        return RNIC_RESP_DROP;
    if (RNIC_FAULT(ATOMIC_TWICE) && res->kind == ROCE_KIND_FETCH_ADD)
        res->orig += pkt->atomiceth.swap_add;
    res->response_queued = true;
    rnic_responder_queue_resource(resp, res, pos);
    return RNIC_RESP_DONE;
}

/* Repeats the newest ACK for a duplicate SEND or WRITE (R109, R110). A duplicate of the newest
 * packet is acknowledged even without AckReq. Without this ACK, the requester would have to wait
 * for the ACK of a later packet with AckReq, and the network may lose that packet, too. */
enum rnic_resp_step rnic_resp_duplicate_ack(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (RNIC_FAULT(DUPLICATE_COUNTS) && roce_opcode_ends(pkt->op))
        resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
    if ((pkt->bth.ackreq || duplicate_pos(resp, pkt) + 1 == resp->epos) &&
        !RNIC_FAULT(DUPLICATE_SILENT))
        rnic_responder_queue_ack(resp);
    return RNIC_RESP_DONE;
}
