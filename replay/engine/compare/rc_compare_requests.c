/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_compare_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/base/field_diff.h"
#include "engine/play/rc_expected_wc.h"
#include "engine/reasons/peer_quirks.h"
#include "infer/request_table.h"
#include "util/lower_bound.h"
#include "util/sort.h"

/* Number of captured packets before a retransmission in which has_received_bytes() and
 * is_first_copy_unseen() search. */
#define RECEIVED_WINDOW 256u

/* Entry of a list of our requests that is sorted by PSN, then by time. */
struct request_by_psn {
    int64_t rel;
    uint32_t idx;
    uint32_t used; /* valid in the first entry of each PSN: number of entries that find_tx() skips,
                    * because their requests are matched */
};

/* State of one direction while its requests are compared. All PSNs are relative. */
struct request_cmp {
    struct request_comparison *all;
    struct requester_run *run;
    const struct inferred_setup *setup;
    struct request_result *res;
    uint32_t idx;
    struct request_by_psn *by_psn;
    struct expected_wc expect;
    size_t missing;     /* number of missing responses (rc_missing_responses.h) already passed to
                         * `expect` */
    size_t completions; /* number of completions of our RNIC up to the current event */
    uint32_t go_back;   /* index into setup.event of the latest packet at which the recorded
                         * requester went back to an earlier PSN, or EVENT_NONE */
    size_t looked;      /* number of our requests already examined to set `went_back` */
    int64_t next;       /* PSN after the latest examined request of our RNIC */
    int64_t went_back;  /* PSN to which our RNIC went back since event `go_back`, or INT64_MIN */
    bool shifted;       /* true: from here on, a known deviation of the requester shifts the PSNs of
                         * its requests */
    bool by_rule;       /* true: our RNIC went back to the first unacknowledged PSN, as R152
                         * requires */
};

/* ---- Reporting differences ------------------------------------------------------------------- */

static int report_or_excuse(struct request_cmp *cmp, uint32_t event, const struct field_diffs *d,
                            const char *reason, const struct peer_quirk *known)
{
    struct request_result *res = cmp->res;

    if (d->cnt == 0)
        return 0;
    if (known) {
        res->known_frames++;
        res->mark[event] = MARK_KNOWN;
    } else {
        res->diff_frames += res->mark[event] != MARK_DIFF;
        res->mark[event] = MARK_DIFF;
        if (res->first_diff == EVENT_NONE)
            res->first_diff = event;
    }
    if ((known ? res->known_frames : res->diff_frames) > DIFFS_MAX)
        return 0;
    for (unsigned i = 0; i < d->cnt; i++) {
        struct request_comparison *all = cmp->all;
        struct diff *diff;

        if (!VEC_GROW(all->diff, all->diff_cnt, all->diff_cap))
            return -1;
        diff = &all->diff[all->diff_cnt++];
        *diff = (struct diff){.dir = cmp->idx,
                              .pkt = cmp->setup->event[event].pkt,
                              .request = EVENT_NONE,
                              .known = known};
        field_diff_report(&d->at[i], reason, diff);
    }
    return 0;
}

/* Reports a difference in a request. From event requester_run.unsure_from on, the difference is
 * inconclusive, because our RNIC may lack a response that the recorded requester received. Returns
 * 0, or -1 if out of memory. */
static int report_request_diff(struct request_cmp *cmp, uint32_t event, const struct field_diffs *d,
                               const char *reason)
{
    if (d->cnt && event >= cmp->run->unsure_from) {
        cmp->res->inconclusive++;
        cmp->res->mark[event] = MARK_NOTE;
        return 0;
    }
    return report_or_excuse(cmp, event, d, reason, NULL);
}

/* ---- Comparing requests ---------------------------------------------------------------------- */

