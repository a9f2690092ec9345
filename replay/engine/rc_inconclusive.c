/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_inconclusive.h"

#include <string.h>
#include "engine/rc_match.h"
#include "infer/infer_loss.h"
#include "infer/shadow_memory.h"
#include "wire/codes.h"
#include "infer/request_table.h"

/* Maximum number of events searched around a response for its request. A requester never has
 * more packets in flight. */
#define LOOK_BACK 1024u

/* Maximum number of requests in flight that the capture may lack, before the first captured PSN or
 * beyond the last one. */
#define UNSEEN_MAX 256

/* Number of events before and after a response whose responses are compared in sent order. */
#define ORDER_NEAR 64u

static const struct inferred_setup *setup_of(const struct response_case *c)
{
    return &c->dir->setup;
}

static enum roce_kind kind_of(const struct response_case *c)
{
    return event_opcode(setup_of(c), c->event)->kind;
}

/* Returns whether the capture lacks every copy of some request of the direction, or the first copy
 * of a request that was executed. */
static bool lacks_requests(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return c->dir->stretch || s->executed_unseen_cnt > 0;
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
    int64_t more = rel - low; /* maximum number of messages executed after `low`: one for each
                               * PSN */
    int32_t done = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(request_table_msn(s, low)));

    if (low >= rel || (e && e->invalid) || s->event[event].damaged)
        return false;
    if (!roce_opcode_has(op, ROCE_HDR_AETH) || s->msn_votes == 0)
        return true; /* the response has no MSN, or the capture does not show the MSN at the
                      * start of the direction */
    if (event_is_nak(s, event) || (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST))
        return done >= 0 && done < more + 1;
    return done > 0 && done <= more;
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
    uint32_t since = EVENT_NONE;
    size_t low = 0, high = c->dir->advance_cnt;

    /* Find the last advance of our expected PSN before the response. */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (c->dir->advance[mid].event < c->event)
            low = mid + 1;
        else
            high = mid;
    }
    if (low > 0)
        since = c->dir->advance[low - 1].event;
    for (uint32_t i = c->event;
         i-- > 0 && c->event - i <= LOOK_BACK && (since == EVENT_NONE || i > since);) {
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
 * response shows as executed. The request was then lost behind the capture point, and its
 * retransmission was not captured. */
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
            return true; /* request sent before the capture began, and retransmitted in the
                          * capture */
    return rel >= s->first;
}

/* Returns whether a request after the expected PSN was captured and injected. Our RNIC must then
 * send a sequence NAK too. */
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
 * the requester retransmitted sooner than an RNR NAK allows.
 *
 * The request that our RNIC received was then lost behind the capture point. The capture also lacks
 * the requests that followed it.
 */
static bool naks_lost(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    uint64_t time = event_packet(s, c->event)->time;

    if (!event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || !request_table_msn_fits(s, c->event) ||
        !c->ours || c->ours->rel != rel || roce_syndrome_kind(c->ours->syndrome) != ROCE_SYN_RNR)
        return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (!s->event[i].response && s->event[i].rel >= rel)
            return event_packet(s, i)->time - time < roce_rnr_ns(s->rnr_code) / 2;
    return false;
}

/* Returns whether the response has data for a PSN that our RNIC has not reached, and no request for
 * that data was captured before. */
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

/* Returns whether a READ response is a Middle or Last where our RNIC sends a First or Only. The
 * capture may lack the first request of the READ. The recorded responder then sends the response to
 * the whole READ, but our RNIC received only a request for its last part. */
static bool may_be_tail(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    const struct roce_opcode *op = event_opcode(s, c->event);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;

    return e && our && e == s->req && !s->recorded->cm.present && !c->payload &&
           op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_starts(our) && !roce_opcode_starts(op) &&
           roce_opcode_ends(our) == roce_opcode_ends(op);
}

/* Returns whether a READ response answers a retransmission of the READ that was not captured. Its
 * data is correct, and all our responses are already matched. Its opcode shows that the
 * retransmitted READ begins at another PSN, but ends at the same one. */
static bool answers_restart(const struct response_case *c)
{
    const struct roce_opcode *op = event_opcode(setup_of(c), c->event);

    return c->matched && !c->replaces && c->opcode && c->ours && op->kind == ROCE_KIND_READ_RESP &&
           roce_opcode(c->ours->opcode)->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_ends(roce_opcode(c->ours->opcode)) == roce_opcode_ends(op);
}

/* Returns whether a READ response may differ only because the path MTU was inferred wrongly. The
 * inferred MTU is only a lower bound, the length of the longest captured packet, and the READ is
 * longer. */
