/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/peer_quirks.h"

#include <string.h>
#include "infer/request_table.h"
#include "wire/codes.h"
#include "wire/crc32.h"

/* Number of packets before or after an event in which the functions below search for related
 * packets. A requester does not have more packets in flight. */
#define FOLLOW_MAX 1024u

static const struct trace_packet *recorded(const struct response_case *c)
{
    return event_packet(&c->dir->setup, c->event);
}

static bool recorded_nak(const struct response_case *c, enum roce_nak code)
{
    return kind_of(c) == ROCE_KIND_ACK && recorded(c)->syndrome == (ROCE_SYNDROME_NAK | code);
}

static bool our_nak(const struct response_case *c, enum roce_nak code)
{
    return c->ours && roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK &&
           c->ours->syndrome == (ROCE_SYNDROME_NAK | code);
}

/* Returns whether the request with the PSN of the recorded response is a request of kind `kind`. */
static bool request_is(const struct response_case *c, enum roce_kind kind)
{
    const struct inferred_setup *s = &c->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return e && roce_opcode(event_packet(s, e->event)->opcode)->kind == kind;
}

static bool nak_op_for_long_send(const struct response_case *c)
{
    return recorded_nak(c, ROCE_NAK_REMOTE_OP) && our_nak(c, ROCE_NAK_INVALID_REQ) &&
           request_is(c, ROCE_KIND_SEND);
}

/* Returns whether the response is not a NAK, but our QP entered the error state before it, at a
 * SEND packet that is wrong only in its length. */
static bool accepts_send_length(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;
    const struct request_pkt *e;

    if (c->dir->error_event == EVENT_NONE || c->dir->error_event > c->event ||
        event_is_nak(s, c->event))
        return false;
    e = request_at(s, s->event[c->dir->error_event].rel);
    return e && e->invalid &&
           roce_opcode(event_packet(s, e->event)->opcode)->kind == ROCE_KIND_SEND;
}

/* Finds the latest request before response `event` with a PSN from the first PSN of READ `e` to the
 * PSN of the response. Returns whether its PSN is not the first one: the request then asks only for
 * the last part of the READ. */
static bool requests_tail(const struct inferred_setup *s, uint32_t event,
                          const struct request_pkt *e)
{
    for (uint32_t i = event; i-- > 0 && event - i <= FOLLOW_MAX;)
        if (!s->event[i].response && s->event[i].rel >= e->rel &&
            s->event[i].rel <= s->event[event].rel)
            return s->event[i].rel > e->rel;
    return false;
}

static bool tail_without_first(const struct response_case *c)
{
    const struct roce_opcode *op = roce_opcode(recorded(c)->opcode);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;
    const struct inferred_setup *s = &c->dir->setup;
    uint32_t req = s->event[c->event].request;
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return our && op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           op->pos == (roce_opcode_ends(our) ? ROCE_POS_LAST : ROCE_POS_MIDDLE) &&
           roce_opcode_starts(our) && !c->payload && e &&
           ((req != EVENT_NONE && s->event[req].rel > e->rel) || requests_tail(s, c->event, e));
}

static bool atomic_ack_for_read(const struct response_case *c)
{
    return kind_of(c) == ROCE_KIND_ATOMIC_ACK && !c->ours && request_is(c, ROCE_KIND_READ);
}

/* Returns whether the recorded ACK has an old PSN but a current MSN. Linux rxe updates the PSN of
 * its ACKs only at SENDs and WRITEs, but their MSN also counts READs. */
static bool stale_duplicate_ack(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;
    const struct request_pkt *e = request_at_or_before(s, s->event[c->event].rel);
    size_t i = e ? (size_t)(e - s->req) + 1 : 0;

    if (kind_of(c) != ROCE_KIND_ACK || roce_syndrome_kind(recorded(c)->syndrome) != ROCE_SYN_ACK ||
        !c->duplicate)
        return false;
    /* Between the acknowledged PSN and the requests that the MSN counts, all requests must be
     * READs. The MSN may be lower than our MSN, because the recorded responder may be slower than
     * our RNIC. */
    for (; i < s->req_cnt && (s->req[i].rel < c->epsn || copy_may_be_late(c, s->req[i].rel)) &&
           roce_opcode(event_packet(s, s->req[i].event)->opcode)->kind == ROCE_KIND_READ;
         i++)
        if (recorded(c)->msn == request_table_msn(s, s->req[i].rel))
            return true;
    return false;
}

