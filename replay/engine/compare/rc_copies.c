/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_copies.h"

#include "engine/compare/rc_match.h"
#include "engine/reasons/peer_quirks.h"
#include "engine/reasons/rc_order.h"
#include "engine/reasons/rc_response_case.h"
#include "infer/request_table.h"

/* Number of packets before an ACK in which copies_allow_ack_msn() searches for copies of the
 * acknowledged request. */
#define COPIES_MAX 1024u

bool copies_allow_ack_msn(const struct response_cmp *cmp, uint32_t event)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    roce_psn msn = roce_psn_of(event_packet(s, event)->msn);
    int64_t rel = s->event[event].rel;
    const struct request_pkt *acked = request_at(s, rel);
    unsigned duplicates = 0, acks = 0;

    /* If the network does not reorder packets, search only the packets after the acknowledged
     * request. A duplicate before that request cannot have caused this ACK: the responder had then
     * executed only earlier PSNs, and an ACK of a duplicate has the latest executed PSN. */
    for (uint32_t i = event; i-- > 0 && event - i <= COPIES_MAX &&
                             (cmp->all->reordered > 0 || !acked || i > acked->event);) {
        const struct request_pkt *e = request_at(s, s->event[i].rel);

        duplicates += !s->event[i].response && s->event[i].rel <= rel && e && e->event < i;
        acks += s->event[i].response && s->event[i].rel == rel;
    }
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= COMPARE_RECENT; i++)
        if (s->event[i].response && s->event[i].usable &&
            event_opcode(s, i)->kind == ROCE_KIND_ACK) {
            if (roce_psn_diff(roce_psn_of(event_packet(s, i)->msn), msn) < 0)
                return false; /* the MSN of a responder never decreases */
            break;
        }
    /* The first ACK of this PSN answers the first copy of the request, so each further ACK needs a
     * duplicate of the request. */
    return duplicates > 0 && !contradicts_order(s, event) && acks <= duplicates &&
           !rc_match_has_other_psn(cmp, event) &&
           roce_psn_diff(msn, roce_psn_of(request_table_msn(s, rel))) >= 0 &&
           roce_psn_diff(msn, roce_psn_of(response_cmp_msn(cmp))) <= 0;
}

/* Returns whether the MSN of a response fits its neighbours: no earlier response has a higher MSN,
 * and no later response has a lower MSN. The MSN of a responder never decreases. Valid only if the
 * network does not reorder responses. */
static bool fits_neighbours(const struct inferred_setup *s, uint32_t event)
{
    roce_psn msn = roce_psn_of(event_packet(s, event)->msn);
    uint32_t first = event > COPIES_MAX ? event - COPIES_MAX : 0;

    for (uint32_t i = first; i < s->event_cnt && (i < event || i - event <= COPIES_MAX); i++) {
        int32_t more;

        if (i == event || !s->event[i].response || !s->event[i].usable ||
            s->event[i].before_first || !counts_messages(s, i))
            continue;
        more = roce_psn_diff(roce_psn_of(event_packet(s, i)->msn), msn);
        if (i < event ? more > 0 : more < 0)
            return false;
    }
    return true;
}

bool copies_allow_data_msn(const struct response_cmp *cmp, uint32_t event)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    enum roce_kind kind = event_opcode(s, event)->kind;
    roce_psn msn = roce_psn_of(event_packet(s, event)->msn), most;
    unsigned copies = 0, answers = 1;

    if (!s->lossy || !e || (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK))
        return false;
    most = roce_psn_of(request_table_msn(s, e->rel));
    if (roce_psn_diff(msn, most) < 0 || contradicts_order(s, event))
        return false;
    for (uint32_t i = event; i-- > 0 && event - i <= COPIES_MAX;) {
        const struct pkt_event *at = &s->event[i];
        const struct request_pkt *other = request_at(s, at->rel);

        if (at->response) {
            answers += at->rel == s->event[event].rel && event_opcode(s, i)->kind == kind;
            continue;
        }
        copies += at->rel >= e->rel && at->rel < e->rel + e->cnt;
        if (other && !at->damaged && event_in_time(s, event, i) &&
            roce_psn_diff(roce_psn_of(request_table_msn(s, other->rel)), most) > 0)
            most = roce_psn_of(request_table_msn(s, other->rel));
    }
    return copies > 1 && answers <= copies && roce_psn_diff(msn, most) <= 0 &&
           (cmp->all->reordered > REORDERED_SURE || fits_neighbours(s, event));
}

/* Returns the highest MSN that the responder may have had when it sent response `event`. The MSN
 * includes requests captured after the response only if the capture point or the network exchanges
 * packets. */
static uint32_t highest_msn(const struct response_cmp *cmp, uint32_t event)
{
    const struct epsn_advance *before = last_advance(cmp->dir, event);

    if (cmp->all->reordered > REORDERED_SURE || cmp->all->early > REORDERED_SURE)
        return response_cmp_msn(cmp);
    return before ? before->msn : cmp->dir->setup.msn;
}

bool later_requests_allow_msn(const struct response_cmp *cmp, uint32_t event, uint32_t least)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    roce_psn msn = roce_psn_of(event_packet(s, event)->msn);

    return !peer_quirks_of_sender(cmp->all->quirks, s->recorded->resp_rxe) &&
           roce_psn_diff(msn, roce_psn_of(least)) > 0 &&
           roce_psn_diff(msn, roce_psn_of(highest_msn(cmp, event))) <= 0 &&
           (cmp->all->reordered > REORDERED_SURE || fits_neighbours(s, event));
}
