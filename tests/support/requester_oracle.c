/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "requester_oracle.h"

#include <stdlib.h>
#include <string.h>
#include "suite.h"
#include "wire/codes.h"

#define NEVER UINT64_MAX

const char *oracle_count_name(enum oracle_count count)
{
    static const char *const names[] = {
#define X(name) #name,
        ORACLE_COUNTS(X)
#undef X
    };

    return (unsigned)count < ORACLE_COUNT_CNT ? names[count] : "?";
}

void oracle_init(struct requester_oracle *w, uint32_t sq_psn, uint32_t mtu, uint64_t timeout_ns)
{
    *w = (struct requester_oracle){
        .sq_psn = sq_psn, .mtu = mtu, .timeout_ns = timeout_ns, .view_cnt = 1};
    w->view[0].armed = NEVER;
}

void oracle_free(struct requester_oracle *w)
{
    free(w->end);
    w->end = NULL;
}

/* ---- the set of views ------------------------------------------------------------------------ */

static void count(struct oracle_view *v, enum oracle_count what)
{
    v->cnt[what].least++;
    v->cnt[what].most++;
}

/* Returns whether the ACK timer can have expired by `now`. It expires at the earliest T after its
 * start, or 2T after its start if it already expired once without progress (R150). T is the
 * timeout. */
static bool may_have_fired(const struct requester_oracle *w, const struct oracle_view *v,
                           uint64_t now)
{
    return v->armed != NEVER && now - v->armed >= w->timeout_ns << v->patient;
}

static void fire(struct oracle_view *v)
{
    count(v, ORACLE_local_ack_timeout_err);
    v->nxt = v->una;
    v->armed = NEVER;
    v->went_back = false;
    v->patient = true;
}

static bool alike(const struct oracle_view *a, const struct oracle_view *b)
{
    return a->una == b->una && a->nxt == b->nxt && a->went_back == b->went_back &&
           a->waits == b->waits && (!a->waits || a->wait_over == b->wait_over) &&
           a->patient == b->patient && a->armed == b->armed;
}

/* Merges views with equal states, because they allow the same further packets. Each counter of the
 * merged view is a range that includes the ranges of the merged views. */
static void merge(struct requester_oracle *w)
{
    for (unsigned i = 0; i < w->view_cnt; i++) {
        for (unsigned k = i + 1; k < w->view_cnt;) {
            if (!alike(&w->view[i], &w->view[k])) {
                k++;
                continue;
            }
            for (unsigned c = 0; c < ORACLE_COUNT_CNT; c++) {
                struct oracle_range *into = &w->view[i].cnt[c];
                const struct oracle_range *from = &w->view[k].cnt[c];

                into->least = from->least < into->least ? from->least : into->least;
                into->most = from->most > into->most ? from->most : into->most;
            }
            w->view[k] = w->view[--w->view_cnt];
        }
    }
}

/* For each view in which the ACK timer can have expired by `now`, adds a copy in which it has
 * expired, although no packet shows it. */
static void fork(struct requester_oracle *w, uint64_t now)
{
    unsigned cnt = w->view_cnt;

    for (unsigned i = 0; i < cnt; i++) {
        if (!may_have_fired(w, &w->view[i], now))
            continue;
        if (w->view_cnt == ORACLE_VIEWS) {
            suite_fail(__FILE__, __LINE__, "more than %u views", ORACLE_VIEWS);
            return;
        }
        w->view[w->view_cnt] = w->view[i];
        fire(&w->view[w->view_cnt++]);
    }
}

/* Removes each view i for which fits[i] is false. If no view remains, fails the test with the text
 * `what`. */
static void keep(struct requester_oracle *w, const bool fits[ORACLE_VIEWS], uint32_t psn,
                 uint64_t now, const char *what)
{
    const struct oracle_view first = w->view[0];
    unsigned kept = 0;

    for (unsigned i = 0; i < w->view_cnt; i++)
        if (fits[i])
            w->view[kept++] = w->view[i];
    w->view_cnt = kept;
    if (kept) {
        merge(w);
        return;
    }
    suite_fail(__FILE__, __LINE__,
               "at %llu ns: %s 0x%06x; 0x%06x is unanswered, 0x%06x comes next%s%s%s",
               (unsigned long long)now, what, psn, (w->sq_psn + first.una) & ROCE_PSN_MASK,
               (w->sq_psn + first.nxt) & ROCE_PSN_MASK, first.waits ? ", in an RNR wait" : "",
               first.went_back ? ", went back" : "",
               first.armed == NEVER             ? ", no timer runs"
               : may_have_fired(w, &first, now) ? ", the timer may fire"
                                                : ", too early for the timer");
    w->over = true;
    w->view[0] = first;
    w->view_cnt = 1;
}

/* ---- packets that the requester sends -------------------------------------------------------- */