static bool may_be_divided(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return !s->mtu_known && e && kind_of(c) == ROCE_KIND_READ_RESP &&
           event_opcode(s, e->event)->kind == ROCE_KIND_READ && e->len > s->mtu;
}

/* Returns whether an ACK has the PSN of data that the requester never received, because the data
 * was lost before the capture point. The requester retransmits the READ or atomic. The responder
 * sent the ACK to announce credits (9.7.7.2). */
static bool follows_lost_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    if (!event_is_syndrome(s, c->event, ROCE_SYN_ACK) || !e || rel >= c->epsn || !c->ours ||
        roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK || e->rel + e->cnt - 1 != rel ||
        !request_table_msn_fits(s, c->event))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && s->event[i].rel == rel &&
            event_opcode(s, i)->kind != ROCE_KIND_ACK)
            return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (!s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel <= rel)
            return true;
    return false;
}

/* Returns whether an ACK has the PSN of data that was captured only later. The ACK answers a
 * duplicate, and the network reordered the two responses. */
static bool overtook_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    if (!event_is_syndrome(s, c->event, ROCE_SYN_ACK) || !e || rel >= c->epsn ||
        !event_fetches(s, e->event) || e->rel + e->cnt - 1 != rel ||
        !request_table_msn_fits(s, c->event))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && event_executed_to(s, i) >= rel)
            return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++) {
        if (!s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel <= rel)
            return false;
        if (s->event[i].response && s->event[i].usable && s->event[i].rel == rel &&
            event_opcode(s, i)->kind != ROCE_KIND_ACK)
            return event_packet(s, i)->msn == event_packet(s, c->event)->msn;
    }
    return false;
}

/* Returns whether the MSN of a response must be exactly the number of complete messages (R103). */
static bool counts_messages(const struct inferred_setup *s, uint32_t event)
{
    const struct roce_opcode *op = event_opcode(s, event);

    return roce_opcode_has(op, ROCE_HDR_AETH) &&
           !(op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST);
}

/* Returns whether the MSN of a response to a retransmitted READ or atomic is plausible. It must
 * agree with the neighbouring responses and with the requests that may have been executed. The
 * capture does not always show which copies of the requests arrived. */
static bool counts_what_arrived(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    enum roce_kind kind = kind_of(c);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);
    unsigned copies = 0;

    if (!c->counts || !s->lossy || !e ||
        (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK) ||
        roce_psn_diff(msn, roce_psn_of(request_table_msn(s, e->rel))) < 0 ||
        roce_psn_diff(msn, roce_psn_of(request_table_msn(s, c->high))) > 0)
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        const struct pkt_event *event = &s->event[i];

        copies += !event->response && event->rel >= e->rel && event->rel < e->rel + e->cnt;
        if (!c->reorders && event->response && event->usable && !event->before_first &&
            counts_messages(s, i) && roce_psn_diff(msn, roce_psn_of(event_packet(s, i)->msn)) < 0)
            return false;
    }
    for (uint32_t i = c->event + 1; !c->reorders && i < s->event_cnt && i - c->event <= LOOK_BACK;
         i++)
        if (s->event[i].response && s->event[i].usable && counts_messages(s, i) &&
            roce_psn_diff(msn, roce_psn_of(event_packet(s, i)->msn)) > 0)
            return false;
    return copies > 1;
}

/* Returns whether only this response shows that the responder executed a request which a later
 * response refuses. A responder refuses a request at its first arrival, never at a retransmission
 * (R117). So no missing packet explains both responses. If other responses show the execution too,
 * the later refusal is wrong, and not this response. */
static bool is_refused_later(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t executed = event_executed_to(s, c->event);
    int64_t shown = INT64_MIN; /* last PSN that the other responses so far show as executed */

    if (event_is_nak(s, c->event))
        return false;
    for (uint32_t i = c->event > LOOK_BACK ? c->event - LOOK_BACK : 0;
         i < s->event_cnt && (i < c->event || i - c->event <= LOOK_BACK); i++) {
        if (i == c->event || !s->event[i].response || !s->event[i].usable)
            continue;
        if (i > c->event && event_is_nak(s, i) && !event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) &&
            s->event[i].rel <= executed && s->event[i].rel > shown)
            return true;
        if (event_executed_to(s, i) > shown && request_table_msn_fits(s, i))
            shown = event_executed_to(s, i);
    }
    return false;
}

/* Returns whether our RNIC sends a NAK at PSN `rel` too. */
static bool sends_nak_at(const struct response_case *c, int64_t rel)
{
    return c->ours && c->ours->rel == rel && rc_match_is_nak(c->ours->opcode, c->ours->syndrome);
}

