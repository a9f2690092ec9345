/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/response_tx.h"

#include "transport/fault.h"
#include "wire/codes.h"

/*
 * The syndrome of an ACK as it is sent: the receive WQEs that are there beyond the messages its MSN
 * counts, rounded down to what the code can say (R107); "not valid" from a queue that others share
 * (R106, R181), or by choice. An ACK of an earlier MSN tells less than there is, never more.
 */
static uint8_t ack_syndrome(struct rnic_responder *resp)
{
    uint8_t code = ROCE_CREDIT_NONE;

    if (resp->attr.credits && resp->from == &resp->rq) {
        code = roce_credit_code(rnic_rq_cnt(&resp->rq));
        resp->starved = code == 0;
    }
    return ROCE_SYNDROME_ACK | code;
}

/* What it says of credits is decided when it is sent. */
void rnic_answer_owe_ack(struct rnic_responder *resp)
{
    rnic_owed_aeth(&resp->owed, resp->epos - 1, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, resp->msn);
}

/* A NAK carries the PSN of the request it refuses, which is the expected one: so it acknowledges
 * all before it (R069, R093). */
void rnic_answer_owe_nak(struct rnic_responder *resp, uint8_t syndrome)
{
    rnic_owed_aeth(&resp->owed, resp->epos + RNIC_FAULT(NAK_NEXT_PSN), syndrome, resp->msn);
}

void rnic_answer_renew_nak(struct rnic_responder *resp)
{
    struct rnic_owed *last = rnic_owed_last(&resp->owed);

    if (!last || last->res != RNIC_OWED_AETH ||
        last->syndrome != (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)) {
        resp->gap = 0; /* it went out */
    } else if (resp->epos < resp->gap) {
        last->pos = resp->epos;
        last->msn = resp->msn;
        resp->nak = RNIC_NAK_SEQ; /* and is that of the gap there, too (R068) */
    } else {
        rnic_owed_settle(&resp->owed);
        resp->gap = 0;
    }
}

void rnic_answer_owe_resource(struct rnic_responder *resp, const struct rnic_respres *res,
                              rnic_pos pos)
{
    rnic_owed_res(&resp->owed, (uint8_t)(res - resp->resources.res), pos, resp->msn);
}

/* Everything from the BTH on that all responses share (R041, R043-R045, R179). */
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
                     const struct rnic_owed *owed)
{
    uint8_t syndrome = owed->syndrome;

    if (roce_syndrome_kind(syndrome) == ROCE_SYN_ACK)
        syndrome = ack_syndrome(resp);
    begin_response(resp, pkt, ROCE_OP_RC_ACK, owed->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = syndrome, .msn = owed->msn};
    count_aeth(resp->counters, syndrome);
    rnic_owed_pop(&resp->owed);
}

/* R122; FLUSH and ATOMIC WRITE have a READ response without data (A19). */
static void put_atomic(struct rnic_responder *resp, struct roce_pkt *pkt,
                       const struct rnic_owed *owed, struct rnic_respres *res)
{
    bool a19 = res->kind == ROCE_KIND_FLUSH || res->kind == ROCE_KIND_ATOMIC_WRITE;

    begin_response(resp, pkt, a19 ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ATOMIC_ACK, owed->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = ack_syndrome(resp), .msn = owed->msn};
    pkt->atomicacketh.orig = res->orig;
    res->owed = false;
    res->answered = true;
    rnic_owed_pop(&resp->owed);
}

static uint8_t read_opcode(const struct rnic_respres *res, bool ends)
{
    if (res->begun)
        return ends && !RNIC_FAULT(READ_OPCODE) ? ROCE_OP_RC_READ_RESP_LAST
                                                : ROCE_OP_RC_READ_RESP_MIDDLE;
    return ends ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_FIRST;
}

/*
 * The next packet of a READ (R039, R063), or false if its key does not hold any more (R208). A
 * first answer then ends in a NAK in place of that packet, and the connection with it; a replay
 * just ends (R113, R117).
 */
static bool put_read(struct rnic_responder *resp, struct roce_pkt *pkt, struct rnic_owed *owed,
                     struct rnic_respres *res)
{
    bool ends = res->left <= resp->attr.path_mtu;
    uint32_t len = ends ? res->left : resp->attr.path_mtu;
    uint64_t va = res->va + (uint64_t)res->next * resp->attr.path_mtu;
    uint8_t *src = NULL;

    if (RNIC_FAULT(READ_FIRST_BYTES) || (RNIC_FAULT(READ_REPLAY_VA) && res->answered))
        va = res->va;
    resp->srqn = res->srqn; /* of the request this answers */
    if (len && resp->ops->translate(resp->qp, res->rkey, va, len, RNIC_ACCESS_REMOTE_READ, &src) !=
                   RNIC_MEM_OK) {
        rnic_pos pos = owed->pos;
        uint32_t msn = owed->msn;

        res->owed = false;
        rnic_owed_pop(&resp->owed);
        if (!res->answered) {
            resp->owed.cnt = 0; /* what came after it is not answered any more */
            rnic_owed_aeth(&resp->owed, pos, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, msn);
            if (!resp->failed)
                rnic_responder_fail(resp, RNIC_EVENT_QP_ACCESS_ERR);
        }
        return false;
    }
    begin_response(resp, pkt, read_opcode(res, ends), owed->pos);
    pkt->aeth = (struct roce_aeth){.syndrome = ack_syndrome(resp), .msn = owed->msn};
    pkt->payload = src;
    pkt->payload_len = len;
    res->begun = true;
    res->left -= len;
    owed->pos = res->pos + ++res->next;
    if (ends) {
        res->owed = false;
        res->answered = true;
        rnic_owed_pop(&resp->owed);
    }
    return true;
}

bool rnic_responder_output(struct rnic_responder *resp, struct roce_pkt *pkt)
{
    struct rnic_owed *owed;

    /* Ends: each turn sends a packet or takes an entry away, but for the NAK put in their place. */
    while ((owed = rnic_owed_first(&resp->owed)) != NULL) {
        struct rnic_respres *res;

        if (owed->res == RNIC_OWED_AETH) {
            put_aeth(resp, pkt, owed);
            return true;
        }
        res = &resp->resources.res[owed->res];
        if (res->kind != ROCE_KIND_READ) {
            put_atomic(resp, pkt, owed, res);
            return true;
        }
        if (put_read(resp, pkt, owed, res))
            return true;
    }
    return false;
}
