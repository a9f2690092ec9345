/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_reasons.h"

#include <string.h>
#include "infer/infer_loss.h"
#include "infer/request_table.h"
#include "wire/codes.h"

/* This file has the reasons why a difference is inconclusive because of the network between the
 * capture point and the receiver. The capture does not show in which order requests arrived or
 * responses were sent, or which copies of a request arrived. */

/* Maximum length of the payload of a READ response, bytes. */
#define PAYLOAD_MAX 4096u

const char inconclusive_copies[] = "does not show which of the retransmitted requests arrived";
const char inconclusive_arrivals[] =
    "does not show which requests arrived, and in which order: some orders explain the response";

/* Returns whether an ACK has the PSN of data that was captured only later. The ACK answers a
 * duplicate, and the network reordered the two responses. */
static bool overtook_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);

    if (!event_is_syndrome(s, c->event, ROCE_SYN_ACK) || !e || rel >= c->epsn ||
        !event_fetches(s, e->event) || e->rel + e->cnt - 1 != rel ||
        !request_table_msn_fits(s, c->event) || !may_ack_data(c))
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

/* Returns whether the MSN of a response to a retransmitted READ or atomic is plausible. The MSN
 * must agree with the neighbouring responses and with the requests that the responder may have
 * executed. The capture does not always show which copies of the requests arrived. */
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

/* Returns the number of responses of our RNIC with PSN `rel`, kind `kind` and the given MSN. */
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

/* Returns whether a response to a READ or atomic is the first one captured for its PSN, and our
 * RNIC also sends a response with this PSN and MSN. The response was then compared with our
 * response to another copy of the request, which has another MSN. */
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

/* Returns whether the MSN of an earlier response exceeds the MSN of this response by at least
 * `least`. */
static bool follows_msn(const struct response_case *c, int32_t least)
{
    const struct inferred_setup *s = setup_of(c);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            roce_psn_diff(msn, roce_psn_of(event_packet(s, i)->msn)) <= -least &&
            counts_messages(s, i) && request_table_msn_fits(s, i))
            return true;
    return false;
}

/* Returns whether an earlier response has a higher MSN. The MSN of a responder never decreases, so
 * the network reordered the responses. */
static bool follows_higher_msn(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return request_table_msn_fits(s, c->event) && !sends_nak_at(c, s->event[c->event].rel) &&
           follows_msn(c, 1);
}

static bool was_overtaken(const struct response_case *c)
{
    return kind_of(c) == ROCE_KIND_ACK && follows_higher_msn(c);
}

static bool first_was_overtaken(const struct response_case *c)
{
    return kind_of(c) != ROCE_KIND_ACK && is_first_answer(c) && follows_higher_msn(c);
}

/* Returns whether an ACK may answer a copy of a request that the network made after the capture
 * point: a copy of a SEND or WRITE, or of a request before a READ or atomic. Responses that the
 * responder sent before must show every request that the ACK acknowledges and every message that
 * its MSN counts. */
static bool answers_network_copy(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    const struct request_pkt *e = request_at(s, rel);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);
    enum roce_kind kind;

    if (!event_is_syndrome(s, c->event, ROCE_SYN_ACK) || !e || rel > c->recorded_acked ||
        roce_psn_diff(msn, roce_psn_of(request_table_msn(s, rel))) < 0)
        return false;
    kind = event_opcode(s, e->event)->kind;
    return (kind == ROCE_KIND_SEND || kind == ROCE_KIND_WRITE || may_ack_data(c)) &&
           follows_msn(c, 0);
}

/* Returns whether the PSN of a response is before the first captured request, and its MSN counts no
 * later message. The explanation is that responses to later requests overtook this response in the
 * network. */
static bool answers_before_first(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return c->reorders && s->event[c->event].rel < s->first && s->msn_votes > 1 &&
           counts_messages(s, c->event) &&
           roce_psn_diff(roce_psn_of(event_packet(s, c->event)->msn), roce_psn_of(s->msn)) <= 0;
}

/* Returns whether the MSN of a response counts the request that it answers. For a READ response
 * First, the other responses of the direction show this (R103). */
static bool counts_itself(const struct inferred_setup *s, uint32_t event)
{
    return counts_messages(s, event) ||
           (event_opcode(s, event)->kind == ROCE_KIND_READ_RESP &&
            event_opcode(s, event)->pos == ROCE_POS_FIRST && s->read_first_msn == 0);
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
    bool swapped = false; /* another recorded response has the MSN of our response, and of these two
                           * recorded responses, the later one has the lower MSN */

    if (!c->counts || !c->ours || !counts_itself(s, c->event) ||
        (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK))
        return false;
    for (uint32_t i = first; i < s->event_cnt && (i < c->event || i - c->event <= LOOK_BACK); i++) {
        uint32_t other;

        if (!s->event[i].response || !s->event[i].usable || s->event[i].rel != rel ||
            event_opcode(s, i)->kind != kind || !counts_itself(s, i))
            continue;
        other = event_packet(s, i)->msn;
        same += other == msn;
        swapped |= other == c->ours->msn &&
                   (roce_psn_diff(roce_psn_of(other), roce_psn_of(msn)) > 0) == (i < c->event);
    }
    return swapped && same <= count_ours(c, rel, kind, msn);
}