/* Returns how many of our responses have a PSN, a kind and an MSN. */
static unsigned count_ours(const struct response_case *c, int64_t rel, enum roce_kind kind,
                           uint32_t msn)
{
    unsigned cnt = 0;

    for (size_t i = 0; i < c->dir->response_cnt; i++) {
        const struct tx_response *tx = &c->dir->response[i];

        cnt += tx->rel == rel && tx->msn == msn && roce_opcode(tx->opcode)->kind == kind;
    }
    return cnt;
}

/* Returns whether a response to a READ or atomic is the first one captured, and our RNIC sends
 * the same response to the copy that it executes. Only the MSN of our response to a later copy
 * differs. */
static bool is_first_answer(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;

    if (!c->counts || !counts_messages(s, c->event) ||
        count_ours(c, rel, kind_of(c), event_packet(s, c->event)->msn) == 0)
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].rel == rel &&
            event_opcode(s, i)->kind == kind_of(c))
            return false;
    return true;
}

/* Returns whether an earlier response has a higher MSN. The MSN of a responder never decreases, so
 * the network reordered the responses. */
static bool follows_higher_msn(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);

    if (!request_table_msn_fits(s, c->event) || sends_nak_at(c, s->event[c->event].rel))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            roce_psn_diff(msn, roce_psn_of(event_packet(s, i)->msn)) < 0 && counts_messages(s, i) &&
            request_table_msn_fits(s, i))
            return true;
    return false;
}

static bool was_overtaken(const struct response_case *c)
{
    return kind_of(c) == ROCE_KIND_ACK && follows_higher_msn(c);
}

static bool first_was_overtaken(const struct response_case *c)
{
    return kind_of(c) != ROCE_KIND_ACK && is_first_answer(c) && follows_higher_msn(c);
}

/* Returns whether the network reordered the responses to two copies of a READ or atomic: the
 * recorded responses have the MSNs of our two responses in the opposite order. */
static bool answers_swapped(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    uint32_t msn = event_packet(s, c->event)->msn;
    int64_t rel = s->event[c->event].rel;
    enum roce_kind kind = kind_of(c);
    uint32_t first = c->event > LOOK_BACK ? c->event - LOOK_BACK : 0;
    unsigned same = 0;    /* recorded responses with this MSN */
    bool swapped = false; /* another recorded response has the MSN of our response, and the two
                           * MSNs decrease */

    if (!c->counts || !c->ours || !counts_messages(s, c->event) ||
        (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK))
        return false;
    for (uint32_t i = first; i < s->event_cnt && (i < c->event || i - c->event <= LOOK_BACK); i++) {
        uint32_t other;

        if (!s->event[i].response || !s->event[i].usable || s->event[i].rel != rel ||
            event_opcode(s, i)->kind != kind || !counts_messages(s, i))
            continue;
        other = event_packet(s, i)->msn;
        same += other == msn;
        swapped |= other == c->ours->msn &&
                   (roce_psn_diff(roce_psn_of(other), roce_psn_of(msn)) > 0) == (i < c->event);
    }
    return swapped && same <= count_ours(c, rel, kind, msn);
}

/* Returns whether a sequence NAK has a PSN that an earlier response shows as executed. The network
 * reordered the NAKs. */
static bool was_overtaken_nak(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;

    if (!event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || c->replaces ||
        !request_table_msn_fits(s, c->event) || sends_nak_at(c, rel))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            event_executed(s, i, rel) && request_table_msn_fits(s, i))
            return true;
    return false;
}

/* Returns whether a sequence NAK has a PSN that our RNIC received in order, and the requester does
 * not go back elsewhere. The network reordered or lost the request behind the capture point. */
static bool naks_reordered(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel, high = c->high;
    bool answered = false; /* a later response shows that the responder received the request */

    if (!event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || rel > c->high || c->rnr == rel ||
        !request_table_msn_fits(s, c->event) || sends_nak_at(c, rel))
        return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++) {
        if (!s->event[i].usable)
            continue;
        answered |= s->event[i].response && s->event[i].rel == rel && !event_is_nak(s, i);
        if (s->event[i].response)
            continue;
        if (s->event[i].rel <= high)
            return answered ||
                   (s->event[i].rel == rel &&
                    (event_packet(s, i)->time <= event_packet(s, c->event)->time + NAK_OBEYED_NS ||
                     infer_loss_is_shown(s, c->event, i, rel, false)));
        high = s->event[i].rel;
    }
    return answered;
}

/* Returns whether a NAK refuses the retransmission of a READ or atomic that was executed. The
 * responder's program deregistered the region in between. */
