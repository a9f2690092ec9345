/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/completer.h"

#include <assert.h>
#include <string.h>
#include "transport/fault.h"
#include "wire/codes.h"

typedef enum rnic_comp_step step_fn(struct rnic_requester *req, const struct roce_pkt *pkt);

#define X(NAME, function) static step_fn function;
RNIC_COMP_STEPS(X)
#undef X

/* Runs one step of the completer and returns the next step. */
static enum rnic_comp_step run_step(enum rnic_comp_step step, struct rnic_requester *req,
                                    const struct roce_pkt *pkt)
{
    switch (step) {
#define X(NAME, function)                                                                          \
    case RNIC_COMP_##NAME: return function(req, pkt);
        RNIC_COMP_STEPS(X)
#undef X
    case RNIC_COMP_DONE: break;
    }
    return RNIC_COMP_DONE;
}

enum rnic_comp_step rnic_completer_input(struct rnic_requester *req, const struct roce_pkt *pkt,
                                         uint64_t now)
{
    enum rnic_comp_step step = RNIC_COMP_CHECK_PSN;
    enum rnic_comp_step last;
    rnic_pos una = req->una;

    assert(
        pkt->op->svc == req->attr.svc &&
        roce_opcode_is_response(pkt->op)); /* the device passes only responses to the completer */
    if (!req->started)
        return RNIC_COMP_IGNORE;
    req->response_time = now;
    do {
        last = step;
        step = run_step(step, req, pkt);
    } while (step != RNIC_COMP_DONE);
    if (req->started && req->una != una)
        rnic_requester_after_response(req, now);
    return last;
}

static const struct rnic_swqe *head_of(const struct rnic_requester *req)
{
    return rnic_sq_wqe(&req->sq, req->sq.head);
}

/* Acknowledges all requests before `pos`; SENDs and WRITEs complete (R138, R145, R069). Returns
 * true, or false if it reaches a READ or atomic before `pos` whose response is missing (R139). */
static bool complete_before(struct rnic_requester *req, rnic_pos pos)
{
    while (req->una < pos) {
        const struct rnic_swqe *wqe = head_of(req);
        rnic_pos end = rnic_swqe_end(wqe);

        if (rnic_wr_is_fetch(wqe->opcode))
            return false;
        rnic_requester_answered(req, end < pos ? end : pos);
        if (req->cur != req->sq.head)
            continue; /* the oldest WQE was already sent, so it is not a waiting local operation */
        rnic_requester_after_response(req, req->response_time);
        if (!req->started)
            return true; /* a local operation that waited for the acknowledgement has failed and
                          * stopped the requester */
    }
    return true;
}

/* ---- checking a response --------------------------------------------------------------------- */

/* Classifies a response by its PSN (9.7.6; R137, R144). The PSN can be in flight, already
 * acknowledged (duplicate), or never sent (ghost). */
static enum rnic_comp_step check_psn(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    int32_t ahead = roce_psn_diff(roce_pkt_psn(pkt), rnic_pos_psn(req->attr.sq_psn, req->una));

    if (ahead < 0)
        return (rnic_pos)-ahead <= req->una ? RNIC_COMP_DUPLICATE : RNIC_COMP_GHOST;
    if ((rnic_pos)ahead >= req->max - req->una)
        return RNIC_COMP_GHOST;
    req->response_pos = req->una + (rnic_pos)ahead;
    return RNIC_COMP_CHECK_SYNDROME;
}

/* Updates req->lsn, the last SSN for which the responder has receive WQEs (R135). This SSN never
 * decreases. An XRC target has no credits (R181). */
static void update_credits(struct rnic_requester *req, const struct roce_aeth *aeth)
{
    uint32_t credits = roce_credits(roce_syndrome_code(aeth->syndrome));
    roce_psn lsn;

    if (credits == ROCE_CREDITS_UNLIMITED || req->attr.svc == ROCE_SVC_XRC || req->ignore_credits) {
        req->limited = false;
        return;
    }
    lsn = roce_psn_add(roce_psn_of(aeth->msn), (int32_t)credits);
    if (!req->limited || roce_psn_cmp(lsn, roce_psn_of(req->lsn)) > 0)
        req->lsn = lsn.v;
    req->limited = true;
}

