/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_reasons.h"

#include "infer/request_table.h"
#include "wire/codes.h"

/* If an MSN seems to be lower than the number of captured messages by at least this number, the MSN
 * has wrapped at 2^24. */
#define MSN_WRAPPED 0x10000

/* This file has the reasons why a difference is inconclusive because a particular packet was not
 * captured. The packet is the request that a response answers, an earlier request, or an earlier
 * response. */

/* Returns the highest relative PSN of response `event` and the responses before it. */
static int64_t highest_response(const struct inferred_setup *s, uint32_t event)
{
    int64_t highest = s->event[event].rel;

    for (uint32_t i = event; i-- > 0 && event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && s->event[i].rel > highest)
            highest = s->event[i].rel;
    return highest;
}

bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high)
{
    const struct trace_packet *p = event_packet(s, event);
    const struct roce_opcode *op = event_opcode(s, event);
    int64_t rel = s->event[event].rel;
    const struct request_pkt *before = request_at_or_before(s, rel > high ? high : rel);
    int64_t end = before ? before->rel + before->cnt - 1 : s->first - 1;
    int64_t low = rel > high && high < end ? high : end;
    const struct request_pkt *e = request_at(s, low);
    int32_t done = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(request_table_msn(s, low)));
    int32_t least = 1; /* minimum number of messages executed after `low` */

    if (low >= rel || (e && e->invalid) || s->event[event].damaged)
        return false;
    if (!roce_opcode_has(op, ROCE_HDR_AETH))
        return true;
    if (event_is_nak(s, event) || (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST))
        least = 0;
    /* The MSN at the start of the direction is unknown. But the MSN counts from 0 (R102), so it
     * counts at least the captured messages. */
    if (s->msn_votes == 0)
        return done >= least || done < -MSN_WRAPPED;
    /* At most one message was executed for each PSN after `low`. If the response answers a
     * duplicate, it also counts later messages, to which the responses were captured before. */
    return done >= least && done <= highest_response(s, event) - low;
}

static bool answers_after_high(const struct response_case *c)
{
    return answers_uncaptured_request(setup_of(c), c->event, c->high);
}

/* Returns whether our RNIC refused the request at its expected PSN. The capture then contains a
 * copy of the request and all requests before it. */
static bool has_refused(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct epsn_advance *since = last_advance(c->dir, c->event);

    for (uint32_t i = c->event;
         i-- > 0 && c->event - i <= LOOK_BACK && (!since || i > since->event);) {
        const struct pkt_event *event = &s->event[i];

        if (!event->response && !event->damaged && !event->lost && !event->before_first &&
            !event->no_recv_wqe && event->rel == c->epsn)
            return true;
    }
    return false;
}

/* Returns whether an ACK is correct, and our RNIC has not executed the acknowledged request only
 * because the capture lacks an earlier request. The PSN and MSN of the ACK must agree, and its
 * request was captured. */
static bool is_behind(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;

    return event_executed_to(s, c->event) >= c->epsn && rel <= c->high &&
           !(c->ours && c->ours->rel == rel) && kind_of(c) == ROCE_KIND_ACK && !c->replaces &&
           !has_refused(c) && !s->event[c->event].damaged && request_at(s, rel) &&
           request_table_msn_fits(s, c->event);
}

/* Returns whether a sequence NAK has the PSN of a captured request that no earlier recorded
 * response shows as executed. The explanation is that the request was lost between the capture
 * point and the responder, and its retransmission was not captured. */
static bool naks_captured(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;

    return event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) && rel < c->epsn &&
           rel > c->recorded_acked && rel < c->high && !c->replaces &&
           request_table_msn_fits(s, c->event) && !(c->ours && c->ours->rel == rel);
}

/* Returns whether a NAK refuses a request again although no copy of the request was captured since
 * the previous refusal. */
static bool refuses_unseen(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *before = request_at(s, rel - 1);

    if ((before && before->invalid) || !event_is_nak(s, c->event) ||
        event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || !request_table_msn_fits(s, c->event))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        if (s->event[i].rel != rel)
            continue;
        return s->event[i].response && event_is_nak(s, i);
    }
    for (uint32_t i = c->event; i < s->event_cnt && i - c->event <= LOOK_BACK && rel < s->first;
         i++)
        if (!s->event[i].response && s->event[i].rel == rel)
            return true; /* the requester sent this request before the capture began, and
                          * retransmitted it in the capture */
    return rel >= s->first;
}

/* Returns whether a request after the expected PSN was captured and injected. Our RNIC must then
 * also send a sequence NAK. */
static bool gap_captured(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        const struct pkt_event *event = &s->event[i];

        if (event->response ? event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) && event->rel == c->epsn
                            : !event->damaged && event->rel < c->epsn)
            return false;
        if (!event->response && !event->damaged && !event->lost && event->rel > c->epsn)
            return true;
    }
    return false;
}

/* Returns whether a sequence NAK has exactly the PSN that our RNIC expects. The out-of-order
 * request that caused the NAK was then not captured. */
static bool naks_unseen(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) && s->event[c->event].rel == c->epsn &&
           !(c->ours && c->ours->rel == c->epsn) && event_packet(s, c->event)->msn == c->msn &&
           !gap_captured(c);
}

/*
 * Returns whether the recorded responder sent a sequence NAK where our RNIC sends an RNR NAK, and
 * the recorded requester then retransmitted sooner than it may after an RNR NAK.
 *
 * If so, the recorded responder never received the request that our RNIC refuses with the RNR NAK:
 * the request was lost after it passed the capture point. The capture also lacks the out-of-order
 * requests that caused the sequence NAK.
 */