/* Returns whether a request with a later PSN than `rel` was captured between the latest copy of
 * request `rel` and event `event`. If the responder refused `rel`, the later request is out of
 * order and causes a sequence NAK. */
static bool followed(const struct inferred_setup *s, uint32_t event, int64_t rel)
{
    bool after = false;

    for (uint32_t i = event;
         i-- > 0 && event - i <= FOLLOW_MAX && (s->event[i].response || s->event[i].rel != rel);) {
        /* The capture has an earlier NAK with this PSN. The out-of-order request may have caused
         * that NAK. */
        if (s->event[i].response && s->event[i].rel == rel && event_is_nak(s, i))
            return false;
        after |= !s->event[i].response && s->event[i].rel > rel;
    }
    return after;
}

/* Returns the number of requests with a PSN after `rel` among the FOLLOW_MAX packets before packet
 * `event`. */
static uint32_t later_requests(const struct inferred_setup *s, uint32_t event, int64_t rel)
{
    uint32_t cnt = 0;

    for (uint32_t i = event; i-- > 0 && event - i <= FOLLOW_MAX;)
        cnt += !s->event[i].response && s->event[i].rel > rel;
    return cnt;
}

/* Returns whether a request with a later PSN than `rel` was captured between two copies of request
 * `rel`: `copy` and the previous copy. The later request arrived before `copy`, so it may have
 * caused a NAK. */
static bool is_preceded(const struct inferred_setup *s, uint32_t copy, int64_t rel)
{
    for (uint32_t i = copy; i-- > 0 && copy - i <= FOLLOW_MAX;)
        if (!s->event[i].response && s->event[i].rel >= rel)
            return s->event[i].rel > rel;
    return false;
}

/* Returns whether the recorded responder sent an RNR NAK, and then a sequence NAK with the same PSN
 * before the refused request arrived again. An RNR NAK with a later PSN may be in between, because
 * Linux rxe refuses every request while its transmit queue is full (S12). The capture then has no
 * retransmission between the two NAKs, or one that may have crossed the sequence NAK. If not, for
 * example because the capture lacks the RNR NAK, both of these must be true: our RNIC sends an RNR
 * NAK instead of the sequence NAK; a request with a later PSN was captured before the sequence NAK
 * (followed()). */
static bool seq_nak_after_rnr(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;
    int64_t rel = s->event[c->event].rel;
    uint32_t naks = 1;          /* sequence NAKs since the RNR NAK, the current one included */
    uint32_t copy = EVENT_NONE; /* index into setup.event of the first retransmission since the RNR
                                 * NAK */

    if (!recorded_nak(c, ROCE_NAK_PSN_SEQ))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->rnr >= rel;) {
        if (s->event[i].rel == rel && !s->event[i].response)
            copy = i;
        if (s->event[i].rel != rel || !event_is_nak(s, i))
            continue;
        if (event_is_syndrome(s, i, ROCE_SYN_RNR) && copy != EVENT_NONE) {
            if (naks == 1 && c->recorded_acked < rel && is_preceded(s, copy, rel))
                return true;
            break;
        }
        if (event_is_syndrome(s, i, ROCE_SYN_RNR))
            return naks == 1 || naks <= later_requests(s, i, rel);
        naks++;
    }
    return c->ours && c->ours->rel == rel && followed(s, c->event, rel) &&
           roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(c->ours->syndrome) == ROCE_SYN_RNR;
}

/* Returns whether the responder dropped request `i`: after event `event`, no response acknowledges
 * the request before its retransmission. */
static bool is_dropped(const struct inferred_setup *s, uint32_t event, uint32_t i)
{
    for (uint32_t k = event + 1; k < s->event_cnt && k - event <= FOLLOW_MAX; k++) {
        if (!s->event[k].response && s->event[k].rel == s->event[i].rel)
            return true;
        if (s->event[k].response && s->event[k].usable &&
            event_executed_to(s, k) >= s->event[i].rel)
            return false;
    }
    return true;
}