static int by_psn_cmp(const void *a, const void *b)
{
    const struct request_by_psn *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

static bool sort_tx(struct request_cmp *cmp)
{
    const struct requester_run *a = cmp->run;

    cmp->by_psn = malloc((a->tx_cnt + 1) * sizeof(*cmp->by_psn));
    for (size_t i = 0; cmp->by_psn && i < a->tx_cnt; i++)
        cmp->by_psn[i] = (struct request_by_psn){.rel = a->tx[i].rel, .idx = (uint32_t)i};
    if (cmp->by_psn)
        sort_if_needed(cmp->by_psn, a->tx_cnt, sizeof(*cmp->by_psn), by_psn_cmp);
    return cmp->by_psn != NULL;
}

/* Returns the index in by_psn of the first request of our RNIC with a PSN of at least `rel`. */
static size_t first_at(const struct request_cmp *cmp, int64_t rel)
{
    size_t low = 0, high = cmp->run->tx_cnt;

    LOWER_BOUND(low, high, mid, cmp->by_psn[mid].rel < rel);
    return low;
}

/* Returns the first request of our RNIC with PSN `rel` that no recorded request has matched.
 * Returns NULL if there is none, or if our RNIC sent it after packet `limit` of the direction. */
static struct tx_request *find_tx(const struct request_cmp *cmp, int64_t rel, uint32_t limit)
{
    const struct requester_run *a = cmp->run;
    struct request_by_psn *first = &cmp->by_psn[first_at(cmp, rel)], *end = &cmp->by_psn[a->tx_cnt];

    for (; first < end && first + first->used < end && first[first->used].rel == rel;
         first->used++) {
        struct tx_request *tx = &a->tx[first[first->used].idx];

        if (!tx->matched)
            return tx->event <= limit ? tx : NULL;
    }
    return NULL;
}

/* Returns a request of our RNIC with PSN `rel`, even if a recorded request has matched it, or NULL.
 */
static const struct tx_request *find_like(const struct request_cmp *cmp, int64_t rel)
{
    size_t i = first_at(cmp, rel);

    return i < cmp->run->tx_cnt && cmp->by_psn[i].rel == rel ? &cmp->run->tx[cmp->by_psn[i].idx]
                                                             : NULL;
}

/* Compares the headers after the BTH. If `program` is true, a program on another host posted our
 * request. For length 0, this program may choose any address and R_Key (R085). */
static void compare_headers(const struct trace_packet *p, const struct tx_request *ours,
                            bool program, struct field_diffs *d)
{
    struct roce_pkt pkt;

    trace_parse_headers(p, &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_XRCETH))
        field_diff_add_num(d, "xrceth.srqn", FIELD_HEX, pkt.xrceth.srqn, ours->srqn);
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        if (!program || pkt.reth.dma_len || ours->dma_len) {
            field_diff_add_num(d, "reth.va", FIELD_HEX, pkt.reth.va, ours->va);
            field_diff_add_num(d, "reth.rkey", FIELD_HEX, pkt.reth.rkey, ours->rkey);
        }
        field_diff_add_num(d, "reth.dma_len", FIELD_NUMBER, pkt.reth.dma_len, ours->dma_len);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH)) {
        field_diff_add_num(d, "atomiceth.va", FIELD_HEX, pkt.atomiceth.va, ours->va);
        field_diff_add_num(d, "atomiceth.rkey", FIELD_HEX, pkt.atomiceth.rkey, ours->rkey);
        field_diff_add_num(d, "atomiceth.swap_add", FIELD_HEX, pkt.atomiceth.swap_add,
                           ours->swap_add);
        if (pkt.op->kind == ROCE_KIND_CMP_SWAP)
            field_diff_add_num(d, "atomiceth.compare", FIELD_HEX, pkt.atomiceth.compare,
                               ours->compare);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_FETH)) {
        field_diff_add_num(d, "feth.plt", FIELD_HEX, pkt.feth.plt, ours->flush_type);
        field_diff_add_num(d, "feth.sel", FIELD_NUMBER, pkt.feth.sel, ours->flush_level);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_IMMDT))
        field_diff_add_num(d, "immdt.imm", FIELD_HEX, pkt.immdt.imm, ours->imm);
    if (roce_pkt_has(&pkt, ROCE_HDR_IETH))
        field_diff_add_num(d, "ieth.rkey", FIELD_HEX, pkt.ieth.rkey, ours->imm);
}

/* Compares recorded request `event` with our request, in the fields that the specification
 * prescribes. */