static bool is_fetch(const struct roce_pkt *pkt)
{
    return pkt->op->kind != ROCE_KIND_SEND && pkt->op->kind != ROCE_KIND_WRITE;
}

/* Records a request at its first transmission: it has `cnt` positions from `at` on (a position is a
 * PSN minus the first PSN). `fetch` is true if the request is a READ or atomic. */
static void learn(struct requester_oracle *w, uint32_t at, uint32_t cnt, bool fetch)
{
    if (at + cnt > w->cap) {
        w->cap = 2 * (at + cnt);
        w->end = realloc(w->end, w->cap * sizeof(*w->end));
        if (!w->end)
            abort();
    }
    for (; w->max < at + cnt; w->max++)
        w->end[w->max] = fetch ? at + cnt : 0;
}

/* Returns whether view `v` allows the requester to send the packet with position `at` (PSN minus
 * first PSN) at time `now`. Changes the state in `v` if the packet shows that the timer expired. */
static bool sends(const struct requester_oracle *w, struct oracle_view *v, uint32_t at,
                  uint64_t now)
{
    if (v->waits) {
        v->waits = false;
        /* After an RNR NAK, the requester waits for the RNR timer (R156), then retransmits. */
        return at == v->nxt && now >= v->wait_over;
    }
    if (at == v->nxt)
        return true;
    if (at != v->una || !may_have_fired(w, v, now))
        return false;
    fire(v);
    return true;
}

void oracle_sent(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now)
{
    uint32_t at = (pkt->bth.psn - w->sq_psn) & ROCE_PSN_MASK;
    uint32_t cnt = pkt->op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt->reth.dma_len, w->mtu) : 1;
    bool fits[ORACLE_VIEWS];

    w->took_nak = w->took_rnr = w->took_fatal = false;
    if (w->over)
        return;
    learn(w, at, cnt, is_fetch(pkt));
    for (unsigned i = 0; i < w->view_cnt; i++) {
        struct oracle_view *v = &w->view[i];

        fits[i] = sends(w, v, at, now);
        v->nxt = at + cnt;
        v->armed = now; /* each transmission starts the ACK timer (R151) */
    }
    keep(w, fits, pkt->bth.psn, now, "nothing explains that it sends");
}

/* ---- packets that the requester receives ----------------------------------------------------- */

/* Marks all positions before `at` as answered. Stops at a READ or atomic if its data has not
 * arrived. Returns whether it reached `at`. */
static bool answer_before(const struct requester_oracle *w, struct oracle_view *v, uint32_t at)
{
    while (v->una < at && w->end[v->una] == 0)
        v->una++;
    return v->una >= at;
}

static void go_back(struct oracle_view *v)
{
    v->nxt = v->una;
    v->armed = NEVER;
}

/* Returns whether a NAK has no effect because the requester already retransmits, or is about to
 * (R161). */
static bool is_going_back(const struct oracle_view *v)
{
    return v->went_back || v->nxt == v->una || v->waits;
}

static void take_lost(struct requester_oracle *w, struct oracle_view *v, enum oracle_count what)
{
    if (is_going_back(v))
        return;
    count(v, what);
    v->went_back = true;
    w->took_nak = true;
    go_back(v);
}

static void take_rnr(struct requester_oracle *w, struct oracle_view *v, uint8_t code, uint64_t now)
{
    if (v->waits || v->nxt == v->una)
        return;
    count(v, ORACLE_rnr_nak_retry_err);
    w->took_rnr = true;
    v->went_back = false;
    v->waits = true;
    v->wait_over = now + roce_rnr_ns(code);
    go_back(v);
}

/* If the oldest unanswered position is no longer `was`, records the progress: it ends waits and
 * resets the retry counts (R151, R155). */
static void progress(struct oracle_view *v, uint32_t was)
{
    if (v->una == was)
        return;
    v->nxt = v->nxt < v->una ? v->una : v->nxt;
    v->went_back = false;
    v->waits = false;
    v->patient = false;
}

/* Applies an ACK or NAK with position `at` (PSN minus first PSN) to view `v`. */
static void take_aeth(struct requester_oracle *w, struct oracle_view *v, uint32_t at,
                      uint8_t syndrome, uint64_t now)
{
    enum roce_syndrome_kind kind = roce_syndrome_kind(syndrome);
    uint8_t code = roce_syndrome_code(syndrome);
    uint32_t was = v->una;
    bool reached;

    if (kind == ROCE_SYN_RESERVED || (kind == ROCE_SYN_NAK && code == ROCE_NAK_INVALID_RD_REQ))
        return;
    reached = answer_before(w, v, kind == ROCE_SYN_ACK ? at + 1 : at);
    progress(v, was);
    /* If the oldest unanswered request is a READ, a NAK for it can have the PSN of any of its
     * responses. */
    if (!reached && (kind == ROCE_SYN_ACK || w->end[v->una] <= at))
        take_lost(w, v, ORACLE_implied_nak_seq_err);
    else if (kind == ROCE_SYN_RNR)
        take_rnr(w, v, code, now);
    else if (kind == ROCE_SYN_NAK && code == ROCE_NAK_PSN_SEQ)
        take_lost(w, v, ORACLE_packet_seq_err);
    else if (kind == ROCE_SYN_NAK)
        w->took_fatal = true;
}

