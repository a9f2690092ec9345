/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_missing_responses.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/play/rc_expected_wc.h"
#include "infer/request_table.h"
#include "wire/codes.h"

/* Number of packets after a NAK in which is_stale() searches for the next retransmission. */
#define STALE_WINDOW 1024u

/* Captured packets at each PSN. */
struct psn_events {
    uint32_t *sent;     /* for each PSN: index into setup.event of the last request that covers the
                         * PSN */
    uint32_t *answered; /* for each PSN: index into setup.event of the last response with data.
                         * 0: there is none. EVENT_NONE: a response is damaged */
};

static void note_events(const struct requester_run *run, struct psn_events *at)
{
    const struct work_requests *w = &run->wrs;
    const struct inferred_setup *s = w->setup;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        int64_t idx = work_requests_psn_idx(w, s->event[i].rel);
        const struct roce_opcode *op = event_opcode(s, i);
        int64_t cnt = 1;

        if (idx < 0)
            continue;
        if (s->event[i].response) {
            if (s->event[i].damaged)
                at->answered[idx] = EVENT_NONE;
            else if (op->kind != ROCE_KIND_ACK && at->answered[idx] != EVENT_NONE)
                at->answered[idx] = i;
            continue;
        }
        if (!s->event[i].damaged)
            cnt = trace_psn_cnt(event_packet(s, i), s->mtu);
        for (int64_t k = idx; k < idx + cnt && k < w->end - s->first; k++)
            at->sent[k] = i;
    }
}

/* Returns whether fatal NAK `event` refuses a retransmission of a READ or atomic that is already
 * complete. Two facts together show this: the data of the READ or atomic was captured before the
 * NAK, and the next go-back after the NAK begins at a later PSN. So the requester received the data
 * before the NAK, but after it had retransmitted the request. */
static bool is_stale(const struct requester_run *run, const struct psn_events *at, uint32_t event)
{
    const struct inferred_setup *s = run->wrs.setup;
    int64_t idx = work_requests_psn_idx(&run->wrs, s->event[event].rel);

    if (!event_is_fatal_nak(s, event) || idx < 0 || at->answered[idx] == 0 ||
        at->answered[idx] > event)
        return false;
    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= STALE_WINDOW; i++)
        if (!s->event[i].response && run->retransmit[i] == RETX_GO_BACK)
            return s->event[i].rel > s->event[event].rel;
    return false;
}

/* Adds to *expected the missing responses that the requester must have received before the response
 * that is event `event`. Returns 0, or -1 if out of memory. */
static int find_before(struct requester_run *run, const struct psn_events *at,
                       struct expected_wc *expected, uint32_t event)
{
    const struct work_requests *w = &run->wrs;
    const struct inferred_setup *s = w->setup;
    int64_t to = event_opcode(s, event)->kind == ROCE_KIND_ACK ? event_executed_to(s, event)
                                                               : s->event[event].rel - 1;

    if (expected->acked < s->event[event].rel && is_stale(run, at, event))
        to = s->event[event].rel;
    for (int64_t rel = expected->acked + 1; rel <= to; rel++) {
        const struct work_request *wr = work_request_at(w, rel);
        int64_t idx = work_requests_psn_idx(w, rel);

        if (!wr || idx < 0)
            return 0;
        if (wr->kind == ROCE_KIND_SEND || wr->kind == ROCE_KIND_WRITE) {
            rel = wr->rel + wr->cnt - 1; /* skip the SEND or WRITE: response `event` also
                                          * acknowledges it */
            continue;
        }
        if (at->sent[idx] > event || at->answered[idx] > event)
            return 0;
        if (!VEC_GROW(run->missing, run->missing_cnt, run->missing_cap))
            return -1;
        run->missing[run->missing_cnt++] =
            (struct missing_response){.before = event, .rel = rel, .like = at->answered[idx]};
        expected_wc_on_data(expected, rel);
    }
    return 0;
}