static void compare_request(const struct request_cmp *cmp, uint32_t event,
                            const struct tx_request *ours, struct field_diffs *d)
{
    const struct trace_packet *p = event_packet(cmp->setup, event);
    const struct roce_opcode *op = roce_opcode(p->opcode);

    field_diffs_clear(d);
    field_diff_add_opcode(d, p->opcode, ours->opcode);
    field_diff_add_num(d, "bth.psn", FIELD_NUMBER, p->psn, ours->psn);
    field_diff_add_num(d, "bth.dest_qp", FIELD_HEX, cmp->setup->trace->flow[p->flow].dest_qp,
                       ours->dest_qp);
    field_diff_add_num(d, "bth.pkey", FIELD_HEX, p->pkey, ours->pkey);
    if (roce_opcode_ends(op))
        field_diff_add_num(d, "bth.se", FIELD_NUMBER, p->se, ours->se);
    if (op->hdrs)
        compare_headers(p, ours, cmp->run->completions_unseen, d);
    field_diff_add_num(d, "payload length", FIELD_NUMBER, p->payload_len, ours->payload_len);
    if (!p->zero_filled && p->payload_len && p->payload_len == ours->payload_len &&
        ours->like != event &&
        payload_hash(trace_payload(p), p->payload_len) != tx_request_hash(ours, cmp->setup))
        field_diff_add(d, "payload", "as captured", "other bytes");
}

/* Updates cmp->went_back with the requests that our RNIC sent up to event `event`. */
static void note_our_go_backs(struct request_cmp *cmp, uint32_t event)
{
    const struct requester_run *a = cmp->run;

    for (; cmp->looked < a->tx_cnt && a->tx[cmp->looked].event <= event; cmp->looked++) {
        const struct tx_request *tx = &a->tx[cmp->looked];
        bool read = roce_opcode(tx->opcode)->kind == ROCE_KIND_READ;

        if (tx->retransmit && tx->rel < cmp->next) {
            cmp->went_back = tx->rel;
            cmp->by_rule = tx->rel == cmp->expect.acked + 1;
        }
        cmp->next = tx->rel + (read ? roce_psn_cnt(tx->dma_len, cmp->setup->mtu) : 1);
    }
}

/* Examines the latest copy of PSN `rel` that our RNIC sent before or at event `event`. Returns
 * whether our RNIC sent this copy because of a sequence NAK with this PSN. */
static bool answered_nak(const struct request_cmp *cmp, int64_t rel, uint32_t event)
{
    const struct requester_run *a = cmp->run;
    size_t low = 0, high = a->tx_cnt; /* binary search for the entry after this copy */
    const struct tx_request *tx;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        tx = &a->tx[cmp->by_psn[mid].idx];
        if (tx->rel < rel || (tx->rel == rel && tx->event <= event))
            low = mid + 1;
        else
            high = mid;
    }
    tx = low ? &a->tx[cmp->by_psn[low - 1].idx] : NULL;
    return tx && tx->rel == rel && tx->retransmit && cmp->setup->event[tx->event].response &&
           cmp->setup->event[tx->event].rel == rel &&
           event_is_nak_code(cmp->setup, tx->event, ROCE_NAK_PSN_SEQ);
}

/* Compares the PSN to which the recorded requester went back with the PSN to which our RNIC went
 * back. Our PSN may be earlier if it is the first unacknowledged PSN, because the capture may lack
 * the first retransmitted packets. */
