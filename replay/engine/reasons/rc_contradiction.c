/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_contradiction.h"

#include "engine/reasons/rc_order.h"
#include "engine/reasons/rc_reasons.h"
#include "infer/request_table.h"
#include "infer/shadow_memory.h"
#include "wire/codes.h"

/* Maximum number of requests in flight that the capture may lack, before the first captured PSN or
 * beyond the last one. */
#define UNSEEN_MAX 256

/* Maximum number of captured packets between two sequence NAKs for which may_follow_rnr_nak() still
 * examines the IPv4 identifications. */
#define BETWEEN_MAX 4096

/* Longest time between two copies of a packet that the network made, if it reorders packets, ns. */
#define DELAYED_COPY_NS UINT64_C(10000000)

/* At least this number of reordered ACKs and NAKs proves that the network reorders packets. Fewer
 * may have another cause, such as an altered PSN. */
#define ACKS_REORDERED 4u

/* Returns whether event `i` is a NAK that refuses a request with PSN `executed` or an earlier one.
 */
static bool is_refusal_of(const struct inferred_setup *s, uint32_t i, int64_t executed)
{
    return s->event[i].response && s->event[i].usable && s->event[i].rel <= executed &&
           event_is_nak(s, i) && !event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ);
}

/* Searches the LOOK_BACK packets after packet `event` for the last NAK of PSN `executed` or an
 * earlier one. Returns its index in setup.event, or `event` if there is none. */
static uint32_t last_refusal(const struct inferred_setup *s, uint32_t event, int64_t executed)
{
    uint32_t i = s->event_cnt - event > LOOK_BACK ? event + LOOK_BACK : s->event_cnt - 1;

    while (i > event && !is_refusal_of(s, i, executed))
        i--;
    return i;
}

bool is_refused_later(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t executed = event_executed_to(s, c->event);
    int64_t shown = INT64_MIN; /* highest PSN that the responses examined before show as executed */
    uint32_t last = event_is_nak(s, c->event) ? c->event : last_refusal(s, c->event, executed);

    if (last == c->event)
        return false;
    for (uint32_t i = c->event > LOOK_BACK ? c->event - LOOK_BACK : 0; i <= last; i++) {
        if (i == c->event || !s->event[i].response || !s->event[i].usable)
            continue;
        if (i > c->event && is_refusal_of(s, i, executed) && s->event[i].rel > shown)
            return true;
        if (event_executed_to(s, i) > shown && request_table_msn_fits(s, i))
            shown = event_executed_to(s, i);
    }
    return false;
}

/* Returns whether a request with the PSN of request `e` has another opcode, so that the kind of a
 * response to this PSN is unknown. */
static bool has_other_request(const struct response_case *c, const struct request_pkt *e)
{
    const struct inferred_setup *s = setup_of(c);

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (!s->event[i].response && s->event[i].rel >= e->rel &&
            s->event[i].rel < e->rel + e->cnt &&
            event_opcode(s, i)->kind != event_opcode(s, e->event)->kind)
            return true;
    return false;
}

/* Returns whether the opcode of a response with data is impossible at its PSN, for one of these
 * reasons: the response has the syndrome of a NAK; the request with this PSN needs no data; the
 * response is a Last or Only, and its PSN does not end the READ; the response is not a Last or
 * Only, and its PSN ends the READ; the response is not a First or Only at the first PSN of the
 * READ, and differs from ours only in the opcode, or in opcode and MSN. The last reason proves
 * nothing for the first captured request, which may be the tail of a READ. */
static bool has_wrong_place(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct roce_opcode *op = event_opcode(s, c->event);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    if (!e || e->invalid || (op->kind != ROCE_KIND_READ_RESP && op->kind != ROCE_KIND_ATOMIC_ACK) ||
        has_other_request(c, e))
        return false;
    if (roce_opcode_has(op, ROCE_HDR_AETH) &&
        roce_syndrome_kind(event_packet(s, c->event)->syndrome) != ROCE_SYN_ACK)
        return true;
    if (op->kind == ROCE_KIND_ATOMIC_ACK)
        return !roce_opcode_is_atomic(event_opcode(s, e->event));
    if (!trace_draws_read_response(event_opcode(s, e->event)->kind))
        return true;
    if (event_opcode(s, e->event)->kind != ROCE_KIND_READ)
        return false;
    /* If the path MTU is not known, `cnt` is only an upper bound of the PSNs of a READ. */
    return ((s->mtu_known || e->cnt == 1) &&
            roce_opcode_ends(op) != (rel == e->rel + e->cnt - 1)) ||
           ((c->opcode || c->opcode_msn) && !roce_opcode_starts(op) && rel == e->rel &&
            e != s->req);
}

/* Returns whether the MSN of the response counts far more messages than PSNs were requested, or far
 * fewer messages than were sent before the first captured request. An MSN that counts slightly
 * fewer is possible: if the network reorders packets, the response may answer a request that was
 * sent before the first captured one. */