static bool refuses_repeated(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    unsigned copies = 0;

    if (!event_is_nak_code(s, c->event, ROCE_NAK_REMOTE_ACCESS) || !e ||
        s->event[c->event].rel >= c->epsn ||
        !trace_draws_read_response(event_opcode(s, e->event)->kind))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        copies +=
            !s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt;
    return copies > 1;
}

/* Returns whether a NAK refuses a WRITE packet after the first of its message, as the last response
 * of the connection. The responder's program deregistered the region in between. */
static bool refuses_rest(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    if (!event_is_nak_code(s, c->event, ROCE_NAK_REMOTE_ACCESS) || !e ||
        s->req[e->msg_first].rel == e->rel || !request_table_msn_fits(s, c->event) ||
        event_opcode(s, e->event)->kind != ROCE_KIND_WRITE)
        return false;
    /* The NAK ends the connection: the requester retransmits nothing, and the responder executes
     * nothing more. */
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (s->event[i].usable &&
            (s->event[i].response ? event_executed(s, i, e->rel) : s->event[i].rel <= e->rel))
            return false;
    return true;
}

/* Returns whether an earlier request differs in its opcode from the first copy with its PSN. Which
 * of the two the responder executed is unknown, and so are its responses from this PSN on. */
static bool follows_other_request(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;) {
        const struct request_pkt *e;

        if (s->event[i].response || !s->event[i].usable || s->event[i].damaged ||
            s->event[i].rel > s->event[c->event].rel)
            continue;
        e = request_at(s, s->event[i].rel);
        if (e && e->event < i && event_opcode(s, i)->kind != event_opcode(s, e->event)->kind)
            return true;
    }
    return false;
}

/* Returns whether only data differs, another connection wrote some of that memory, and the capture
 * lacks some of the executed requests. */
static bool other_wrote(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return c->data && e && c->others_lack &&
           shadow_written_by_other(c->memory, e->rkey, e->va, e->len, c->dir_idx);
}

/* Reasons why a difference is inconclusive. The first reason that applies is reported. */
static const struct {
    bool (*fits)(const struct response_case *c);
    bool lacks; /* packets are missing, which may explain further differences */
    const char *text;
} reasons[] = {
    /* clang-format off */
    {answers_after_high,  true,  "lacks the request of this response"},
    {is_behind,           true,  "lacks a request before the request of this response"},
    {naks_captured,       true,  "lacks the retransmission that this NAK requests"},
    {refuses_unseen,      true,  "lacks the request of this NAK"},
    {naks_unseen,         true,  "lacks the out-of-order request of this NAK"},
    {naks_lost,           true,  "lacks the out-of-order request of this NAK"},
    {answers_unseen,      true,  "lacks the request of this response"},
    {follows_lost_data,   true,  "lacks the READ response before this ACK"},
    {overtook_data,       true,  "shows responses that the network reordered"},
    {answers_restart,     true,  "lacks the retransmitted READ of this response"},
    {counts_what_arrived, true,  "does not show which of the retransmitted requests arrived"},
    {answers_swapped,     true,  "shows responses that the network reordered"},
    {was_overtaken,       true,  "shows responses that the network reordered"},
    {first_was_overtaken, false, "shows responses that the network reordered"},
    {was_overtaken_nak,   true,  "shows responses that the network reordered"},
    {naks_reordered,      true,  "does not show which requests the network reordered behind it"},
    {refuses_repeated,    true,  "does not show when the program deregistered the memory"},
    {refuses_rest,        true,  "does not show when the program deregistered the memory"},
    {follows_other_request, true, "does not show which of two requests with one PSN was executed"},
    {other_wrote,         false, "does not show in which order connections wrote this memory"},
    {may_be_divided,      true,  "has no packet that shows the path MTU"},
    {may_be_tail,         true,  "may have begun after the READ of this response"},
    {lacks_requests,      true,  "lacks requests of this connection that the responder executed"},
    /* clang-format on */
};

void inconclusive_reason_add(struct inconclusive_reason *list, const char *why, uint32_t responses)
{
    size_t i = 0;

    while (i + 1 < INCONCLUSIVE_REASONS && list[i].why && strcmp(list[i].why, why) != 0)
        i++;
    if (!list[i].why)
        list[i].why = why;
    list[i].responses += responses;
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

/* Returns whether a response has data although its PSN is one of a request without data, or the
 * syndrome of a NAK. Also returns whether it ends the response to a READ at a PSN that is not its
 * last one, or does not end it there. */
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
    return event_opcode(s, e->event)->kind == ROCE_KIND_READ && s->mtu_known &&
           roce_opcode_ends(op) != (rel == e->rel + e->cnt - 1);
}