static int compare_go_back(struct request_cmp *cmp, uint32_t event, const struct tx_request *ours)
{
    const struct pkt_event *at = &cmp->setup->event[event];
    struct field_diffs d = {.cnt = 0};
    char e[96], a[96];

    note_our_go_backs(cmp, event);
    /* Our RNIC retransmitted this PSN because of a sequence NAK, and then went back to the later
     * PSN of a second NAK. The second NAK may have reached the recorded requester only after the
     * requester had retransmitted this PSN. */
    if (ours && cmp->went_back != INT64_MIN && cmp->went_back > at->rel &&
        answered_nak(cmp, at->rel, event)) {
        cmp->res->go_backs++;
        cmp->go_back = event;
        return 0;
    }
    snprintf(e, sizeof(e), "PSN %u", event_packet(cmp->setup, event)->psn);
    if ((ours && (cmp->went_back == at->rel || cmp->went_back == INT64_MIN)) ||
        (cmp->went_back != INT64_MIN && cmp->went_back < at->rel && cmp->by_rule)) {
        cmp->res->go_backs++;
        /* Our RNIC sent no request with this PSN, because it lacks a response that the recorded
         * requester received and the capture does not contain. */
        if (!ours && event < cmp->run->unsure_from)
            cmp->run->unsure_from = event;
    } else if (!ours) {
        field_diff_add(&d, "retransmission", e, "nothing");
    } else {
        snprintf(a, sizeof(a), "PSN %u", roce_psn_add(cmp->setup->psn, (int32_t)cmp->went_back).v);
        field_diff_add(&d, "retransmission", e, a);
    }
    cmp->went_back = INT64_MIN;
    cmp->go_back = event;
    return report_request_diff(cmp, event, &d, "our RNIC retransmits from another PSN");
}

static const struct peer_quirk *quirk_of(const struct request_cmp *cmp,
                                         const struct request_case *c)
{
    return peer_quirk_of_request(
        peer_quirks_of_sender(cmp->all->quirks, cmp->setup->recorded->req_rxe), c);
}

/* Reports that the recorded requester retransmitted a PSN more often than the largest retry count
 * allows. Our RNIC retries as often as the recorded requester, so that the rest of the direction
 * can be compared. */
static int compare_retry_count(struct request_cmp *cmp, uint32_t event)
{
    struct field_diffs d = {.cnt = 0};
    struct request_case again = {
        .pkt = event_packet(cmp->setup, event), .diffs = &d, .retransmit = true, .beyond = true};

    if (event >= cmp->run->unsure_from) {
        cmp->res->inconclusive++;
        return 0;
    }
    field_diff_add(&d, "retries", "8 or more", "7");
    return report_or_excuse(cmp, event, &d,
                            "the largest retry count permits no further retransmission",
                            quirk_of(cmp, &again));
}

/* Returns whether the recorded request `event` has the same payload as the request with PSN `rel`.
 */
static bool has_payload_of(const struct request_cmp *cmp, uint32_t event, int64_t rel)
{
    const struct request_pkt *e = request_at(cmp->setup, rel);
    const struct trace_packet *p = event_packet(cmp->setup, event), *other;

    if (!e)
        return false;
    other = event_packet(cmp->setup, e->event);
    return p->payload_len == other->payload_len &&
           memcmp(trace_payload(p), trace_payload(other), p->payload_len) == 0;
}

/* Returns whether a retransmission has the payload of the next message because the program reused
 * the buffer too early for the next message. Returns false if the requester retransmitted from a
 * wrong PSN, because the packets then look similar. */
static bool reuses_buffer(const struct request_cmp *cmp, uint32_t event)
{
    const struct inferred_setup *s = cmp->setup;
    int64_t next_rel = s->event[event].rel + 1;
    const struct request_pkt *next = request_at(s, next_rel);

    if (!next || next->event > event || !has_payload_of(cmp, event, next_rel) ||
        event_opcode(s, event)->pos != ROCE_POS_ONLY ||
        event_opcode(s, next->event)->pos != ROCE_POS_ONLY)
        return false;
    for (uint32_t i = event + 1; i < s->event_cnt; i++)
        if (!s->event[i].response && s->event[i].usable)
            return s->event[i].rel == next_rel && has_payload_of(cmp, i, next_rel);
    return false;
}

/* Returns whether the peer sent the payload of retransmission `event` to the requester in a SEND,
 * after the first copy of the request. If the requester's program receives into the buffer of its
 * own SEND, as perftest does with rdma_cm, the received bytes change the payload of the
 * retransmission. */
