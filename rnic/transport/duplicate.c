/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Duplicate: requests that come again. Section numbers and rules as in responder.h. */
#include "transport/fault.h"
#include "transport/resp_steps.h"

/*
 * 9.7.5.1.4, C9-105: nothing is executed again, a message that is arriving is not touched (R118),
 * and what is wrong with a duplicate is not NAKed (R117).
 */
enum rnic_resp_step rnic_resp_duplicate(struct rnic_responder *resp, const struct roce_pkt *pkt)
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
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: return RNIC_RESP_DUPLICATE_ATOMIC;
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

/* R114-R116: the value of then, whatever the duplicate's operands are: Linux rxe repeats FLUSH and
 * ATOMIC WRITE with another address (D17). */
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

/*
 * R109, R110: the newest acknowledgement again. The newest packet gets it unasked: its sender does
 * not know that it arrived, and where nothing behind it ever finds room in a queue, nothing would
 * ever ask.
 */
enum rnic_resp_step rnic_resp_duplicate_ack(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    if (RNIC_FAULT(DUPLICATE_COUNTS) && roce_opcode_ends(pkt->op))
        resp->msn = (resp->msn + 1) & ROCE_PSN_MASK;
    if ((pkt->bth.ackreq || duplicate_pos(resp, pkt) + 1 == resp->epos) &&
        !RNIC_FAULT(DUPLICATE_SILENT))
        rnic_responder_queue_ack(resp);
    return RNIC_RESP_DONE;
}