static bool has_impossible_msn(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t high = s->event[c->event].rel > c->high ? s->event[c->event].rel : c->high;
    int32_t done = roce_psn_diff(roce_psn_of(event_packet(s, c->event)->msn), roce_psn_of(s->msn));

    return s->msn_votes > 1 && roce_opcode_has(event_opcode(s, c->event), ROCE_HDR_AETH) &&
           !c->dir->stretch && (done < -UNSEEN_MAX || done > high - s->first + 1 + UNSEEN_MAX);
}

bool refuses_executed(const struct inferred_setup *s, uint32_t event)
{
    if (!event_is_fatal_nak(s, event))
        return false;
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= LOOK_BACK; i++)
        if (s->event[i].response && s->event[i].usable && !event_is_nak(s, i) &&
            event_executed(s, i, s->event[event].rel) && request_table_msn_fits(s, i))
            return true;
    return false;
}

/* Sequence NAKs `before` and `event` have the same PSN. Returns whether the second one may be
 * correct. This is possible if the responder refused a copy of the request with an RNR NAK between
 * the two, and the capture lacks this RNR NAK. If the responder numbers its packets, their IPv4
 * identifications must show that the capture lacks a packet between the two sequence NAKs. */
static bool may_follow_rnr_nak(const struct inferred_setup *s, uint32_t before, uint32_t event)
{
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    const struct trace *trace = s->trace;
    const struct trace_packet *p = event_packet(s, event), *q = event_packet(s, before);
    uint32_t sent = 1; /* packets of the responder's host after `before`, up to `event` */

    if (s->rnr_naks == 0 || !e || e->event > event || p - q > BETWEEN_MAX ||
        !roce_opcode_uses_rq(event_opcode(s, e->event)))
        return false;
    for (const struct trace_packet *k = q + 1; k < p; k++)
        sent += trace->flow[k->flow].hosts == trace->flow[p->flow].hosts;
    return !trace->flow[p->flow].numbered || (uint16_t)(p->ip_id - q->ip_id) > sent;
}

/* Returns whether the network certainly reorders packets: several of the ACKs and NAKs near
 * response `event` acknowledge less than the previous one. */
static bool acks_are_reordered(const struct inferred_setup *s, uint32_t event)
{
    uint32_t first = event > LOOK_BACK ? event - LOOK_BACK : 0, before = EVENT_NONE;
    unsigned cnt = 0;

    for (uint32_t i = first; i < s->event_cnt && (i < event || i - event <= LOOK_BACK); i++) {
        if (!s->event[i].response || !s->event[i].usable || s->event[i].before_first ||
            event_opcode(s, i)->kind != ROCE_KIND_ACK)
            continue;
        cnt += before != EVENT_NONE && event_executed_to(s, i) < event_executed_to(s, before);
        before = i;
    }
    return cnt >= ACKS_REORDERED;
}

/* Returns whether sequence NAK `b` may be a copy of sequence NAK `a` of the same PSN, made by the
 * network or the capture. If the network's delay varies, the delay of the two copies varies,
 * too. */
static bool may_be_copy(const struct trace_packet *a, const struct trace_packet *b, bool reorders)
{
    return trace_is_copy(a, b) ||
           (reorders && a->msn == b->msn && b->time - a->time < DELAYED_COPY_NS);
}

bool repeats_sequence_nak(const struct inferred_setup *s, uint32_t event, bool reorders)
{
    const struct trace_packet *p = event_packet(s, event);

    if (!event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ))
        return false;
    for (uint32_t i = event; i-- > 0 && event - i <= LOOK_BACK;)
        if (s->event[i].usable && s->event[i].rel == s->event[event].rel &&
            (s->event[i].response || !s->trace->flow[p->flow].numbered || s->first_other < event))
            return event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) &&
                   (event_packet(s, i)->ip_id != p->ip_id ||
                    (!s->trace->flow[p->flow].numbered &&
                     !may_be_copy(event_packet(s, i), p,
                                  reorders || acks_are_reordered(s, event)))) &&
                   !may_follow_rnr_nak(s, i, event);
    return false;
}

/* Returns whether the MSNs of two responses near response `event` decrease. The MSN of a responder
 * never decreases, so the network reordered these two. */
static bool others_are_reordered(const struct inferred_setup *s, uint32_t event)
{
    uint32_t first = event > LOOK_BACK ? event - LOOK_BACK : 0, before = EVENT_NONE;

    for (uint32_t i = first; i < s->event_cnt && (i < event || i - event <= LOOK_BACK); i++) {
        if (i == event || !s->event[i].response || !s->event[i].usable ||
            s->event[i].before_first || !counts_messages(s, i))
            continue;
        if (before != EVENT_NONE && roce_psn_diff(roce_psn_of(event_packet(s, i)->msn),
                                                  roce_psn_of(event_packet(s, before)->msn)) < 0)
            return true;
        before = i;
    }
    return false;
}

