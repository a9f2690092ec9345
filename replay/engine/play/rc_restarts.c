/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_restarts.h"
#include "infer/infer_loss.h"
#include "infer/request_table.h"

/* Maximum round trip between the capture point and the requester, in multiples of min_response_ns,
 * the shortest round trip between the capture point and the responder. The factor is more than 1,
 * because the capture point may be nearer to the responder. */
#define ON_WAY 2u

/* Number of packets before a request in which is_network_copy() searches for the original of which
 * the request may be a copy. */
#define COPY_LOOK_BACK 64u

/* Number of packets after a retransmission in which goes_back_again() searches for the next one. */
#define BACK_LOOK_AHEAD 64u

static void mark_lost(struct requester_run *a, uint32_t event, uint32_t retransmit_event)
{
    const struct inferred_setup *s = a->wrs.setup;

    a->outcome[event] = RESP_LOST;
    if (event_time(s, retransmit_event) - event_time(s, event) <= ON_WAY * s->min_response_ns &&
        retransmit_event < a->unsure_from)
        a->unsure_from = retransmit_event;
}

/* Returns whether a request is a copy that the network made of an earlier request. Their IPv4
 * identifications show this. An undamaged request does not count as a copy of a damaged one,
 * because the replay ignores damaged copies. */
static bool is_network_copy(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = event; i-- > 0 && event - i <= COPY_LOOK_BACK;)
        if ((s->event[event].damaged || !s->event[i].damaged) &&
            trace_sent_once(s->trace, event_packet(s, i), event_packet(s, event)))
            return true;
    return false;
}

/* Returns the relative PSN to which the requester goes back next after retransmission `to`, if no
 * response was captured in between. Otherwise returns INT64_MIN. */
static int64_t goes_back_again(const struct inferred_setup *s, uint32_t to)
{
    uint32_t last = to;

    for (uint32_t i = to + 1; i < s->event_cnt && i - to <= BACK_LOOK_AHEAD; i++) {
        const struct trace_packet *p = event_packet(s, i), *before = event_packet(s, last);

        if (s->event[i].response || s->event[i].damaged)
            return INT64_MIN;
        if (s->event[i].rel >= s->event[last].rel + trace_psn_cnt(before, s->mtu))
            last = i;
        else if (!is_network_copy(s, i) && !trace_is_copy(before, p))
            return s->event[i].rel;
    }
    return INT64_MIN;
}

/* Returns whether the requester received response `event`, a sequence NAK of PSN `rel`. */
static bool is_seq_nak(const struct requester_run *a, uint32_t event, int64_t rel)
{
    const struct inferred_setup *s = a->wrs.setup;

    return s->event[event].response && a->outcome[event] == RESP_ACCEPTED &&
           s->event[event].rel == rel && !s->event[event].damaged &&
           event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);
}

/* Responses that crossed a retransmission: the requester had already retransmitted because of a
 * sequence NAK when it received them. */
struct crossing {
    uint32_t nak;  /* index into setup.event of the earlier sequence NAK, or EVENT_NONE if no
                    * response crossed the retransmission */
    uint32_t last; /* index into setup.event of the last response that crossed the retransmission */
};

/* Finds the responses that crossed the retransmission of PSN `rel` at event `to`. Two sequence NAKs
 * must show the crossing, both captured before the retransmission. The first NAK has PSN `rel` and
 * caused the retransmission. The second NAK has a higher PSN, to which the requester goes back
 * next. So the second NAK reached the requester after the retransmission. Finds nothing if a READ
 * or atomic is between the two PSNs, because a later ACK is then an implied NAK. */