/* Returns whether a sequence NAK has a PSN that an earlier captured response shows as executed. If
 * so, the network reordered the NAK and this response. */
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

/* Returns whether a request with a later PSN than sequence NAK `nak` was captured before the NAK
 * and counts as lost. Perhaps it was not lost: it arrived before the NAKed request and caused the
 * NAK, and the responder dropped it. */
static bool follows_dropped(const struct inferred_setup *s, uint32_t nak)
{
    for (uint32_t i = nak; i-- > 0 && nak - i <= LOOK_BACK;)
        if (!s->event[i].response && s->event[i].lost && s->event[i].rel > s->event[nak].rel)
            return true;
    return false;
}

/* Returns whether the request of a sequence NAK was lost or reordered after the capture point,
 * although our RNIC received it in order. One of five facts must show this: the responses to later
 * requests show that no request was lost (`needless`); a later response acknowledges the NAKed PSN
 * before another copy of the request is captured; the requester obeys the NAK and goes back to the
 * NAKed PSN, not to an earlier one; the requester sends no further request, because it stopped
 * before it could go back; follows_dropped() is true, and a later response shows that the responder
 * executed the request. */
static bool naks_reordered(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;
    bool answered = false; /* a later response shows that the responder received the request */
    bool earlier = false;  /* the requester went back to an earlier PSN */
    bool executed = false; /* a later response shows that the responder executed the request */
    bool over = true;      /* the requester sent no further request after the NAK */

    if (s->event[c->event].needless)
        return true;
    if (!event_is_nak_code(s, c->event, ROCE_NAK_PSN_SEQ) || rel > c->high || c->rnr == rel ||
        !request_table_msn_fits(s, c->event) || sends_nak_at(c, rel))
        return false;
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++) {
        if (!s->event[i].usable)
            continue;
        over &= s->event[i].response;
        answered |= s->event[i].response && s->event[i].rel == rel && !event_is_nak(s, i);
        executed |=
            s->event[i].response && event_executed(s, i, rel) && request_table_msn_fits(s, i);
        earlier |= !s->event[i].response && s->event[i].rel < rel;
        if (!s->event[i].response && s->event[i].rel == rel)
            return answered ||
                   (!earlier && (event_time(s, i) <= event_time(s, c->event) + NAK_OBEYED_NS ||
                                 infer_loss_is_shown(s, c->event, i, rel, false)));
    }
    return answered || (over && s->lossy) || (executed && (over || follows_dropped(s, c->event)));
}

/* Returns whether an RNR NAK may refuse a copy of the request that did not reach the responder in
 * the captured order. The copy arrived later, before the retransmission that our RNIC executed. */
static bool refuses_delayed(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return event_is_syndrome(s, c->event, ROCE_SYN_RNR) && request_table_msn_fits(s, c->event) &&
           copy_may_be_late(c, s->event[c->event].rel);
}

/* Returns whether each byte of a READ response equals the byte of a response of our RNIC to some
 * copy of the READ. Such data is possible if requests wrote these bytes between two copies: the
 * responder may have answered another copy than our RNIC, or may have executed the writing requests
 * between other copies. */
static bool answers_other_copy(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct trace_packet *p = event_packet(s, c->event);
    int64_t rel = s->event[c->event].rel;
    const uint8_t *payload = NULL; /* payload of the latest response examined */
    uint8_t shown[PAYLOAD_MAX] = {0};

    if (!c->data || !c->payload || !s->lossy || p->zero_filled || p->payload_len > PAYLOAD_MAX)
        return false;
    for (size_t i = 0; i < c->dir->response_cnt && c->dir->response[i].event < c->event; i++) {
        const struct tx_response *tx = &c->dir->response[i];

        if (tx->rel != rel || !tx->payload || tx->payload == payload ||
            tx->payload_len != p->payload_len)
            continue;
        payload = tx->payload;
        for (uint32_t k = 0; k < p->payload_len; k++)
            shown[k] |= payload[k] == trace_payload(p)[k];
    }
    return memchr(shown, 0, p->payload_len) == NULL;
}

const struct inconclusive_rule reasons_order[] = {
    /* clang-format off */
    {answers_other_copy,  false, inconclusive_copies},
    {overtook_data,       true,  "shows responses that the network reordered"},
    {counts_what_arrived, true,  inconclusive_copies},
    {answers_swapped,     true,  "shows responses that the network reordered"},
    {was_overtaken,       true,  "shows responses that the network reordered"},
    {answers_network_copy, false, "does not show which requests the network duplicated after the capture point"},
    {answers_before_first, true, "shows responses that the network reordered"},
    {first_was_overtaken, false, "shows responses that the network reordered"},
    {was_overtaken_nak,   true,  "shows responses that the network reordered"},
    {naks_reordered,      true,  "does not show which requests the network reordered after the capture point"},
    {refuses_delayed,     false, "does not show which requests the network reordered after the capture point"},
    {NULL, false, NULL},
    /* clang-format on */
};