static bool has_received_bytes(const struct request_cmp *cmp, uint32_t event, uint32_t first)
{
    const struct inferred_setup *s = cmp->setup;
    const struct trace_packet *p = event_packet(s, event);

    for (uint32_t i = s->event[event].pkt;
         i-- > s->event[first].pkt && s->event[event].pkt - i <= RECEIVED_WINDOW;) {
        const struct trace_packet *sent = &s->trace->pkt[i];
        const struct roce_opcode *op = roce_opcode(sent->opcode);

        if (sent->flow == s->recorded->resp_flow && !sent->dropped && !sent->malformed &&
            op->kind == ROCE_KIND_SEND && op->pos == ROCE_POS_ONLY &&
            sent->payload_len == p->payload_len &&
            memcmp(trace_payload(sent), trace_payload(p), p->payload_len) == 0)
            return true;
    }
    return false;
}

/* Returns whether the capture certainly lacks the first copy of the request with PSN `rel`: the
 * requester sent a request with a later PSN before the first captured copy. The IPv4
 * identifications show that the network did not reorder the two. */
static bool is_first_copy_unseen(const struct inferred_setup *s, int64_t rel)
{
    const struct request_pkt *e = request_at(s, rel);

    for (uint32_t i = e ? e->event : 0; i-- > 0 && e->event - i <= RECEIVED_WINDOW;)
        if (!s->event[i].response && s->event[i].usable)
            return s->event[i].rel > rel &&
                   trace_sent_before(s->trace, event_packet(s, i), event_packet(s, e->event));
    return false;
}

/* Examines the request that was captured before request `event`. Returns whether it has the
 * previous PSN, is an Only packet without payload but not a READ, and its first copy was not
 * captured. */
static bool follows_unseen_empty(const struct inferred_setup *s, uint32_t event)
{
    uint32_t i = event;

    while (i-- > 0 && event - i <= RECEIVED_WINDOW)
        if (!s->event[i].response && s->event[i].usable)
            return s->event[i].rel == s->event[event].rel - 1 &&
                   event_opcode(s, i)->pos == ROCE_POS_ONLY &&
                   event_opcode(s, i)->kind != ROCE_KIND_READ &&
                   event_packet(s, i)->payload_len == 0 && is_first_copy_unseen(s, s->event[i].rel);
    return false;
}

/* Returns whether a retransmission differs only in its payload, while our request equals the first
 * recorded copy. A requester reads the buffer again for each retransmission. So the program must
 * have changed the bytes in the buffer. */
static bool is_rewritten(const struct request_cmp *cmp, uint32_t event,
                         const struct tx_request *ours, const struct field_diffs *d)
{
    const struct request_pkt *e = request_at(cmp->setup, cmp->setup->event[event].rel);
    const struct trace_packet *first = e ? event_packet(cmp->setup, e->event) : NULL;

    return e && e->rewritten && d->cnt == 1 && field_diff_find(d, "payload") &&
           cmp->run->retransmit[event] != RETX_NONE &&
           (reuses_buffer(cmp, event) ||
            (!has_payload_of(cmp, event, e->rel - 1) && !has_payload_of(cmp, event, e->rel + 1)) ||
            has_received_bytes(cmp, event, e->event)) &&
           payload_hash(trace_payload(first), first->payload_len) ==
               tx_request_hash(ours, cmp->setup);
}

/* Compares recorded request `event` with request `ours` of our RNIC. Does nothing if `ours` is
 * NULL. Returns 0, or -1 if out of memory. */
static int compare_with(struct request_cmp *cmp, uint32_t event, const struct tx_request *ours)
{
    const struct trace_packet *p = event_packet(cmp->setup, event);
    struct request_case again = {
        .pkt = p, .ours = ours, .retransmit = cmp->run->retransmit[event] != RETX_NONE};
    const struct peer_quirk *known;
    struct field_diffs d;

    if (!ours)
        return 0;
    compare_request(cmp, event, ours, &d);
    if (is_rewritten(cmp, event, ours, &d)) {
        cmp->res->rewritten++;
        cmp->res->mark[event] = MARK_NOTE;
        return 0;
    }
    again.diffs = &d;
    again.unseen = d.cnt && (is_first_copy_unseen(cmp->setup, cmp->setup->event[event].rel) ||
                             follows_unseen_empty(cmp->setup, event));
    if (d.cnt == 0 && cmp->res->mark[event] == MARK_NONE)
        cmp->res->mark[event] = MARK_OK;
    if (d.cnt && cmp->shifted) {
        cmp->res->inconclusive++;
        cmp->res->mark[event] = MARK_NOTE;
        return 0;
    }
    known = d.cnt ? quirk_of(cmp, &again) : NULL;
    if (known && peer_quirk_shifts_psns(known)) {
        cmp->shifted = true;
        if (event + 1 < cmp->run->unsure_from)
            cmp->run->unsure_from = event + 1;
    }
    return report_or_excuse(cmp, event, &d, "our RNIC sends this request differently", known);
}