/* Applies a READ or atomic response with position `at` (PSN minus first PSN) to view `v`. */
static void take_data(struct requester_oracle *w, struct oracle_view *v, uint32_t at)
{
    uint32_t was = v->una;
    bool reached = answer_before(w, v, at);

    v->una += reached;
    progress(v, was);
    if (!reached)
        take_lost(w, v, ORACLE_implied_nak_seq_err);
}

/* Returns whether view `v` allows this response: it must answer a packet that was sent. Applies
 * the response to `v`. */
static bool gets(struct requester_oracle *w, struct oracle_view *v, const struct roce_pkt *pkt,
                 uint64_t now)
{
    int32_t ahead = roce_psn_diff(roce_psn_of(pkt->bth.psn),
                                  roce_psn_add(roce_psn_of(w->sq_psn), (int32_t)v->una));
    uint32_t was = v->una;
    uint32_t at;

    if (ahead < 0) {
        count(v, ORACLE_duplicate_response);
        return (uint32_t)-ahead <= v->una;
    }
    at = v->una + (uint32_t)ahead;
    if (at >= w->max || (pkt->op->kind != ROCE_KIND_ACK && w->end[at] == 0))
        return false;
    if (pkt->op->kind == ROCE_KIND_ACK)
        take_aeth(w, v, at, pkt->aeth.syndrome, now);
    else
        take_data(w, v, at);
    if (v->una != was && !v->waits)
        /* The ACK timer runs only while requests are unacknowledged (R151). */
        v->armed = v->una < v->nxt ? now : NEVER;
    return true;
}

void oracle_got(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now, bool behind)
{
    bool fits[ORACLE_VIEWS];

    w->took_nak = w->took_rnr = w->took_fatal = false;
    if (w->over)
        return;
    if (behind)
        fork(w, now);
    for (unsigned i = 0; i < w->view_cnt; i++)
        fits[i] = gets(w, &w->view[i], pkt, now);
    keep(w, fits, pkt->bth.psn, now, "nothing explains that it gets");
}

/* ---- the expected counters ------------------------------------------------------------------- */

void oracle_ended(struct requester_oracle *w, enum oracle_end why, uint64_t now)
{
    bool fits[ORACLE_VIEWS];

    if (w->over)
        return;
    for (unsigned i = 0; i < w->view_cnt; i++) {
        struct oracle_view *v = &w->view[i];

        switch (why) {
        case ORACLE_END_RETRIES:
            fits[i] = w->took_nak || may_have_fired(w, v, now);
            if (!w->took_nak)
                fire(v);
            break;
        case ORACLE_END_RNR: fits[i] = w->took_rnr; break;
        case ORACLE_END_NAK: fits[i] = w->took_fatal; break;
        case ORACLE_END_OWN: fits[i] = true; break;
        }
    }
    keep(w, fits, w->sq_psn, now, "nothing explains that it gives up, from");
    w->over = true;
}

struct oracle_range oracle_count(const struct requester_oracle *w, enum oracle_count count)
{
    struct oracle_range range = w->view[0].cnt[count];

    for (unsigned i = 1; i < w->view_cnt; i++) {
        const struct oracle_range *other = &w->view[i].cnt[count];

        range.least = other->least < range.least ? other->least : range.least;
        range.most = other->most > range.most ? other->most : range.most;
    }
    return range;
}

void oracle_add(struct oracle_range sum[ORACLE_COUNT_CNT], const struct requester_oracle *w)
{
    for (unsigned k = 0; k < ORACLE_COUNT_CNT; k++) {
        struct oracle_range one = oracle_count(w, (enum oracle_count)k);

        sum[k].least += one.least;
        sum[k].most += one.most;
    }
}

void oracle_check(const struct oracle_range sum[ORACLE_COUNT_CNT],
                  const uint64_t counted[ORACLE_COUNT_CNT], unsigned device)
{
    for (unsigned k = 0; k < ORACLE_COUNT_CNT; k++)
        if (counted[k] < sum[k].least || counted[k] > sum[k].most)
            suite_fail(__FILE__, __LINE__,
                       "device %u: counter %s is %llu, but by the packets it must be %llu to %llu",
                       device, oracle_count_name((enum oracle_count)k),
                       (unsigned long long)counted[k], (unsigned long long)sum[k].least,
                       (unsigned long long)sum[k].most);
}