/* Returns whether a NAK that refuses the retransmission of an executed READ or atomic may be the
 * last response that the responder sent. This requires a network that reorders responses. It also
 * requires an earlier execution of each request that responses captured after the NAK show as
 * executed: the MSN of the NAK counts the request, or a response before the NAK shows it as
 * executed. */
static bool may_be_last(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);
    int64_t shown = INT64_MIN; /* last PSN that responses before the NAK show as executed */

    if (!refuses_repeated(c) || !(c->reorders || others_are_reordered(s, c->event)))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            event_executed_to(s, i) > shown && request_table_msn_fits(s, i))
            shown = event_executed_to(s, i);
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++) {
        int64_t executed = event_executed_to(s, i);

        if (s->event[i].response && s->event[i].usable && executed > shown &&
            roce_psn_diff(roce_psn_of(request_table_msn(s, executed)), msn) > 0)
            return false;
    }
    return true;
}

/* Returns whether the PSN and MSN of a response contradict each other, whichever requests the
 * responder received. The MSN of a sequence NAK is the number of messages that end before its PSN.
 * The MSN of another response is at least the number of messages that its PSN shows as complete. */
static bool has_impossible_pair(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t executed = event_executed_to(s, c->event);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    bool nak = event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ);
    int32_t more = roce_psn_diff(roce_psn_of(event_packet(s, c->event)->msn),
                                 roce_psn_of(request_table_msn(s, executed)));

    if (s->msn_votes < 2 || c->dir->stretch || (!e && !nak) || !counts_messages(s, c->event) ||
        !order_shows_captured(s, c->event) || follows_other_request(c))
        return false;
    return more < 0 || (more > 0 && nak);
}

/* Returns whether two responses to the same atomic contain different original values. A responder
 * executes an atomic once and repeats the value (R115). */
static bool changes_original(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    struct roce_pkt pkt, other;

    if (kind_of(c) != ROCE_KIND_ATOMIC_ACK)
        return false;
    trace_parse(event_packet(s, c->event), &pkt);
    for (uint32_t i = c->event > LOOK_BACK ? c->event - LOOK_BACK : 0;
         i < s->event_cnt && (i < c->event || i - c->event <= LOOK_BACK); i++) {
        if (!s->event[i].response || !s->event[i].usable ||
            s->event[i].rel != s->event[c->event].rel ||
            event_opcode(s, i)->kind != ROCE_KIND_ATOMIC_ACK)
            continue;
        trace_parse(event_packet(s, i), &other);
        if (other.atomicacketh.orig != pkt.atomicacketh.orig)
            return true;
    }
    return false;
}

/* Returns whether a READ response or Atomic ACK returns data that the memory never contained: a
 * request of the same connection wrote there before, and no captured request wrote this data. */
static bool reads_unwritten(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct trace_packet *p = event_packet(s, c->event);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);
    struct shadow_view view = {.dir = c->dir_idx, .len = 1};
    struct roce_pkt pkt;

    if (!c->data || c->others_gap || !e || !c->ours || p->zero_filled)
        return false;
    view.req = (uint32_t)(e - s->req);
    view.va = e->va + (uint64_t)(rel - e->rel) * s->mtu;
    if (kind_of(c) == ROCE_KIND_ATOMIC_ACK) {
        trace_parse(p, &pkt);
        view.atomic = true;
        view.byte = (const uint8_t *)&pkt.atomicacketh.orig;
        view.len = sizeof(pkt.atomicacketh.orig);
        return shadow_never_had(c->memory, &view);
    }
    if (kind_of(c) != ROCE_KIND_READ_RESP || !c->ours->payload ||
        c->ours->payload_len != p->payload_len)
        return false;
    for (uint32_t i = 0; i < p->payload_len; i++, view.va++) {
        view.byte = trace_payload(p) + i;
        if (*view.byte != c->ours->payload[i] && shadow_never_had(c->memory, &view))
            return true;
    }
    return false;
}

bool contradicts_msn(const struct inferred_setup *s, uint32_t event)
{
    return s->msn_votes > 1 && event_opcode(s, event)->kind == ROCE_KIND_ACK &&
           order_shows_captured(s, event) && !request_table_msn_fits(s, event);
}

bool never_inconclusive(const struct response_case *c, const struct field_diffs *d)
{
    return field_diff_find(d, FIELD_DIFF_FORM) || field_diff_find(d, "bth.pkey") ||
           has_wrong_place(c) || has_impossible_msn(c) || has_impossible_pair(c) ||
           contradicts_order(setup_of(c), c->event) || precedes_response(setup_of(c), c->event) ||
           changes_original(c) || reads_unwritten(c) ||
           repeats_sequence_nak(setup_of(c), c->event, c->reorders) ||
           (refuses_executed(setup_of(c), c->event) && !may_be_last(c));
}