/* Compares a recorded retransmission with the first recorded copy of the request. The two must be
 * identical (R153). Used for PSNs after the last replayed message, because our RNIC sends no
 * request with these PSNs. */
static int compare_copies(struct request_cmp *cmp, uint32_t event)
{
    const struct pkt_event *at = &cmp->setup->event[event];
    const struct request_pkt *e = request_at(cmp->setup, at->rel);
    struct roce_pkt pkt;
    struct tx_request first;

    if (!e || e->rel != at->rel || e->event >= event || at->damaged)
        return 0;
    trace_parse(event_packet(cmp->setup, e->event), &pkt);
    first = tx_request_of(&pkt, cmp->setup, e->event);
    return event_packet(cmp->setup, e->event)->zero_filled ? 0 : compare_with(cmp, event, &first);
}

/* If READ request `event` restarts an earlier READ at a PSN inside it, sets *read to the request
 * that R112 prescribes. The prescribed request has the address and length of the rest of the
 * earlier READ. Returns false if there is no earlier READ, or if the path MTU is unknown. */
static bool restarted_read(const struct request_cmp *cmp, uint32_t event, struct tx_request *read)
{
    const struct inferred_setup *s = cmp->setup;
    int64_t rel = s->event[event].rel;
    const struct request_pkt *e = request_at(s, rel);
    struct roce_pkt pkt;
    uint32_t off;

    if (!e || e->rel == rel || e->event >= event || !s->mtu_known ||
        event_opcode(s, event)->kind != ROCE_KIND_READ)
        return false;
    trace_parse(event_packet(s, e->event), &pkt);
    *read = tx_request_of(&pkt, s, e->event);
    off = (uint32_t)(rel - e->rel);
    read->rel = rel;
    read->psn = roce_psn_add(roce_psn_of(read->psn), (int32_t)off).v;
    read->va += (uint64_t)off * s->mtu;
    read->dma_len -= off * s->mtu;
    return true;
}

/* Returns whether the requester may have sent request `event` before it received RNR NAK `nak`,
 * which stops the requester. */
static bool crosses(const struct inferred_setup *s, uint32_t nak, uint32_t event)
{
    return event_is_syndrome(s, nak, ROCE_SYN_RNR) &&
           event_time(s, event) - event_time(s, nak) <= CROSSED_NS;
}

