/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/response_tx.h"

#include "transport/fault.h"
#include "wire/codes.h"

/* Returns the syndrome of an ACK at transmission: the number of free receive WQEs, rounded down to
 * a credit code (R107). The code is "not valid" for a shared queue (R106, R181), or if credits are
 * off. The requester counts credits from the MSN of the ACK. If the ACK has the MSN of an earlier
 * request, it offers fewer credits than are available, never more. */
static uint8_t ack_syndrome(struct rnic_responder *resp)
{
    uint8_t code = ROCE_CREDIT_NONE;

    if (resp->attr.credits && resp->recv_queue == &resp->rq) {
        code = roce_credit_code(rnic_rq_cnt(&resp->rq) + 2 * RNIC_FAULT(CREDITS_MORE));
        resp->sent_zero_credits = code == 0;
    }
    return ROCE_SYNDROME_ACK | code;
}

/* Queues an ACK; its credits are set at transmission. */
void rnic_responder_queue_ack(struct rnic_responder *resp)
{
    rnic_response_queue_put_aeth(&resp->responses, resp->epos - 1,
                                 ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, resp->msn);
}

/* Queues a NAK. A NAK carries the expected PSN and so acknowledges all earlier requests (R069,
 * R093). */
void rnic_responder_queue_nak(struct rnic_responder *resp, uint8_t syndrome)
{
    rnic_response_queue_put_aeth(&resp->responses, resp->epos + RNIC_FAULT(NAK_NEXT_PSN), syndrome,
                                 resp->msn);
}

void rnic_responder_update_seq_nak(struct rnic_responder *resp)
{
    struct rnic_queued_response *last = rnic_response_queue_last(&resp->responses);

    if (!last || last->res != RNIC_RESPONSE_AETH ||
        last->syndrome != (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)) {
        resp->gap_end = 0; /* the sequence NAK is no longer queued: it was already sent, so it
                            * cannot change */
    } else if (resp->epos < resp->gap_end) {
        last->pos = resp->epos;
        last->msn = resp->msn;
        resp->nak = RNIC_NAK_SEQ; /* send no second NAK for this gap (R068) */
    } else {
        rnic_response_queue_nak_to_ack(&resp->responses);
        resp->gap_end = 0;
    }
}

void rnic_responder_queue_resource(struct rnic_responder *resp, const struct rnic_respres *res,
                                   rnic_pos pos)
{
    rnic_response_queue_put_resource(&resp->responses, (uint8_t)(res - resp->resources.res), pos,
                                     resp->msn);
}

/* Fills in the header fields that all responses share (R041, R043-R045, R179). */
static void begin_response(const struct rnic_responder *resp, struct roce_pkt *pkt, uint8_t opcode,
                           rnic_pos pos)
{
    pkt->op = roce_opcode_in(opcode, resp->attr.svc);
    pkt->bth = (struct roce_bth){
        .opcode = pkt->op->value,
        .migreq = 1,
        .pkey = RNIC_FAULT(ACK_PKEY) ? resp->attr.pkey ^ 0x8000 : resp->attr.pkey,
        .dest_qp = resp->attr.dest_qpn,
        .psn = roce_psn_add(resp->attr.rq_psn, (int32_t)(pos & ROCE_PSN_MASK)).v,
    };
    pkt->payload = NULL;
    pkt->payload_len = 0;
}

static void count_aeth(struct rnic_transport_counters *counters, uint8_t syndrome)
{
    switch (syndrome) {
    case ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ: counters->packet_seq_nak++; break;
    case ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ: counters->resp_invalid_request++; break;
    case ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS: counters->resp_remote_access_errors++; break;
    case ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_OP: counters->resp_operational_errors++; break;
    default:
        if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR)
            counters->resp_rnr_nak++;
        break;
    }
}

static void put_aeth(struct rnic_responder *resp, struct roce_pkt *pkt,
                     const struct rnic_queued_response *response)
{
    uint8_t syndrome = response->syndrome;

    if (roce_syndrome_kind(syndrome) == ROCE_SYN_ACK)
        syndrome = ack_syndrome(resp);
    begin_response(resp, pkt, ROCE_OP_RC_ACK, response->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = syndrome, .msn = response->msn};
    count_aeth(resp->counters, syndrome);
    rnic_response_queue_pop(&resp->responses);
}