static bool naks_lost(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    uint64_t time = event_time(s, c->event);

    if (!event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || !request_table_msn_fits(s, c->event) ||
        !c->ours || c->ours->rel != rel || roce_syndrome_kind(c->ours->syndrome) != ROCE_SYN_RNR)
        return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (!s->event[i].response && s->event[i].rel >= rel)
            return event_time(s, i) - time < roce_rnr_ns(s->rnr_code) / 2;
    return false;
}

/* Returns whether the response has data for a PSN that our RNIC has not reached, and no request for
 * that data was captured before the response. */
static bool answers_unseen(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);
    enum roce_kind kind = event_opcode(s, c->event)->kind;

    if ((kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK) || rel < c->epsn || !e ||
        !(kind == ROCE_KIND_READ_RESP ? trace_draws_read_response(event_opcode(s, e->event)->kind)
                                      : roce_opcode_is_atomic(event_opcode(s, e->event))) ||
        (roce_opcode_has(event_opcode(s, c->event), ROCE_HDR_AETH) &&
         !request_table_msn_fits(s, c->event)))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (!s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel <= rel)
            return false;
    return true;
}

/* Returns whether a READ response answers a retransmission of the READ that was not captured. The
 * data of the response is correct, and all our responses are already matched. The opcode of the
 * response shows that the retransmitted READ begins at another PSN, but ends at the same one. */
static bool answers_restart(const struct response_case *c)
{
    const struct roce_opcode *op = event_opcode(setup_of(c), c->event);

    return c->matched && !c->replaces && c->opcode && c->ours && op->kind == ROCE_KIND_READ_RESP &&
           roce_opcode(c->ours->opcode)->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_ends(roce_opcode(c->ours->opcode)) == roce_opcode_ends(op);
}

bool may_ack_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    if (!c->rxe || c->dir->stretch || s->msn != 0)
        return true;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        enum roce_kind kind = event_opcode(s, i)->kind;

        if (!s->event[i].response && s->event[i].rel < s->event[c->event].rel &&
            (kind == ROCE_KIND_SEND || kind == ROCE_KIND_WRITE))
            return true;
    }
    return false;
}

/* Returns whether an ACK of Linux rxe may answer a copy of the SEND or WRITE packet before PSN
 * `rel`. The packet was retransmitted, so the first copy may arrive late, as a duplicate. */
static bool answers_late_copy(const struct response_case *c, int64_t rel)
{
    const struct inferred_setup *s = setup_of(c);
    uint32_t copies = 0;

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        enum roce_kind kind = event_opcode(s, i)->kind;

        copies += !s->event[i].response && s->event[i].rel == rel - 1 &&
                  (kind == ROCE_KIND_SEND || kind == ROCE_KIND_WRITE);
    }
    return c->rxe && copies > 1;
}

/* Returns whether an ACK has the PSN of a READ or atomic, and the capture lacks the response to
 * this READ or atomic. There are two explanations. If the requester later retransmits the READ or
 * atomic, its response was lost before the capture point, and the ACK announces credits (9.7.7.2).
 * Or the ACK answers a late copy of the request with the previous PSN (answers_late_copy()). */
static bool follows_lost_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    if (!event_is_syndrome(s, c->event, ROCE_SYN_ACK) || !e || rel >= c->epsn || !c->ours ||
        roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK || e->rel + e->cnt - 1 != rel ||
        !request_table_msn_fits(s, c->event) || !may_ack_data(c))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && s->event[i].rel == rel &&
            event_opcode(s, i)->kind != ROCE_KIND_ACK)
            return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (!s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel <= rel)
            return true;
    return answers_late_copy(c, e->rel);
}

/* Returns whether the capture lacks a packet that the requester sent after request `e` and before
 * response `event`. Returns true also if the IPv4 identifications do not show it. */
static bool lacks_between(const struct inferred_setup *s, const struct request_pkt *e,
                          uint32_t event)
{
    const struct trace_packet *before = event_packet(s, e->event);

    for (uint32_t i = e->event + 1; i < event; i++) {
        const struct trace_packet *p = event_packet(s, i);

        if (s->event[i].response)
            continue;
        if (!trace_sent_once(s->trace, before, p) && !trace_shows_all_between(s->trace, before, p))
            return true;
        before = p;
    }
    return false;
}

/* Returns whether an ACK of Linux rxe answers a duplicate of the last captured request, and its MSN
 * also counts READs after this request, which the capture lacks. The PSN in such an ACK excludes
 * the READs (D7). */
static bool counts_unseen_reads(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    return c->rxe && c->counts && c->duplicate && event_is_syndrome(s, c->event, ROCE_SYN_ACK) &&
           e && e == &s->req[s->req_cnt - 1] && c->high == rel && !event_fetches(s, e->event) &&
           roce_psn_diff(roce_psn_of(event_packet(s, c->event)->msn),
                         roce_psn_of(request_table_msn(s, rel))) > 0 &&
           lacks_between(s, e, c->event);
}

const struct inconclusive_rule reasons_missing[] = {
    /* clang-format off */
    {answers_after_high, true, "lacks the request of this response"},
    {is_behind,          true, "lacks a request that was sent before the one that this response answers"},
    {naks_captured,      true, "lacks the retransmission that this NAK requests"},
    {refuses_unseen,     true, "lacks the request of this NAK"},
    {naks_unseen,        true, "lacks the out-of-order request of this NAK"},
    {naks_lost,          true, "lacks the out-of-order request of this NAK"},
    {answers_unseen,     true, "lacks the request of this response"},
    {follows_lost_data,  true, "lacks the READ response before this ACK"},
    {answers_restart,    true, "lacks the retransmitted READ of this response"},
    {counts_unseen_reads, false, "lacks a READ that the MSN of this ACK counts"},
    {NULL, false, NULL},
    /* clang-format on */
};