static int compare_request_event(struct request_cmp *cmp, uint32_t event)
{
    const struct requester_run *a = cmp->run;
    const struct pkt_event *at = &cmp->setup->event[event];
    const struct trace_packet *p = event_packet(cmp->setup, event);
    struct request_result *res = cmp->res;
    struct tx_request *ours, restart;
    struct field_diffs d;

    if (at->rel < cmp->setup->first)
        return 0;
    if (p->malformed) {
        field_diffs_clear(&d);
        field_diff_add_form(&d, p);
        res->compared++;
        return report_or_excuse(cmp, event, &d, "no conformant requester sends this packet", NULL);
    }
    if (at->rel >= a->wrs.end)
        return compare_copies(cmp, event);
    if (a->retransmit[event] == RETX_WIRE_DUPLICATE) {
        res->wire_duplicates++;
        res->mark[event] = MARK_NOTE;
        return 0;
    }
    if (event == cmp->setup->timers.beyond && compare_retry_count(cmp, event) != 0)
        return -1;
    if (a->error_event != EVENT_NONE && a->error_event < event && cmp->res->diff_frames > 0) {
        res->not_compared++;
        return 0;
    }
    ours = find_tx(cmp, at->rel, a->retransmit[event] ? event : UINT32_MAX);
    if (a->retransmit[event] == RETX_GO_BACK && compare_go_back(cmp, event, ours) != 0)
        return -1;
    /* Only the recorded requester retransmits this request. A requester may retransmit at any time,
     * but the contents must not change (R153). */
    if (!ours && a->retransmit[event]) {
        res->fewer += a->retransmit[event] == RETX_CONTINUES;
        return at->damaged
                   ? 0
                   : compare_with(cmp, event,
                                  restarted_read(cmp, event, &restart) ? &restart
                                                                       : find_like(cmp, at->rel));
    }
    /* Our QP is in the error state because of an RNR NAK. The recorded requester sent this new
     * request before it received that RNR NAK. */
    if (!ours && a->error_event < event && crosses(cmp->setup, a->error_event, event)) {
        res->not_compared++;
        return 0;
    }
    res->compared++;
    if (!ours) {
        field_diffs_clear(&d);
        field_diff_add(&d, "request", roce_opcode(p->opcode)->name, "none");
        return report_request_diff(cmp, event, &d, "our RNIC does not send this request");
    }
    ours->matched = true;
    if (at->damaged) {
        res->damaged++;
        res->mark[event] = MARK_NOTE;
        return 0;
    }
    res->ackreq += p->ackreq != ours->ackreq;
    return compare_with(cmp, event, ours);
}

/* ---- Comparing completions ------------------------------------------------------------------- */

static void status_text(char *buf, size_t cap, size_t work, const char *status)
{
    snprintf(buf, cap, "work request %zu: %s", work + 1, status);
}

/* Returns whether no request was captured after event `event`. */
static bool is_last_request(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = event + 1; i < s->event_cnt; i++)
        if (!s->event[i].response)
            return false;
    return true;
}

/* Compares the completions of our RNIC after a response. The number and the status of the completed
 * work requests must be those that the response implies. */
static int compare_completions(struct request_cmp *cmp, uint32_t event)
{
    const struct requester_run *a = cmp->run;
    struct expected_wc *expected = &cmp->expect;
    bool was_over = expected->over;
    struct field_diffs d;
    char e[96], o[96];

    field_diffs_clear(&d);
    if (a->outcome[event] == RESP_LOST)
        cmp->res->lost++;
    if (a->outcome[event] != RESP_ACCEPTED || was_over)
        return 0;
    for (; cmp->missing < a->missing_cnt && a->missing[cmp->missing].before == event;
         cmp->missing++)
        expected_wc_on_data(expected, a->missing[cmp->missing].rel);
    expected_wc_on_response(expected, event);
    if (a->completions_unseen)
        return 0;
    for (; cmp->completions < a->completion_cnt && a->completion[cmp->completions].event <= event;
         cmp->completions++) {
        const struct completion *completion = &a->completion[cmp->completions];
        bool ok = completion->wr < expected->done_cnt;
        enum rnic_wc_status want;

        if (expected->may_give_up && completion->wr == expected->done_cnt &&
            completion->status == RNIC_WC_RNR_RETRY_EXC_ERR) {
            expected->over = true;
            expected->status = RNIC_WC_RNR_RETRY_EXC_ERR;
        }
        /* If no request was captured after this response, the recorded requester gave up, too. */
        if (!expected->over && completion->wr == expected->done_cnt &&
            completion->status == RNIC_WC_RETRY_EXC_ERR && is_last_request(cmp->setup, event)) {
            expected->over = true;
            expected->status = RNIC_WC_RETRY_EXC_ERR;
        }
        want = ok                                                       ? RNIC_WC_SUCCESS
               : expected->over && completion->wr == expected->done_cnt ? expected->status
                                                                        : RNIC_WC_WR_FLUSH_ERR;

        if ((!ok && !expected->over) || completion->status != want) {
            status_text(e, sizeof(e), completion->wr,
                        !ok && !expected->over ? "not complete" : rnic_wc_status_name(want));
            status_text(o, sizeof(o), completion->wr, rnic_wc_status_name(completion->status));
            field_diff_add(&d, "completion", e, o);
            break;
        }
    }
    if (d.cnt == 0 && cmp->completions < expected->done_cnt + expected->over &&
        cmp->completions < a->wrs.cnt) {
        status_text(e, sizeof(e), cmp->completions,
                    cmp->completions < expected->done_cnt ? rnic_wc_status_name(RNIC_WC_SUCCESS)
                                                          : rnic_wc_status_name(expected->status));
        status_text(o, sizeof(o), cmp->completions, "not complete");
        field_diff_add(&d, "completion", e, o);
    }
    if (d.cnt)
        expected->over = true; /* report only the first wrong completion */
    return report_request_diff(cmp, event, &d,
                               "after this response, our RNIC completes different work requests "
                               "than the recorded requester");
}