/* Returns the number of ACKs after event `event` that have a PSN before READ `e`, but an MSN that
 * counts READ `e`. Such ACKs answer duplicate requests. */
static uint32_t later_duplicate_acks(const struct inferred_setup *s, uint32_t event,
                                     const struct request_pkt *e)
{
    roce_psn msn = roce_psn_of(request_table_msn(s, e->rel));
    uint32_t cnt = 0;

    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= FOLLOW_MAX; i++)
        cnt += s->event[i].response && s->event[i].usable && s->event[i].rel < e->rel &&
               event_is_syndrome(s, i, ROCE_SYN_ACK) && event_opcode(s, i)->kind == ROCE_KIND_ACK &&
               roce_psn_diff(roce_psn_of(event_packet(s, i)->msn), msn) >= 0;
    return cnt;
}

/* Returns whether the responder may have received and dropped a request after READ `e`, because the
 * responder was still sending the response to READ `e`. The dropped request has a later PSN, or is
 * a duplicate to which no ACK was captured. */
static bool drops_next(const struct response_case *c, const struct request_pkt *e)
{
    const struct inferred_setup *s = &c->dir->setup;
    uint32_t duplicates = 0;

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= FOLLOW_MAX;) {
        if (s->event[i].response || !s->event[i].usable)
            continue;
        if (s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt)
            return duplicates > 0 && duplicates > later_duplicate_acks(s, c->event, e);
        if (s->event[i].rel > e->rel && is_dropped(s, c->event, i))
            return true;
        duplicates += s->event[i].rel < e->rel && event_packet(s, i)->ackreq;
    }
    return false;
}

/* Returns true if the responder may have tried before to send the first packets of this READ
 * response while its transmit queue was full. One of four facts must show this. The responder sent
 * an RNR NAK. The requester retransmitted the READ. The requester went back to an earlier request
 * after the READ. The responder dropped the next request. */
static bool may_be_refused(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    uint32_t copies = 0;
    bool earlier = false; /* a request with a PSN before the READ was captured after the READ */

    for (uint32_t i = c->event; e && i-- > 0 && c->event - i <= FOLLOW_MAX && copies < 2;) {
        if (s->event[i].rel < e->rel || s->event[i].rel >= e->rel + e->cnt) {
            earlier |= copies == 0 && !s->event[i].response && s->event[i].rel < e->rel;
            continue;
        }
        if (s->event[i].response ? event_is_syndrome(s, i, ROCE_SYN_RNR) : ++copies > 1 || earlier)
            return true;
    }
    return e && drops_next(c, e);
}

/* Returns whether the recorded response to a READ lacks its first packet. It is then a Middle or
 * Last packet where our RNIC sends First or Only, with the same payload. */
static bool read_without_first(const struct response_case *c)
{
    const struct roce_opcode *op = roce_opcode(recorded(c)->opcode);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;

    return our && op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           op->pos == (roce_opcode_ends(our) ? ROCE_POS_LAST : ROCE_POS_MIDDLE) &&
           roce_opcode_starts(our) &&
           (c->opcode || (c->opcode_msn && request_table_msn_fits(&c->dir->setup, c->event))) &&
           may_be_refused(c);
}

/* Returns whether READ requests outnumber complete READ responses among the FOLLOW_MAX packets
 * before packet `event`. If so, the responder may have dropped a response because its transmit
 * queue was full. */
static bool follows_read(const struct inferred_setup *s, uint32_t event)
{
    uint32_t copies = 0, responses = 0;

    for (uint32_t i = event; i-- > 0 && event - i <= FOLLOW_MAX;) {
        const struct roce_opcode *op = event_opcode(s, i);

        copies += !s->event[i].response && op->kind == ROCE_KIND_READ;
        responses += s->event[i].response && s->event[i].usable &&
                     op->kind == ROCE_KIND_READ_RESP && roce_opcode_ends(op);
    }
    return copies > responses;
}

/* Returns whether an RNR NAK before packet `event` refused a READ, and no READ response ended
 * between the RNR NAK and packet `event`. A READ needs no receive WQE, so the transmit queue was
 * full. */
