/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/strict_compare.h"

#include <stdio.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/base/diff.h"
#include "util/strbuf.h"
#include "wire/codes.h"

/* Fields in which a recorded packet and a packet of our RNIC are compared. */
struct strict_packet {
    uint8_t opcode;
    uint32_t psn;
    uint32_t msn;
    uint8_t syndrome; /* AETH syndrome, with the credits set to 0 */
    bool ackreq;
    bool se;
    uint32_t payload_len;
    uint64_t hash;
};

static uint8_t without_credits(uint8_t opcode, uint8_t syndrome)
{
    if (!roce_opcode_has(roce_opcode(opcode), ROCE_HDR_AETH))
        return 0;
    return roce_syndrome_kind(syndrome) == ROCE_SYN_ACK ? ROCE_SYNDROME_ACK : syndrome;
}

static struct strict_packet of_recorded(const struct trace_packet *p, bool with_hash)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    return (struct strict_packet){
        .opcode = p->opcode,
        .psn = p->psn,
        .msn = p->msn,
        .syndrome = without_credits(p->opcode, p->syndrome),
        .ackreq = pkt.bth.ackreq,
        .se = pkt.bth.se,
        .payload_len = p->payload_len,
        .hash = with_hash && p->payload_len ? payload_hash(trace_payload(p), p->payload_len) : 0};
}

static struct strict_packet of_answer(const struct tx_response *a)
{
    return (struct strict_packet){.opcode = a->opcode,
                                  .psn = a->psn,
                                  .msn = a->msn,
                                  .syndrome = without_credits(a->opcode, a->syndrome),
                                  .ackreq = a->ackreq,
                                  .se = a->se,
                                  .payload_len = a->payload_len,
                                  .hash = a->hash};
}

static struct strict_packet of_sent(const struct tx_request *s, const struct inferred_setup *setup)
{
    return (struct strict_packet){.opcode = s->opcode,
                                  .psn = s->psn,
                                  .ackreq = s->ackreq,
                                  .se = s->se,
                                  .payload_len = s->payload_len,
                                  .hash = tx_request_hash(s, setup)};
}

static bool same_packet(const struct strict_packet *a, const struct strict_packet *b)
{
    return a->opcode == b->opcode && a->psn == b->psn && a->msn == b->msn &&
           a->syndrome == b->syndrome && a->ackreq == b->ackreq && a->se == b->se &&
           a->payload_len == b->payload_len && a->hash == b->hash;
}

static void strict_text(char *buf, size_t cap, const struct strict_packet *e)
{
    const struct roce_opcode *op = roce_opcode(e->opcode);
    struct strbuf t = strbuf_of(buf, cap);

    strbuf_addf(&t, "%s PSN %u", packet_text_opcode(e->opcode), e->psn);
    if (roce_opcode_has(op, ROCE_HDR_AETH))
        strbuf_addf(&t, " MSN %u syndrome 0x%02x", e->msn, e->syndrome);
    if (e->payload_len)
        strbuf_addf(&t, " payload %u (%08x)", e->payload_len, (unsigned)e->hash);
    if (e->ackreq)
        strbuf_addf(&t, " AckReq");
}

/* Returns the difference between a recorded packet `want` and our packet `is`. `want` is NULL if
 * only our RNIC sent a packet, `is` is NULL if only the recorded end did. */
static struct diff packet_difference(uint32_t dir, uint32_t pkt, const struct strict_packet *want,
                                     const struct strict_packet *is)
{
    struct diff d = {.dir = dir, .pkt = pkt, .request = EVENT_NONE, .field = "packet"};

    snprintf(d.recorded, sizeof(d.recorded), "none");
    snprintf(d.replayed, sizeof(d.replayed), "none");
    if (want)
        strict_text(d.recorded, sizeof(d.recorded), want);
    if (is)
        strict_text(d.replayed, sizeof(d.replayed), is);
    snprintf(d.reason, sizeof(d.reason), "--strict requires the same packets in the same order");
    return d;
}