/* Classifies a response by the syndrome of its AETH (9.7.5.1.2; R105, R108, R147). */
static enum rnic_comp_step check_syndrome(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    enum roce_syndrome_kind kind = ROCE_SYN_ACK;

    if (roce_opcode_has(pkt->op, ROCE_HDR_AETH)) {
        kind = roce_syndrome_kind(pkt->aeth.syndrome);
        if (kind == ROCE_SYN_ACK)
            update_credits(req, &pkt->aeth);
    }
    if (pkt->op->kind != ROCE_KIND_ACK)
        return kind == ROCE_SYN_ACK ? RNIC_COMP_ACKNOWLEDGE_EARLIER : RNIC_COMP_IGNORE;
    switch (kind) {
    case ROCE_SYN_ACK: return RNIC_COMP_ACKNOWLEDGE;
    case ROCE_SYN_RNR: return RNIC_COMP_ACKNOWLEDGE_EARLIER;
    case ROCE_SYN_NAK:
        return roce_syndrome_code(pkt->aeth.syndrome) == ROCE_NAK_INVALID_RD_REQ
                   ? RNIC_COMP_IGNORE /* this NAK code exists for reliable datagram only */
                   : RNIC_COMP_ACKNOWLEDGE_EARLIER;
    case ROCE_SYN_RESERVED: break;
    }
    return RNIC_COMP_IGNORE;
}

/* Acknowledges all requests up to the PSN of the ACK (R064, R138). If a READ or atomic before that
 * PSN has no response yet, the ACK is an implied NAK (R139). */
static enum rnic_comp_step acknowledge(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    if (RNIC_FAULT(COMPLETE_AHEAD) && req->response_pos + 1 < req->max)
        req->response_pos++;
    return complete_before(req, req->response_pos + 1) ? RNIC_COMP_DONE : RNIC_COMP_IMPLIED_NAK;
}

/* Returns whether the current response belongs to the oldest WQE. */
static bool is_for_head_wqe(const struct rnic_requester *req)
{
    return req->response_pos >= head_of(req)->pos &&
           req->response_pos < rnic_swqe_end(head_of(req));
}

/* Acknowledges all requests before the request of the current response (R069, R139, R140, R145). If
 * the response is a NAK with a PSN in the middle of a READ, it acknowledges only the requests
 * before that READ. */
static enum rnic_comp_step acknowledge_earlier(struct rnic_requester *req,
                                               const struct roce_pkt *pkt)
{
    bool gapless = complete_before(req, req->response_pos);

    if (!req->started)
        return RNIC_COMP_DONE;
    if (pkt->op->kind != ROCE_KIND_ACK)
        return gapless ? RNIC_COMP_CHECK_KIND : RNIC_COMP_IMPLIED_NAK;
    if (!gapless && !is_for_head_wqe(req))
        return RNIC_COMP_IMPLIED_NAK;
    if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR)
        return RNIC_COMP_NAK_RNR;
    return roce_syndrome_code(pkt->aeth.syndrome) == ROCE_NAK_PSN_SEQ ? RNIC_COMP_NAK_PSN_SEQ
                                                                      : RNIC_COMP_NAK_FATAL;
}

/* Checks that the response has the kind that its request requires (R143). */
static enum rnic_comp_step check_kind(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    uint8_t opcode = head_of(req)->opcode;

    if (pkt->op->kind == ROCE_KIND_READ_RESP && rnic_wr_is_a19(opcode))
        return RNIC_COMP_COMPLETE_A19;
    if (pkt->op->kind == ROCE_KIND_READ_RESP)
        return opcode == RNIC_WR_READ ? RNIC_COMP_CHECK_ORDER : RNIC_COMP_BAD_RESPONSE;
    return rnic_wr_is_atomic(opcode) ? RNIC_COMP_PLACE_ATOMIC : RNIC_COMP_BAD_RESPONSE;
}

/* Checks the order of READ responses (R141). First or Only must be at the first PSN of the READ, or
 * at the first PSN of its latest retransmission. Middle or Last may be at any later PSN of the
 * READ, also at the first PSN of a retransmission (deviation D4). */