static bool follows_refused_read(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = event; i-- > 0 && event - i <= FOLLOW_MAX;) {
        const struct roce_opcode *op = event_opcode(s, i);
        const struct request_pkt *e = request_at(s, s->event[i].rel);

        if (!s->event[i].response || !s->event[i].usable)
            continue;
        if (op->kind == ROCE_KIND_READ_RESP && roce_opcode_ends(op))
            return false;
        if (e && event_is_syndrome(s, i, ROCE_SYN_RNR) &&
            event_opcode(s, e->event)->kind == ROCE_KIND_READ)
            return true;
    }
    return false;
}

/* Returns whether the MSN of a NAK is not the number of messages before the PSN of the NAK. In
 * this case, the responder expects another request, or has already executed the request with
 * this PSN. */
static bool expects_other(const struct inferred_setup *s, uint32_t event)
{
    return roce_psn_diff(roce_psn_of(event_packet(s, event)->msn),
                         roce_psn_of(request_table_msn(s, s->event[event].rel - 1))) != 0;
}

/* Returns whether the responder had not yet sent the response to an earlier READ when it sent the
 * NAK at `event`, because its transmit queue was full (D19). The READ has a PSN before the PSN of
 * the NAK. Its response was captured after the NAK, begins with Middle or Last, and answers no
 * request captured after the NAK. */
static bool resumes_read(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= FOLLOW_MAX; i++) {
        const struct roce_opcode *op = event_opcode(s, i);
        const struct request_pkt *e = request_at(s, s->event[i].rel);

        if (s->event[i].rel >= s->event[event].rel || !s->event[i].usable)
            continue;
        if (!s->event[i].response)
            return false;
        if (op->kind == ROCE_KIND_READ_RESP && !roce_opcode_starts(op) && e &&
            e->rel == s->event[i].rel)
            return true;
    }
    return false;
}

/* Returns whether the recorded response is an RNR NAK that a full transmit queue explains. One of
 * three facts must show this:
 * - The RNR NAK has the PSN of a READ.
 * - The response to an earlier READ follows the RNR NAK (resumes_read()).
 * - A READ without a complete response was captured before the RNR NAK (follows_read()). In this
 *   case, one of these facts must also hold: an earlier response acknowledged the PSN of the RNR
 *   NAK, the MSN of the RNR NAK shows that the responder does not expect this PSN next, or an
 *   earlier RNR NAK refused a READ. */
static bool rnr_nak_for_read(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;

    return event_is_syndrome(s, c->event, ROCE_SYN_RNR) &&
           (request_is(c, ROCE_KIND_READ) || resumes_read(s, c->event) ||
            ((c->recorded_acked >= s->event[c->event].rel || expects_other(s, c->event) ||
              follows_refused_read(s, c->event)) &&
             follows_read(s, c->event)));
}

static bool no_read_limit(const struct response_case *c)
{
    const struct inferred_setup *s = &c->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return (kind_of(c) == ROCE_KIND_READ_RESP || kind_of(c) == ROCE_KIND_ATOMIC_ACK) &&
           our_nak(c, ROCE_NAK_INVALID_REQ) && e && !e->invalid;
}

/* ---- Quirks of requests ---------------------------------------------------------------------- */

static bool repeats_without_va(const struct request_case *c)
{
    const struct roce_opcode *op = roce_opcode(c->pkt->opcode);
    struct roce_pkt pkt;

    trace_parse(c->pkt, &pkt);
    return c->retransmit && !c->beyond &&
           (op->kind == ROCE_KIND_FLUSH || op->kind == ROCE_KIND_ATOMIC_WRITE) &&
           c->diffs->cnt == 1 && field_diff_find(c->diffs, "reth.va") && pkt.reth.va == 0;
}

/* Returns whether a request of our RNIC is an empty WRITE to address 0, as Linux rxe sends it after
 * RESET. */
static bool is_blank(const struct tx_request *ours)
{
    const struct roce_opcode *op = roce_opcode(ours->opcode);

    return op->kind == ROCE_KIND_WRITE && op->pos == ROCE_POS_ONLY && ours->dma_len == 0 &&
           ours->va == 0 && ours->rkey == 0;
}

/* Returns whether the requester retransmitted an Only packet without payload, and our RNIC
 * retransmits another packet at this PSN. Linux rxe sends such an empty packet, although no program
 * posted an empty work request. */