static struct crossing find_crossing(const struct requester_run *a, uint32_t from, uint32_t to,
                                     int64_t rel)
{
    const struct inferred_setup *s = a->wrs.setup;
    struct crossing none = {.nak = EVENT_NONE}, found = none;
    int64_t again = goes_back_again(s, to);

    if (again <= rel || again - rel > BACK_LOOK_AHEAD)
        return none;
    for (int64_t i = rel; i < again; i++) {
        const struct work_request *wr = work_request_at(&a->wrs, i);

        if (!wr || (wr->kind != ROCE_KIND_SEND && wr->kind != ROCE_KIND_WRITE))
            return none;
    }
    found.last = EVENT_NONE;
    for (uint32_t i = to; i-- > from && event_time(s, to) - event_time(s, i) <= NAK_OBEYED_NS;) {
        if (!s->event[i].response && s->event[i].rel == rel)
            return none;
        if (found.last == EVENT_NONE) {
            if (is_seq_nak(a, i, again))
                found.last = i;
        } else if (is_seq_nak(a, i, rel)) {
            found.nak = i;
            return found;
        }
    }
    return none;
}

/* Marks responses as lost that the requester cannot have received in time, because it retransmits
 * PSN `rel` at event `to`: the responses from event `from` to `to` that acknowledge PSN `rel`, and
 * fatal NAKs for PSN `rel`. They never arrived, or arrived after the retransmission. Responses that
 * certainly arrived after the retransmission stay accepted (find_crossing()).
 *
 * Returns the event at which the search for lost responses begins if the requester retransmits
 * `rel` again. */
static uint32_t mark_lost_responses(struct requester_run *a, uint32_t from, uint32_t to,
                                    int64_t rel)
{
    const struct inferred_setup *s = a->wrs.setup;
    struct crossing crossing = find_crossing(a, from, to, rel);

    for (uint32_t i = from; i < to; i++) {
        bool fatal = s->event[i].response && event_is_fatal_nak(s, i);

        if (crossing.nak != EVENT_NONE && i > crossing.nak && i <= crossing.last && !fatal)
            continue;
        if (s->event[i].response && a->outcome[i] == RESP_ACCEPTED &&
            (event_executed(s, i, rel) || (fatal && s->event[i].rel >= rel)))
            mark_lost(a, i, to);
    }
    return crossing.nak == EVENT_NONE ? to : crossing.nak;
}

/* Returns whether a READ request before event `i` explains READ response `i`. The response to that
 * READ request must have the recorded opcode (First, Middle, Last or Only) at the PSN of event `i`
 * (R105). */
static bool is_asked(const struct work_requests *w, uint32_t i)
{
    const struct inferred_setup *s = w->setup;
    const struct work_request *wr = work_request_at(w, s->event[i].rel);
    enum roce_pos pos = event_opcode(s, i)->pos;

    for (uint32_t k = i; wr && k-- > wr->posted_by;) {
        int64_t off = s->event[i].rel - s->event[k].rel;
        uint32_t cnt;

        if (s->event[k].response || !trace_draws_read_response(event_opcode(s, k)->kind) || off < 0)
            continue;
        cnt = trace_psn_cnt(event_packet(s, k), s->mtu);
        if (off < cnt && (cnt == 1                  ? pos == ROCE_POS_ONLY
                          : off == 0                ? pos == ROCE_POS_FIRST
                          : off == (int64_t)cnt - 1 ? pos == ROCE_POS_LAST
                                                    : pos == ROCE_POS_MIDDLE))
            return true;
    }
    return false;
}

/* Returns whether the PSN of a damaged request is credible: opcode, length and at least half of the
 * bytes are the same as in the first copy. */
static bool is_what_it_says(const struct work_requests *w, uint32_t event)
{
    const struct inferred_setup *s = w->setup;
    const struct trace_packet *p = event_packet(s, event), *first;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    uint32_t same = 0;

    if (!e || e->event == event)
        return e != NULL;
    first = event_packet(s, e->event);
    if (p->opcode != first->opcode || p->payload_len != first->payload_len)
        return false;
    if (p->cut || first->cut)
        return true;
    for (uint32_t i = 0; i < p->payload_len; i++)
        same += trace_payload(p)[i] == trace_payload(first)[i];
    return same >= p->payload_len / 2;
}

/* Array `marked` has one element for each PSN: the index into setup.event of the latest
 * retransmission of the PSN, or of the NAK that caused the retransmission, or EVENT_NONE. Responses
 * before this event that the requester did not receive are already marked in a->outcome. */
