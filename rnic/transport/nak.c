/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* NAK: steps that refuse a request with a NAK or drop it. The error classes are those of
 * rnic/rules.md (R089, R090). */
#include "transport/fault.h"
#include "transport/resp_steps.h"
#include "wire/codes.h"

/* Queues a sequence NAK (class B), because a request is missing (R067). */
enum rnic_resp_step rnic_resp_nak_psn_seq(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    resp->nak = RNIC_NAK_SEQ;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    return RNIC_RESP_DONE;
}

/* Sends an RNR NAK (class B), because no receive WQE is posted (R093, R094, R096, R097). The
 * responder drops the later packets in flight (R070). */
enum rnic_resp_step rnic_resp_nak_rnr(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    resp->counters->out_of_buffer++;
    resp->nak = RNIC_NAK_RNR;
    if (RNIC_FAULT(RNR_SILENT))
        return RNIC_RESP_DONE;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_RNR |
                                       (RNIC_FAULT(RNR_CODE) ? resp->attr.min_rnr_timer ^ 1u
                                                             : resp->attr.min_rnr_timer));
    return RNIC_RESP_DONE;
}

/* Sends an invalid-request NAK (class C: R072, R073, R075, R076, R079-R081, R120, R126). If the
 * message uses a receive WQE, the WQE completes with LOC_QP_OP_ERR, as in hfi1. The RNIC_WC_REM_*
 * statuses would be wrong, because they are for the requester of the peer. */
enum rnic_resp_step rnic_resp_nak_invalid_req(struct rnic_responder *resp,
                                              const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(
        resp, ROCE_SYNDROME_NAK |
                  (RNIC_FAULT(NAK_INVALID_CODE) ? ROCE_NAK_REMOTE_ACCESS : ROCE_NAK_INVALID_REQ));
    rnic_responder_fail_request(resp, RNIC_WC_LOC_QP_OP_ERR, RNIC_EVENT_QP_REQ_ERR);
    return RNIC_RESP_DONE;
}

/* Sends a NAK for a wrong XRC SRQ number (class C; R180). */
enum rnic_resp_step rnic_resp_nak_xrceth(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    rnic_responder_fail_request(resp, RNIC_WC_LOC_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR);
    return RNIC_RESP_DONE;
}

/* Sends a NAK for a SEND that is longer than its receive WQE (class C; R082). */
enum rnic_resp_step rnic_resp_nak_too_long(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ);
    rnic_responder_fail_request(resp, RNIC_WC_LOC_LEN_ERR, RNIC_EVENT_QP_REQ_ERR);
    return RNIC_RESP_DONE;
}

/* Sends a NAK for a memory access that is not allowed (class C; R083, R088). */
enum rnic_resp_step rnic_resp_nak_access(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(
        resp, ROCE_SYNDROME_NAK |
                  (RNIC_FAULT(NAK_ACCESS_CODE) ? ROCE_NAK_INVALID_REQ : ROCE_NAK_REMOTE_ACCESS));
    rnic_responder_fail_request(resp, RNIC_WC_LOC_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR);
    return RNIC_RESP_DONE;
}

/* Sends a NAK for a SEND with Invalidate if its key cannot be invalidated (class J; R204). NAK 0x62
 * and the completion status of the receive are what google/rdma-unit-test expects of hardware
 * (SendWithInvalidateBadRkey). */
enum rnic_resp_step rnic_resp_nak_invalidate(struct rnic_responder *resp,
                                             const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    rnic_responder_fail_request(resp, RNIC_WC_REM_ACCESS_ERR, RNIC_EVENT_QP_ACCESS_ERR);
    return RNIC_RESP_DONE;
}

/* Sends a NAK for a failure of the responder's own memory (class A; R090). */
enum rnic_resp_step rnic_resp_nak_operational(struct rnic_responder *resp,
                                              const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_responder_queue_nak(resp, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_OP);
    rnic_responder_fail_request(resp, RNIC_WC_LOC_PROT_ERR, RNIC_EVENT_QP_FATAL);
    return RNIC_RESP_DONE;
}

enum rnic_resp_step rnic_resp_drop(struct rnic_responder *resp, const struct roce_pkt *pkt)
{
    (void)resp;
    (void)pkt;
    return RNIC_RESP_DONE;
}