static enum rnic_comp_step check_order(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    const struct rnic_swqe *wqe = head_of(req);
    bool fits = roce_opcode_starts(pkt->op) ? req->una == wqe->read_pos || req->una == wqe->pos
                                            : req->una > wqe->pos;

    return fits ? RNIC_COMP_CHECK_LENGTH : RNIC_COMP_BAD_RESPONSE;
}

/* Checks the length of a READ response (R142): every packet has path MTU bytes, except the last,
 * which has the rest. */
static enum rnic_comp_step check_length(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    const struct rnic_swqe *wqe = head_of(req);
    uint32_t left = wqe->len - (uint32_t)(req->una - wqe->pos) * req->attr.path_mtu;
    bool ends = req->una + 1 == rnic_swqe_end(wqe);

    if (RNIC_FAULT(RESPONSE_LENGTH) && ends && pkt->payload_len < left)
        return RNIC_COMP_PLACE_READ;
    if (roce_opcode_ends(pkt->op) != ends || pkt->payload_len != (ends ? left : req->attr.path_mtu))
        return RNIC_COMP_BAD_LENGTH;
    return RNIC_COMP_PLACE_READ;
}

/* ---- taking the data of a response ----------------------------------------------------------- */

static enum rnic_comp_step place_read(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    const struct rnic_swqe *wqe = head_of(req);
    uint32_t off = (uint32_t)(req->una - wqe->pos) * req->attr.path_mtu;

    if (pkt->payload_len && !RNIC_FAULT(READ_DATA) &&
        rnic_sq_scatter(&req->sq, wqe, off, pkt->payload_len, req->ops, req->qp, pkt->payload) !=
            RNIC_MEM_OK)
        return RNIC_COMP_BAD_MEMORY;
    rnic_requester_answered(req, req->una + 1);
    return RNIC_COMP_DONE;
}

/* Writes the original value of an atomic in host byte order (R122, R125). A duplicate Atomic ACK
 * cannot overwrite it, because the first one completes the WQE. */
static enum rnic_comp_step place_atomic(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    const struct rnic_swqe *wqe = head_of(req);
    uint64_t orig = pkt->atomicacketh.orig;
    uint8_t bytes[sizeof(orig)];

    memcpy(bytes, &orig, sizeof(orig));
    if (rnic_sq_scatter(&req->sq, wqe, 0, sizeof(bytes), req->ops, req->qp, bytes) != RNIC_MEM_OK)
        return RNIC_COMP_BAD_MEMORY;
    rnic_requester_answered(req, req->una + 1);
    return RNIC_COMP_DONE;
}

/* Completes FLUSH and ATOMIC WRITE (A19). Their response is a READ Response Only without data. */
static enum rnic_comp_step complete_a19(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    if (!roce_opcode_starts(pkt->op) || !roce_opcode_ends(pkt->op))
        return RNIC_COMP_BAD_RESPONSE;
    if (pkt->payload_len)
        return RNIC_COMP_BAD_LENGTH;
    rnic_requester_answered(req, req->una + 1);
    return RNIC_COMP_DONE;
}

/* ---- handling NAKs --------------------------------------------------------------------------- */

/* Returns whether the requester has already gone back, or is about to go back, to the oldest
 * request (R161). */
static bool restart_pending(const struct rnic_requester *req)
{
    return req->restarted || req->nxt == req->una || req->retry.wait == RNIC_RETRY_RNR;
}

/* Goes back to the oldest request and increments *counter. Does nothing if restart_pending(). */
static enum rnic_comp_step restart(struct rnic_requester *req, uint64_t *counter)
{
    if (restart_pending(req))
        return RNIC_COMP_IGNORE;
    ++*counter;
    req->restarted = true;
    rnic_requester_retry(req);
    return RNIC_COMP_DONE;
}

/* Handles a NAK with PSN sequence error (R152). */
static enum rnic_comp_step nak_psn_seq(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    return RNIC_FAULT(SEQ_NAK_IGNORED) ? RNIC_COMP_IGNORE
                                       : restart(req, &req->counters->packet_seq_err);
}

