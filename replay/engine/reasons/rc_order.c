/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_order.h"

#include "engine/reasons/rc_response_case.h"
#include "infer/request_table.h"
#include "util/lower_bound.h"

/* Number of packets before and after a response among which the order of the responses is compared.
 */
#define ORDER_NEAR 64u

/* Maximum difference between the MSNs of two responses for which skips_response() examines the
 * requests in between. This limit bounds the time of the search. */
#define MESSAGES_NEAR 64

bool order_shows_captured(const struct inferred_setup *s, uint32_t event)
{
    int64_t executed = event_executed_to(s, event);

    return executed == s->first - 1 || request_at(s, executed);
}

/* Returns whether packet `event` of the direction is a response that the requester accepts, and its
 * request is replayed. */
static bool is_whole_response(const struct inferred_setup *s, uint32_t event)
{
    return s->event[event].response && s->event[event].usable && !s->event[event].before_first;
}

/* Returns whether the PSN and MSN of response `other` can prove response `event` wrong. A response
 * that differs from our RNIC cannot prove wrong one that does not differ. */
static bool is_evidence(const struct inferred_setup *s, uint32_t other, uint32_t event)
{
    return is_whole_response(s, other) &&
           !(s->differs_known && s->event[other].differs && !s->event[event].differs);
}

/* The responder sent response `i` before response `later`. Returns whether the PSNs or MSNs of the
 * two contradict this order. */
static bool decreases(const struct inferred_setup *s, uint32_t i, uint32_t later)
{
    const struct trace_packet *q = event_packet(s, i), *p = event_packet(s, later);

    if (roce_opcode_has(event_opcode(s, i), ROCE_HDR_AETH) && counts_messages(s, later) &&
        roce_psn_diff(roce_psn_of(q->msn), roce_psn_of(p->msn)) > 0)
        return true;
    return event_is_syndrome(s, i, ROCE_SYN_ACK) && event_is_syndrome(s, later, ROCE_SYN_ACK) &&
           s->event[i].rel > s->event[later].rel;
}

/* Searches the ORDER_NEAR events before response `event` for the latest response that the responder
 * sent before `event`. If `counts` is set, considers only responses for which counts_messages()
 * returns true. Returns EVENT_NONE if it finds none. */
static uint32_t response_before(const struct inferred_setup *s, uint32_t event, bool counts)
{
    for (uint32_t i = event; i-- > 0 && event - i <= ORDER_NEAR;)
        if (is_whole_response(s, i) && (!counts || counts_messages(s, i)) &&
            trace_sent_before(s->trace, event_packet(s, i), event_packet(s, event)))
            return i;
    return EVENT_NONE;
}

/* Returns whether READ response `event` leaves a gap: it is a Middle or Last that the responder
 * sent directly after a First or Middle, but its PSN is not the next one. `before`: response before
 * `event`, or EVENT_NONE. */
static bool leaves_gap(const struct inferred_setup *s, uint32_t before, uint32_t event)
{
    const struct roce_opcode *op = event_opcode(s, event), *first;

    if (before == EVENT_NONE || op->kind != ROCE_KIND_READ_RESP || roce_opcode_starts(op) ||
        !trace_sent_next(s->trace, event_packet(s, before), event_packet(s, event)))
        return false;
    first = event_opcode(s, before);
    return first->kind == ROCE_KIND_READ_RESP && !roce_opcode_ends(first) &&
           s->event[event].rel != s->event[before].rel + 1;
}

/* Returns whether a gap in the PSNs of a READ response precedes or follows response `event`. One of
 * the two responses at the gap is then wrong. */
static bool is_at_gap(const struct inferred_setup *s, uint32_t event)
{
    uint32_t before;

    if (event_opcode(s, event)->kind != ROCE_KIND_READ_RESP)
        return false;
    before = response_before(s, event, false);
    if (before != EVENT_NONE && is_evidence(s, before, event) && leaves_gap(s, before, event))
        return true;
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= ORDER_NEAR; i++)
        if (is_whole_response(s, i) &&
            trace_sent_before(s->trace, event_packet(s, event), event_packet(s, i)))
            return is_evidence(s, i, event) && leaves_gap(s, response_before(s, i, false), i);
    return false;
}

/* Returns the index in setup.req of the request that completes message number `messages` + 1. */
static size_t request_after(const struct inferred_setup *s, uint32_t messages)
{
    size_t low = 0, high = s->req_cnt;

    LOWER_BOUND(low, high, mid, s->req[mid].msgs_done <= messages);
    return low;
}

/* Returns whether the responder skipped a response: the MSN of response `event` counts a READ or
 * atomic that the MSN of the previous response does not count, but no response to this READ or
 * atomic was sent in between. Returns false after two different requests with one PSN, because then
 * it is unknown whether the responder executed a READ or atomic. */
static bool skips_response(const struct inferred_setup *s, uint32_t event)
{
    const struct trace_packet *p = event_packet(s, event), *q;
    uint32_t i, msgs, counted;
    int32_t more;

    if (s->msn_votes < 2 || s->first_other < event || !counts_messages(s, event) ||
        (i = response_before(s, event, true)) == EVENT_NONE || !is_evidence(s, i, event))
        return false;
    q = event_packet(s, i);
    more = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(q->msn));
    msgs = (q->msn - s->msn) & ROCE_PSN_MASK;
    counted = msgs + (uint32_t)more;
    if (more <= 0 || more > MESSAGES_NEAR || !request_table_msn_fits(s, i))
        return false;
    for (size_t k = request_after(s, msgs); k < s->req_cnt && s->req[k].msgs_done <= counted; k++) {
        const struct request_pkt *e = &s->req[k];
        bool own = s->event[event].rel >= e->rel && s->event[event].rel < e->rel + e->cnt &&
                   event_opcode(s, event)->kind != ROCE_KIND_ACK;

        if (event_fetches(s, e->event) && !(own && e->msgs_done == counted))
            return trace_shows_all_between(s->trace, q, p);
    }
    return false;
}

bool contradicts_order(const struct inferred_setup *s, uint32_t event)
{
    const struct trace_packet *p = event_packet(s, event);
    bool nak = event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);

    if (!s->trace->flow[p->flow].numbered)
        return false;
    if (is_at_gap(s, event))
        return true;
    if (!order_shows_captured(s, event))
        return false;
    for (uint32_t i = event > ORDER_NEAR ? event - ORDER_NEAR : 0;
         i < s->event_cnt && i <= event + ORDER_NEAR; i++) {
        const struct trace_packet *q = event_packet(s, i);
        bool before;

        if (!is_evidence(s, i, event) || !order_shows_captured(s, i))
            continue;
        before = trace_sent_before(s->trace, q, p);
        if (before ? decreases(s, i, event)
                   : trace_sent_before(s->trace, p, q) && decreases(s, event, i))
            return true;
        if (nak && before && event_executed(s, i, s->event[event].rel) &&
            request_table_msn_fits(s, i))
            return true;
    }
    return skips_response(s, event);
}

bool precedes_response(const struct inferred_setup *s, uint32_t event)
{
    const struct trace_packet *p = event_packet(s, event);

    if (!event_is_fatal_nak(s, event))
        return false;
    for (uint32_t i = event > ORDER_NEAR ? event - ORDER_NEAR : 0;
         i < s->event_cnt && i <= event + ORDER_NEAR; i++)
        if (is_evidence(s, i, event) && trace_sent_before(s->trace, p, event_packet(s, i)))
            return true;
    return false;
}