/* Returns whether a packet of the direction is compared: it must be replayed and undamaged, and a
 * response if `response` is true, a request if not. */
static bool is_compared(const struct pkt_event *event, bool response)
{
    return event->response == response && !event->damaged && !event->before_first;
}

static int compare_strictly(struct response_comparison *all, uint32_t idx)
{
    const struct rc_direction *dir = &all->session->dir[idx];
    struct response_result *res = &all->result[idx];
    uint32_t last = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < dir->setup.event_cnt; i++) {
        const struct pkt_event *event = &dir->setup.event[i];
        const struct trace_packet *p = event_packet(&dir->setup, i);
        struct strict_packet want, is;
        struct diff d;

        last = i;
        if (!is_compared(event, true))
            continue;
        want = of_recorded(p, !p->zero_filled);
        if (at < dir->response_cnt) {
            is = of_answer(&dir->response[at]);
            if (p->zero_filled)
                is.hash = 0;
            if (same_packet(&want, &is)) {
                at++;
                continue;
            }
        }
        d = packet_difference(idx, dir->setup.event[i].pkt, &want,
                              at < dir->response_cnt ? &is : NULL);
        res->diff_frames++;
        res->first_diff = res->first_diff == EVENT_NONE ? i : res->first_diff;
        res->mark[i] = MARK_DIFF;
        return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, &d);
    }
    if (at < dir->response_cnt) {
        struct strict_packet is = of_answer(&dir->response[at]);
        struct diff d = packet_difference(idx, dir->setup.event[last].pkt, NULL, &is);

        res->diff_frames++;
        return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, &d);
    }
    return 0;
}

int strict_compare_responses(struct response_comparison *all)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < all->session->dir_cnt; i++) {
        if (all->result[i].verdict == VERDICT_SKIPPED)
            continue;
        rc = compare_strictly(all, i);
        if (all->result[i].diff_frames)
            all->result[i].verdict = VERDICT_FAIL;
    }
    return rc;
}

static int compare_requests_strictly(struct request_comparison *all, uint32_t idx)
{
    const struct requester_run *a = &all->requester->run[idx];
    const struct inferred_setup *s = requester_setup(a->dir);
    struct request_result *res = &all->result[idx];
    uint32_t last = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct trace_packet *p = event_packet(s, i);
        struct strict_packet want, is;
        struct diff d;

        last = i;
        if (s->event[i].response || s->event[i].before_first || s->event[i].rel < s->first ||
            s->event[i].rel >= a->wrs.end)
            continue;
        want = of_recorded(p, !p->zero_filled);
        want.msn = 0;
        if (at < a->tx_cnt) {
            is = of_sent(&a->tx[at], s);
            if (p->zero_filled)
                is.hash = 0;
            if (same_packet(&want, &is) || s->event[i].damaged) {
                at++;
                continue;
            }
        }
        d = packet_difference(idx, s->event[i].pkt, &want, at < a->tx_cnt ? &is : NULL);
        res->diff_frames++;
        res->first_diff = res->first_diff == EVENT_NONE ? i : res->first_diff;
        res->mark[i] = MARK_DIFF;
        return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, &d);
    }
    if (at < a->tx_cnt) {
        struct strict_packet is = of_sent(&a->tx[at], s);
        struct diff d = packet_difference(idx, s->event[last].pkt, NULL, &is);

        res->diff_frames++;
        return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, &d);
    }
    return 0;
}

int strict_compare_requests(struct request_comparison *all)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < all->requester->run_cnt; i++) {
        if (all->result[i].verdict == VERDICT_SKIPPED)
            continue;
        rc = compare_requests_strictly(all, i);
        if (all->result[i].diff_frames)
            all->result[i].verdict = VERDICT_FAIL;
    }
    return rc;
}