int missing_responses_find(struct requester_run *run)
{
    const struct inferred_setup *s = run->wrs.setup;
    size_t psns = (size_t)(run->wrs.end - s->first);
    struct psn_events at = {.sent = calloc(psns + 1, sizeof(*at.sent)),
                            .answered = calloc(psns + 1, sizeof(*at.answered))};
    struct expected_wc expected;
    int rc = at.sent && at.answered ? 0 : -1;

    expected_wc_init(&expected, run);
    if (rc == 0)
        note_events(run, &at);
    for (uint32_t i = 0; rc == 0 && i < s->event_cnt && !expected.over; i++) {
        if (!s->event[i].response || run->outcome[i] != RESP_ACCEPTED || s->event[i].damaged)
            continue;
        rc = find_before(run, &at, &expected, i);
        expected_wc_on_response(&expected, i);
    }
    free(at.sent);
    free(at.answered);
    return rc;
}

/* Returns the latest READ request of our RNIC that covers PSN `rel`, or NULL. */
static const struct tx_request *find_read(const struct requester_run *run, int64_t rel)
{
    for (size_t i = run->tx_cnt; i-- > 0;) {
        const struct tx_request *tx = &run->tx[i];

        if (roce_opcode(tx->opcode)->kind == ROCE_KIND_READ && tx->rel <= rel &&
            rel - tx->rel < roce_psn_cnt(tx->dma_len, run->wrs.setup->mtu))
            return tx;
    }
    return NULL;
}

/* Returns the RC opcode of the READ response at PSN `rel`, and sets *len to its payload length. */
static uint8_t read_response(const struct requester_run *run, int64_t rel, uint32_t *len)
{
    uint32_t mtu = run->wrs.setup->mtu;
    const struct tx_request *read = find_read(run, rel);
    uint32_t cnt, off;

    if (!read)
        return ROCE_OP_RC_READ_RESP_ONLY;
    cnt = roce_psn_cnt(read->dma_len, mtu);
    off = (uint32_t)(rel - read->rel);
    *len = off + 1 < cnt ? mtu : read->dma_len - off * mtu;
    return cnt == 1         ? ROCE_OP_RC_READ_RESP_ONLY
           : off == 0       ? ROCE_OP_RC_READ_RESP_FIRST
           : off + 1 == cnt ? ROCE_OP_RC_READ_RESP_LAST
                            : ROCE_OP_RC_READ_RESP_MIDDLE;
}

bool missing_response_make(const struct requester_run *run, const struct missing_response *missing,
                           uint8_t *like, struct roce_pkt *pkt)
{
    static const uint8_t zeros[4096];
    const struct inferred_setup *s = run->wrs.setup;
    const struct work_request *wr = work_request_at(&run->wrs, missing->rel);
    size_t like_len = inject_frame(event_packet(s, missing->before), like);
    uint32_t payload_len = 0;
    uint8_t opcode = ROCE_OP_RC_ATOMIC_ACK;

    if (roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, like, like_len, like_len) != 0)
        return false;
    if (wr->kind != ROCE_KIND_CMP_SWAP && wr->kind != ROCE_KIND_FETCH_ADD)
        opcode = read_response(run, missing->rel, &payload_len);
    if (inferred_setup_svc(s) == ROCE_SVC_XRC)
        opcode += ROCE_OP_XRC_ACK - ROCE_OP_RC_ACK;
    pkt->bth.opcode = opcode;
    pkt->op = roce_opcode(opcode);
    pkt->bth.psn = roce_psn_add(s->psn, (int32_t)missing->rel).v;
    pkt->bth.se = pkt->bth.ackreq = false;
    pkt->aeth = (struct roce_aeth){.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE,
                                   .msn = request_table_msn(s, missing->rel)};
    pkt->atomicacketh.orig = 0;
    pkt->payload = zeros;
    pkt->payload_len = payload_len;
    if (missing->like) {
        const struct trace_packet *p = event_packet(s, missing->like);
        struct roce_pkt other;

        trace_parse(p, &other);
        pkt->atomicacketh.orig = other.atomicacketh.orig;
        if (p->payload_len == payload_len)
            pkt->payload = trace_payload(p);
    }
    return true;
}