/* Builds an Atomic ACK (R122), or the READ response without data that answers FLUSH and ATOMIC
 * WRITE (A19). */
static void put_single_response(struct rnic_responder *resp, struct roce_pkt *pkt,
                                const struct rnic_queued_response *response,
                                struct rnic_respres *res)
{
    bool a19 = res->kind == ROCE_KIND_FLUSH || res->kind == ROCE_KIND_ATOMIC_WRITE;

    begin_response(resp, pkt, a19 ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ATOMIC_ACK,
                   response->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = ack_syndrome(resp), .msn = response->msn};
    pkt->atomicacketh.orig = res->orig;
    res->response_queued = false;
    res->response_sent = true;
    rnic_response_queue_pop(&resp->responses);
}

static uint8_t read_response_opcode(const struct rnic_respres *res, bool ends)
{
    if (res->response_started)
        return ends && !RNIC_FAULT(READ_OPCODE) ? ROCE_OP_RC_READ_RESP_LAST
                                                : ROCE_OP_RC_READ_RESP_MIDDLE;
    return ends ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_FIRST;
}

/* Builds the next packet of a READ response (R039, R063). Returns false if the R_Key is no longer
 * valid (R208). If the READ was executed for the first time, a NAK then replaces the response, and
 * the QP fails. If the response is for a duplicate READ, it ends without a NAK (R113, R117). */
static bool put_read_response(struct rnic_responder *resp, struct roce_pkt *pkt,
                              struct rnic_queued_response *response, struct rnic_respres *res)
{
    bool ends = res->left <= resp->attr.path_mtu;
    uint32_t len = ends ? res->left : resp->attr.path_mtu;
    uint64_t va = res->va + (uint64_t)res->next * resp->attr.path_mtu;
    uint8_t *src = NULL;

    if (RNIC_FAULT(READ_FIRST_BYTES) || (RNIC_FAULT(READ_REPLAY_VA) && res->response_sent))
        va = res->va;
    resp->srqn = res->srqn; /* SRQ number of the READ request being answered */
    if (len && resp->ops->translate(resp->qp, res->rkey, va, len, RNIC_ACCESS_REMOTE_READ, &src) !=
                   RNIC_MEM_OK) {
        rnic_pos pos = response->pos;
        uint32_t msn = response->msn;

        res->response_queued = false;
        rnic_response_queue_pop(&resp->responses);
        if (!res->response_sent) {
            resp->responses.cnt = 0; /* the responses to later requests are dropped */
            rnic_response_queue_put_aeth(&resp->responses, pos,
                                         ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, msn);
            if (!resp->failed)
                rnic_responder_fail(resp, RNIC_EVENT_QP_ACCESS_ERR);
        }
        return false;
    }
    begin_response(resp, pkt, read_response_opcode(res, ends), response->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = ack_syndrome(resp), .msn = response->msn};
    pkt->payload = src;
    pkt->payload_len = len;
    res->response_started = true;
    res->left -= len;
    response->pos = res->pos + ++res->next;
    if (ends) {
        res->response_queued = false;
        res->response_sent = true;
        rnic_response_queue_pop(&resp->responses);
    }
    return true;
}

bool rnic_responder_output(struct rnic_responder *resp, struct roce_pkt *pkt)
{
    struct rnic_queued_response *response;

    /* The loop terminates, because each iteration builds a packet or removes an entry. If a NAK
     * replaces the removed entry, the next iteration builds the NAK. */
    while ((response = rnic_response_queue_first(&resp->responses)) != NULL) {
        struct rnic_respres *res;

        if (response->res == RNIC_RESPONSE_AETH) {
            put_aeth(resp, pkt, response);
            return true;
        }
        res = &resp->resources.res[response->res];
        if (res->kind != ROCE_KIND_READ) {
            put_single_response(resp, pkt, response, res);
            return true;
        }
        if (put_read_response(resp, pkt, response, res))
            return true;
    }
    return false;
}