/* ---- Comparing whole directions -------------------------------------------------------------- */

static int compare_data(struct request_cmp *cmp)
{
    const struct requester_run *a = cmp->run;
    struct field_diffs d = {.cnt = 0};
    char text[96];

    if (!a->wrong_data)
        return 0;
    status_text(text, sizeof(text), a->wrong_wr, "different bytes in memory");
    field_diff_add(&d, "data", "the bytes of the recorded responses", text);
    return report_request_diff(cmp, a->wrs.wr[a->wrong_wr].event, &d,
                               "our RNIC stored bytes that differ from those in the responses");
}

static void count_ours(struct request_cmp *cmp)
{
    const struct requester_run *a = cmp->run;

    for (size_t i = 0; i < a->tx_cnt; i++) {
        if (a->tx[i].matched)
            continue;
        if (a->tx[i].retransmit)
            cmp->res->more++;
        else
            cmp->res->not_captured++;
    }
    cmp->res->completed = (uint32_t)a->completion_cnt;
    for (size_t i = 0; i < a->completion_cnt; i++)
        cmp->res->failed += a->completion[i].status != RNIC_WC_SUCCESS;
    cmp->res->after_gap = a->wrs.after_gap;
}

static int compare_requester(struct request_comparison *all, struct rc_requester *requester,
                             uint32_t idx)
{
    struct requester_run *a = &requester->run[idx];
    struct request_result *res = &all->result[idx];
    struct request_cmp cmp = {.all = all,
                              .run = a,
                              .setup = requester_setup(a->dir),
                              .res = res,
                              .idx = idx,
                              .go_back = EVENT_NONE,
                              .next = requester_setup(a->dir)->first,
                              .went_back = INT64_MIN};
    int rc = 0;

    res->first_diff = EVENT_NONE;
    res->mark = calloc(cmp.setup->event_cnt + 1, 1);
    if (!res->mark)
        return -1;
    res->skip = cmp.setup->skip ? cmp.setup->skip : a->wrs.skip ? a->wrs.skip : a->failed;
    if (res->skip) {
        res->verdict = VERDICT_SKIPPED;
        return 0;
    }
    if (!sort_tx(&cmp))
        return -1;
    expected_wc_init(&cmp.expect, a);
    for (uint32_t i = 0; i < cmp.setup->event_cnt && rc == 0; i++) {
        rc = cmp.setup->event[i].response ? compare_completions(&cmp, i)
                                          : compare_request_event(&cmp, i);
        note_our_go_backs(&cmp, i);
    }
    if (rc == 0)
        rc = compare_data(&cmp);
    count_ours(&cmp);
    free(cmp.by_psn);
    res->verdict = res->diff_frames ? VERDICT_FAIL : VERDICT_PASS;
    return rc;
}

int rc_compare_requests(struct request_comparison *all, struct rc_requester *requester,
                        const char *quirks)
{
    int rc = 0;

    *all = (struct request_comparison){.requester = requester, .quirks = quirks};
    all->result = calloc(requester->run_cnt + 1, sizeof(*all->result));
    if (!all->result)
        return -1;
    for (uint32_t i = 0; i < requester->run_cnt && rc == 0; i++)
        rc = compare_requester(all, requester, i);
    return rc;
}

void request_comparison_free(struct request_comparison *all)
{
    for (size_t i = 0; all->result && i < all->requester->run_cnt; i++)
        free(all->result[i].mark);
    free(all->result);
    free(all->diff);
    memset(all, 0, sizeof(*all));
}
