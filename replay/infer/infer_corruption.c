/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_corruption.h"
#include "util/lower_bound.h"

#include <stdlib.h>

/* Returns whether `event` is a READ that requests only the last part of the previous READ (R112).
 * *before is the RETH of the previous READ. If `event` is a READ, stores its RETH in *before. */
static bool asks_for_tail(const struct inferred_setup *s, uint32_t event, struct roce_reth *before)
{
    struct roce_reth last = *before, now;

    if (event_opcode(s, event)->kind != ROCE_KIND_READ)
        return false;
    *before = now = trace_reth(event_packet(s, event));
    return now.rkey == last.rkey && now.va > last.va && now.dma_len &&
           now.va - last.va < last.dma_len && now.dma_len == last.dma_len - (now.va - last.va);
}

void infer_corruption(struct inferred_setup *s)
{
    int64_t high = INT64_MIN, rnr = INT64_MIN;
    int64_t last = -1; /* index into setup.event of the latest sign of loss: a retransmission or a
                        * sequence NAK */
    struct roce_reth read = {0};
    bool obeyed = false;         /* the requester has retransmitted the request with relative PSN
                                  * `rnr` */
    uint32_t newest = 0;         /* index into setup.event of the latest new request */
    int64_t damaged = INT64_MAX; /* relative PSN of the damaged response */
    uint32_t later = EVENT_NONE; /* index into setup.event of the first response after the damaged
                                  * response. It makes the requester retransmit, unless the
                                  * requester accepted the damaged response */
    int64_t next = INT64_MAX;    /* relative PSN of the first new request after `later`, which the
                                  * requester may send before it handles `later` */
    uint32_t reply = EVENT_NONE; /* index into setup.event of the first response to `next`. A new
                                  * request after it shows that the requester accepted the damaged
                                  * response */
    bool tail;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event *event = &s->event[i];

        if (event->damaged) {
            s->damaged_cnt++;
            if (event->response)
                damaged = event->rel;
            continue;
        }
        if (event->response) {
            if (event->rel > damaged && later == EVENT_NONE)
                later = i;
            if (event->rel >= next && reply == EVENT_NONE)
                reply = i;
            if (event_is_syndrome(s, i, ROCE_SYN_RNR)) {
                rnr = event->rel;
                obeyed = false;
            }
            if (event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ)) {
                s->seq_naks++;
                last = i;
            }
            continue;
        }
        tail = asks_for_tail(s, i, &read);
        if (event->rel <= high || tail) {
            s->retransmitted++;
            if (rnr == INT64_MIN || event->rel < rnr || (event->rel == rnr && obeyed)) {
                s->lossy = true;
                last = i;
            }
            obeyed |= event->rel == rnr;
        }
        if (event->rel > high) {
            high = event->rel;
            newest = i;
            if (later != EVENT_NONE && next == INT64_MAX)
                next = event->rel;
            rnr = INT64_MIN; /* the requester has retransmitted the refused request; forget the
                              * RNR NAK */
        }
    }
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event *event = &s->event[i];

        event->usable =
            !event->damaged || (event->response && s->damaged_cnt == 1 && last < (int64_t)i &&
                                newest > reply && event_packet(s, i)->icrc == ROCE_ICRC_BAD);
    }
}

/* Returns the number of PSNs that a request uses if its response has data, else 0. */
static int64_t data_cnt(const struct inferred_setup *s, uint32_t event)
{
    const struct roce_opcode *op = event_opcode(s, event);

    if (op->kind != ROCE_KIND_READ)
        return roce_opcode_is_atomic(op) || trace_draws_read_response(op->kind);
    return roce_psn_cnt(trace_reth(event_packet(s, event)).dma_len, s->mtu);
}

static int psn_cmp(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Stores the PSNs up to `high` of the undamaged responses with data, sorted and each once. Returns
 * their number. */
static size_t data_psns(const struct inferred_setup *s, int64_t high, int64_t *psn)
{
    size_t cnt = 0, unique = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (event->response && !event->damaged && event_opcode(s, i)->kind != ROCE_KIND_ACK &&
            event->rel >= 0 && event->rel <= high)
            psn[cnt++] = event->rel;
    }
    if (cnt)
        qsort(psn, cnt, sizeof(*psn), psn_cmp);
    for (size_t i = 0; i < cnt; i++)
        if (unique == 0 || psn[unique - 1] != psn[i])
            psn[unique++] = psn[i];
    return unique;
}

/* Returns whether the `cnt` PSNs, sorted and each once, contain all from `first` to `last`. */
static bool contains_all(const int64_t *psn, size_t cnt, int64_t first, int64_t last)
{
    size_t low = 0, high = cnt;

    LOWER_BOUND(low, high, mid, psn[mid] < first);
    return first > last || (last - first < (int64_t)(cnt - low) && psn[low] == first &&
                            psn[low + (size_t)(last - first)] == last);
}

/* Returns whether undamaged responses show that all requests up to PSN `high` were executed, and
 * contain all requested data. `psn` has room for the PSNs of all events. */
static bool covers_all_data(const struct inferred_setup *s, int64_t high, int64_t *psn)
{
    size_t psn_cnt = data_psns(s, high, psn);
    int64_t executed = INT64_MIN;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        int64_t last = high;

        if (event->response && !event->damaged && event_executed_to(s, i) > executed)
            executed = event_executed_to(s, i);
        if (event->response || event->damaged || event->rel < 0)
            continue;
        if (event->rel + data_cnt(s, i) - 1 < last)
            last = event->rel + data_cnt(s, i) - 1;
        if (!contains_all(psn, psn_cnt, event->rel, last))
            return false;
    }
    return executed >= high;
}

bool infer_corruption_excuse(struct inferred_setup *s)
{
    int64_t high = INT64_MIN;
    uint32_t taken = EVENT_NONE;
    int64_t *psn;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        int64_t cnt;

        if (s->event[i].damaged && s->event[i].usable)
            taken = i;
        if (s->event[i].response || s->event[i].damaged)
            continue;
        cnt = data_cnt(s, i);
        if (s->event[i].rel + cnt - (cnt > 0) > high)
            high = s->event[i].rel + cnt - (cnt > 0);
    }
    if (taken == EVENT_NONE || high < 0)
        return true;
    /* The damaged response acknowledges only requests up to its PSN, so only these need another
     * response. */
    if (s->event[taken].rel >= 0 && s->event[taken].rel < high)
        high = s->event[taken].rel;
    psn = malloc(s->event_cnt * sizeof(*psn));
    if (!psn)
        return false;
    s->event[taken].usable = !covers_all_data(s, high, psn);
    free(psn);
    return true;
}

bool infer_corruption_hides(const struct inferred_setup *s, int64_t gap)
{
    int64_t high = INT64_MIN;
    bool there = false;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (event->response)
            continue;
        if (there && event->rel <= high)
            return false;
        there |= event->damaged && event->rel == gap;
        if (event->rel > high)
            high = event->rel;
    }
    return there;
}