void classify_retransmissions(struct requester_run *a, uint32_t *first, uint32_t *marked)
{
    const struct work_requests *w = &a->wrs;
    const struct inferred_setup *s = w->setup;
    uint32_t last = EVENT_NONE; /* index into setup.event of the latest request */
    int64_t next = s->first;    /* PSN after the latest request */
    bool answered = false;      /* a response was captured after the latest request */

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        int64_t idx = work_requests_psn_idx(w, event->rel);
        const struct trace_packet *p = event_packet(s, i);

        if (event->response) {
            answered = true;
            a->outcome[i] = event->rel < s->first || event->before_first ? RESP_BEFORE_FIRST
                            : event->rel >= w->end                       ? RESP_NOT_REPLAYED
                                                                         : RESP_ACCEPTED;
            if (a->outcome[i] == RESP_ACCEPTED && event_opcode(s, i)->kind == ROCE_KIND_READ_RESP &&
                !event->damaged && !is_asked(w, i)) {
                a->outcome[i] = RESP_UNSOLICITED;
                if (a->unsure_from == EVENT_NONE)
                    a->unsure_from = i;
            }
            continue;
        }
        if (idx < 0)
            continue;
        if (event->damaged && (i < work_request_at(w, event->rel)->posted_by ||
                               !is_what_it_says(w, i) || is_network_copy(s, i))) {
            a->retransmit[i] = RETX_WIRE_DUPLICATE; /* ignore the damaged request: all its fields
                                                     * are uncertain, and another copy may follow */
            continue;
        }
        if (first[idx] == EVENT_NONE) {
            first[idx] = i;
        } else if (!is_network_copy(s, i) &&
                   (last == EVENT_NONE || answered || !trace_is_copy(event_packet(s, last), p))) {
            a->retransmit[i] = RETX_CONTINUES;
            if (event->rel < next) {
                a->retransmit[i] = RETX_GO_BACK;
                marked[idx] = mark_lost_responses(
                    a, marked[idx] == EVENT_NONE ? first[idx] : marked[idx], i, event->rel);
            }
        } else {
            a->retransmit[i] = RETX_WIRE_DUPLICATE;
            continue;
        }
        next = event->rel + trace_psn_cnt(p, s->mtu);
        for (int64_t k = idx + 1; k < next - s->first && k < w->end - s->first; k++)
            if (first[k] == EVENT_NONE)
                first[k] = i; /* the other PSNs of a READ request */
        last = i;
        answered = false;
    }
}

bool exceeds_credits(const struct requester_run *a)
{
    const struct work_requests *w = &a->wrs;
    const struct inferred_setup *s = w->setup;
    int64_t limit = INT64_MAX; /* number of messages that the credits allow */
    int64_t acked = s->first - 1;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        const struct trace_packet *p = event_packet(s, i);
        const struct work_request *wr;
        int64_t number;

        if (event->response && a->outcome[i] == RESP_ACCEPTED && !event->damaged) {
            uint32_t credits = roce_credits(roce_syndrome_code(p->syndrome));
            int64_t sum = (int64_t)((p->msn - s->msn) & ROCE_PSN_MASK) + credits;

            if (roce_opcode_has(event_opcode(s, i), ROCE_HDR_AETH) &&
                roce_syndrome_kind(p->syndrome) == ROCE_SYN_ACK)
                limit = credits == ROCE_CREDITS_UNLIMITED   ? INT64_MAX
                        : limit == INT64_MAX || sum > limit ? sum
                                                            : limit;
            if (event_executed_to(s, i) > acked)
                acked = event_executed_to(s, i);
        }
        if (event->response || limit == INT64_MAX || a->retransmit[i])
            continue;
        wr = work_request_at(w, event->rel);
        if (!wr || !roce_opcode_uses_rq(event_opcode(s, w->part[wr->part + wr->part_cnt - 1])))
            continue;
        number = wr - w->wr + 1;
        if (number - 1 > limit || (number > limit && event->rel > wr->rel && acked < wr->rel) ||
            (number > limit && event->rel == wr->rel && acked < event->rel - 1))
            return true;
    }
    return false;
}