/* Handles an RNR NAK, for any kind of request: starts the RNR wait (R156, R157, R159). An RNR NAK
 * that arrives during the wait is ignored. */
static enum rnic_comp_step nak_rnr(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    if (req->retry.wait == RNIC_RETRY_RNR)
        return RNIC_COMP_IGNORE;
    req->counters->rnr_nak_retry_err++;
    if (RNIC_FAULT(RNR_NO_WAIT) ||
        !rnic_retry_rnr(&req->retry, roce_syndrome_code(pkt->aeth.syndrome), req->response_time)) {
        req->counters->rnr_retry_exceeded_err++;
        rnic_requester_fail(req, RNIC_WC_RNR_RETRY_EXC_ERR);
        return RNIC_COMP_DONE;
    }
    req->restarted = false; /* clear `restarted`, so that a sequence NAK after the RNR wait is not
                             * ignored */
    rnic_requester_go_back(req);
    return RNIC_COMP_DONE;
}

/* Handles a NAK that stops the requester (R146). */
static enum rnic_comp_step nak_fatal(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    if (RNIC_FAULT(NAK_GOES_ON)) {
        rnic_requester_retry(req);
        return RNIC_COMP_DONE;
    }
    switch (RNIC_FAULT(NAK_STATUS) ? ROCE_NAK_REMOTE_OP : roce_syndrome_code(pkt->aeth.syndrome)) {
    case ROCE_NAK_INVALID_REQ:
        req->counters->req_remote_invalid_request++;
        rnic_requester_fail(req, RNIC_WC_REM_INV_REQ_ERR);
        break;
    case ROCE_NAK_REMOTE_ACCESS:
        req->counters->req_remote_access_errors++;
        rnic_requester_fail(req, RNIC_WC_REM_ACCESS_ERR);
        break;
    default:
        req->counters->req_remote_operational_errors++;
        rnic_requester_fail(req, RNIC_WC_REM_OP_ERR);
        break;
    }
    return RNIC_COMP_DONE;
}

/* ---- handling bad responses ------------------------------------------------------------------ */

/* Retransmits the READ or atomic with the oldest unacknowledged PSN. A READ restarts at its first
 * missing byte (R139, R140). */
static enum rnic_comp_step implied_nak(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    return RNIC_FAULT(IMPLIED_IGNORED) ? RNIC_COMP_IGNORE
                                       : restart(req, &req->counters->implied_nak_seq_err);
}

/* Handles a response of the wrong kind or order (R141, R143). */
static enum rnic_comp_step bad_response(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    req->counters->bad_resp_err++;
    rnic_requester_fail(req, RNIC_WC_BAD_RESP_ERR);
    return RNIC_COMP_DONE;
}

/* Handles a READ response of the wrong length (R142). */
static enum rnic_comp_step bad_length(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    req->counters->bad_resp_err++;
    rnic_requester_fail(req, RNIC_WC_LOC_LEN_ERR);
    return RNIC_COMP_DONE;
}

/* Handles a READ or atomic response if its data cannot be written to local memory (R148). */
static enum rnic_comp_step bad_memory(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    rnic_requester_fail(req, RNIC_WC_LOC_PROT_ERR);
    return RNIC_COMP_DONE;
}

/* Counts a duplicate response (R144, R161). If the newest ACK arrives again, it may carry new
 * credits (R137). */
static enum rnic_comp_step count_duplicate(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    rnic_pos newest = req->una - 1;

    req->counters->duplicate_response++;
    if (pkt->op->kind == ROCE_KIND_ACK &&
        roce_psn_eq(roce_pkt_psn(pkt), rnic_pos_psn(req->attr.sq_psn, newest)) &&
        roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
        update_credits(req, &pkt->aeth);
    return RNIC_COMP_DONE;
}

/* Counts a response to a PSN that the requester never sent (R137). */
static enum rnic_comp_step count_ghost(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)pkt;
    req->counters->rx_no_request++;
    return RNIC_COMP_DONE;
}

static enum rnic_comp_step ignore_response(struct rnic_requester *req, const struct roce_pkt *pkt)
{
    (void)req;
    (void)pkt;
    return RNIC_COMP_DONE;
}