static bool is_empty_only(const struct request_case *c)
{
    const struct roce_opcode *op = roce_opcode(c->pkt->opcode);
    struct roce_pkt pkt;

    trace_parse(c->pkt, &pkt);
    return c->retransmit && !c->beyond && op->pos == ROCE_POS_ONLY &&
           (op->kind == ROCE_KIND_SEND || op->kind == ROCE_KIND_WRITE) &&
           c->pkt->payload_len == 0 && pkt.reth.dma_len == 0 &&
           (field_diff_find(c->diffs, "payload length") ||
            field_diff_find(c->diffs, "bth.opcode") || (c->ours && is_blank(c->ours)));
}

/* Returns whether a recorded request is a WRITE with data to the address and R_Key of `ours`, an
 * empty WRITE. */
static bool writes_there(const struct trace_packet *p, const struct tx_request *ours)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    return pkt.op->kind == ROCE_KIND_WRITE && roce_opcode_starts(pkt.op) && pkt.reth.dma_len > 0 &&
           ours->rkey != 0 && pkt.reth.rkey == ours->rkey && pkt.reth.va == ours->va;
}

/* Returns whether our RNIC retransmits an Only packet without payload where the recorded requester
 * retransmits another request. Linux rxe had sent the empty packet instead of a retransmission
 * (D41). The replay inferred a work request from it, so our RNIC retransmits the empty packet. The
 * capture must lack a first copy (request_case.unseen), or the recorded request must be a WRITE to
 * the address of the empty packet. */
static bool repeats_empty_only(const struct request_case *c)
{
    const struct roce_opcode *op = c->ours ? roce_opcode(c->ours->opcode) : NULL;

    return c->retransmit && !c->beyond && op && (c->unseen || writes_there(c->pkt, c->ours)) &&
           op->pos == ROCE_POS_ONLY &&
           (op->kind == ROCE_KIND_SEND || op->kind == ROCE_KIND_WRITE) &&
           c->ours->payload_len == 0 && c->ours->dma_len == 0 &&
           (field_diff_find(c->diffs, "payload length") || field_diff_find(c->diffs, "bth.opcode"));
}

/* Returns whether our RNIC repeats an empty WRITE to address 0 where the recorded requester
 * retransmits another request. Linux rxe sends such a WRITE after RESET, and does not always
 * retransmit it. */
static bool skips_empty_only(const struct request_case *c)
{
    return c->retransmit && !c->beyond && c->ours && is_blank(c->ours);
}

bool peer_quirk_shifts_psns(const struct peer_quirk *quirk)
{
    return quirk->deviation == &roce_deviations[ROCE_DEVIATION_D41] ||
           quirk->deviation == &roce_deviations[ROCE_DEVIATION_D57];
}

static bool retries_without_end(const struct request_case *c)
{
    return c->beyond;
}

/* Returns whether a FLUSH has the wrong ICRC that Linux rxe computes (D15). rxe computes the CRC
 * over the bytes that the ICRC covers. Then rxe continues the CRC over the bytes from the BTH up to
 * the ICRC a second time, without masking a field. */
static bool flush_icrc(const struct roce_pkt *pkt)
{
    uint32_t bth_off = pkt->payload_off - pkt->op->len;
    uint32_t icrc;

    return pkt->op->kind == ROCE_KIND_FLUSH && !roce_pkt_dropped(pkt) &&
           roce_pkt_icrc_check(pkt, &icrc) == ROCE_ICRC_BAD &&
           pkt->icrc == roce_crc32(icrc, pkt->frame + bth_off, pkt->icrc_off - bth_off);
}

/* ---- Quirks of UC messages ------------------------------------------------------------------- */

/* Returns whether Linux rxe dropped a UC message because of an earlier loss (D10). rxe drops a
 * WRITE after the loss of a packet of any earlier WRITE, and a SEND after the loss of a packet of
 * the previous message. */
static bool loses_after_loss(const struct delivery_case *c)
{
    return c->write ? c->later : c->next;
}

#define ROW(PEER, ID)                                                                              \
    .peer = ROCE_PROFILE_##PEER, .deviation = &roce_deviations[ROCE_DEVIATION_##ID]