/* Returns whether an MSN counts far more messages than PSNs were requested, or far fewer than
 * before the first request. A responder of a reordering network may answer requests from before it.
 */
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
    if (!event_is_syndrome(s, event, ROCE_SYN_NAK) || event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ))
        return false;
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= LOOK_BACK; i++)
        if (s->event[i].response && s->event[i].usable && !event_is_nak(s, i) &&
            event_executed(s, i, s->event[event].rel) && request_table_msn_fits(s, i))
            return true;
    return false;
}

/* Returns whether a NAK that refuses the retransmission of an executed READ or atomic may be the
 * last response that the responder sent. The network reorders, and the responses captured after
 * the NAK show no execution that those before it do not show. */
static bool may_be_last(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t shown = INT64_MIN; /* last PSN that responses before the NAK show as executed */

    if (!c->reorders || !refuses_repeated(c))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            event_executed_to(s, i) > shown && request_table_msn_fits(s, i))
            shown = event_executed_to(s, i);
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++)
        if (s->event[i].response && s->event[i].usable && event_executed_to(s, i) > shown)
            return false;
    return true;
}

/* Returns whether the capture contains the last request that a response shows as executed. */
static bool shows_captured(const struct inferred_setup *s, uint32_t event)
{
    int64_t executed = event_executed_to(s, event);

    return executed == s->first - 1 || request_at(s, executed);
}

bool contradicts_order(const struct inferred_setup *s, uint32_t event)
{
    const struct trace_packet *p = event_packet(s, event);
    int64_t rel = s->event[event].rel;
    bool counts = counts_messages(s, event);
    bool ack = event_is_syndrome(s, event, ROCE_SYN_ACK);
    bool nak = event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);

    if (!shows_captured(s, event))
        return false;
    for (uint32_t i = event > ORDER_NEAR ? event - ORDER_NEAR : 0;
         i < s->event_cnt && i <= event + ORDER_NEAR; i++) {
        const struct trace_packet *q = event_packet(s, i);
        bool before, after;
        int32_t more;

        if (!s->event[i].response || !s->event[i].usable || s->event[i].before_first ||
            !shows_captured(s, i))
            continue;
        before = trace_sent_before(s->trace, q, p);
        after = trace_sent_before(s->trace, p, q);
        more = roce_psn_diff(roce_psn_of(q->msn), roce_psn_of(p->msn));
        if (counts && counts_messages(s, i) && ((before && more > 0) || (after && more < 0)))
            return true;
        if (nak && before && event_executed(s, i, rel) && request_table_msn_fits(s, i))
            return true;
        if (ack && event_is_syndrome(s, i, ROCE_SYN_ACK) &&
            ((before && s->event[i].rel > rel) || (after && s->event[i].rel < rel)))
            return true;
    }
    return false;
}

/* Returns whether a responder never sends the PSN and MSN of a response together, whichever
 * requests it received: the MSN of a NAK counts exactly the messages before its PSN, and that of
 * another response no fewer messages than end up to its PSN. */
static bool has_impossible_pair(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t executed = event_executed_to(s, c->event);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    int32_t more = roce_psn_diff(roce_psn_of(event_packet(s, c->event)->msn),
                                 roce_psn_of(request_table_msn(s, executed)));

    if (s->msn_votes < 2 || c->dir->stretch || !e || !counts_messages(s, c->event) ||
        !shows_captured(s, c->event) || follows_other_request(c))
        return false;
    return more < 0 || (more > 0 && event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ));
}

/* Returns whether the original value of an Atomic ACK differs from that of another response to the
 * same request. A responder executes an atomic once and repeats the value (R115). */
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

bool contradicts_msn(const struct inferred_setup *s, uint32_t event)
{
    return s->msn_votes > 1 && event_opcode(s, event)->kind == ROCE_KIND_ACK &&
           shows_captured(s, event) && !request_table_msn_fits(s, event);
}

bool never_inconclusive(const struct response_case *c, const struct field_diffs *d)
{
    return field_diff_find(d, FIELD_DIFF_FORM) || field_diff_find(d, "bth.pkey") ||
           has_wrong_place(c) || has_impossible_msn(c) || has_impossible_pair(c) ||
           contradicts_order(setup_of(c), c->event) || changes_original(c) ||
           (refuses_executed(setup_of(c), c->event) && !may_be_last(c));
}

const char *inconclusive_reason(const struct response_case *c, bool *lacks)
{
    *lacks = false;
    if (is_refused_later(c))
        return NULL;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].fits(c)) {
            *lacks = reasons[i].lacks;
            return reasons[i].text;
        }
    return NULL;
}