static const struct peer_quirk table[] = {
#define QUIRK_RESPONSE(PEER, ID, p)                                                                \
    {ROW(PEER, ID), .fits_response = p}, {ROW(AUTO, ID), .fits_response = p},
#define QUIRK_REQUEST(PEER, ID, p)                                                                 \
    {ROW(PEER, ID), .fits_request = p}, {ROW(AUTO, ID), .fits_request = p},
#define QUIRK_DELIVERY(PEER, ID, p)                                                                \
    {ROW(PEER, ID), .fits_delivery = p}, {ROW(AUTO, ID), .fits_delivery = p},
#define QUIRK_ICRC(PEER, ID, p) {ROW(PEER, ID), .fix_icrc = p}, {ROW(AUTO, ID), .fix_icrc = p},
#include "flow/base/known_deviations.def"
};
#define TABLE_CNT (sizeof(table) / sizeof(table[0]))

static bool has_quirk(const char *quirks, const struct peer_quirk *row)
{
    return quirks &&
           strcmp(row->peer == ROCE_PROFILE_AUTO ? PEER_QUIRKS_AUTO : roce_profile_name(row->peer),
                  quirks) == 0;
}

const char *peer_quirks_named(const char *name)
{
    if (name && strcmp(name, PEER_QUIRKS_NONE) == 0)
        return NULL;
    return name && peer_quirks_profile_known(name) ? name : PEER_QUIRKS_AUTO;
}

const char *peer_quirk_peer(const struct peer_quirk *quirk)
{
    return quirk->peer == ROCE_PROFILE_AUTO ? "linux-rxe" : roce_profile_name(quirk->peer);
}

const char *peer_quirks_of_sender(const char *quirks, bool rxe)
{
    return quirks && strcmp(quirks, PEER_QUIRKS_AUTO) == 0 && !rxe ? NULL : quirks;
}

const struct peer_quirk *peer_quirk_of_response(const char *quirks, const struct response_case *c)
{
    for (size_t i = 0; i < TABLE_CNT; i++)
        if (has_quirk(quirks, &table[i]) && table[i].fits_response && table[i].fits_response(c))
            return &table[i];
    return NULL;
}

const struct peer_quirk *peer_quirk_of_request(const char *quirks, const struct request_case *c)
{
    for (size_t i = 0; i < TABLE_CNT; i++)
        if (has_quirk(quirks, &table[i]) && table[i].fits_request && table[i].fits_request(c))
            return &table[i];
    return NULL;
}

const struct peer_quirk *peer_quirk_of_delivery(const char *quirks, const struct delivery_case *c)
{
    for (size_t i = 0; i < TABLE_CNT; i++)
        if (has_quirk(quirks, &table[i]) && table[i].fits_delivery && table[i].fits_delivery(c))
            return &table[i];
    return NULL;
}

static const struct peer_quirk *find_icrc_quirk(const char *quirks, const struct roce_pkt *pkt)
{
    for (size_t i = 0; i < TABLE_CNT; i++)
        if (has_quirk(quirks, &table[i]) && table[i].fix_icrc && table[i].fix_icrc(pkt))
            return &table[i];
    return NULL;
}

int peer_quirks_fix_icrcs(struct trace *trace, const char *quirks, const bool *rxe)
{
    struct roce_pkt pkt;
    int cnt = 0;

    for (uint32_t i = 0; quirks && i < trace->cnt; i++) {
        const char *of;

        if (trace->pkt[i].icrc != ROCE_ICRC_BAD)
            continue;
        of = peer_quirks_of_sender(quirks, rxe && rxe[trace->pkt[i].flow]);
        if (!of)
            continue;
        trace_parse(&trace->pkt[i], &pkt);
        trace->pkt[i].icrc_fixed = find_icrc_quirk(of, &pkt);
        cnt += trace->pkt[i].icrc_fixed != NULL;
        if (trace->pkt[i].icrc_fixed && trace_fix_icrc(trace, i) != 0)
            return -1;
    }
    return cnt;
}

bool peer_quirks_profile_known(const char *name)
{
    enum roce_profile profile = roce_profile_find(name);

    return strcmp(name, PEER_QUIRKS_AUTO) == 0 ||
           (profile != ROCE_PROFILE_NONE && profile != ROCE_PROFILE_CNT);
}
