/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_timers.h"

#include <string.h>
#include "infer/infer_setup.h"
#include "infer/request_table.h"

/* 4.096 us. */
#define UNIT_NS UINT64_C(4096)

/* Codes of a local ACK timeout, and counts. */
#define CODE_MAX  31u
#define COUNT_MAX 7u

/* A capture point's clock may be off by one part in this. */
#define JITTER 32u

/* A wait by a timer is so many times as long as the quickest answer takes. */
#define WAIT_MIN 4u

/* The measured waits of one kind. */
struct waits {
    uint64_t least; /* shortest upper bound of a wait, ns */
    uint64_t most;  /* longest lower bound of a wait, ns */
    uint32_t cnt;
};

/* State of the walk through the events. */
struct walk {
    const struct inferred_setup *s;
    struct inferred_timers *t;
    struct waits first, again; /* after progress, and after a wait that brought none */
    int64_t acked, high, last; /* PSNs: answered, requested, requested last */
    int64_t rnr_rel;           /* of the latest RNR NAK */
    uint32_t rnr_cnt;          /* how many there were of it */
    uint64_t start;            /* when the timer began, if answers begin it again */
    uint64_t sent;             /* ... if they do not */
    uint32_t request;          /* step of the latest, or EVENT_NONE */
    uint64_t before;           /* the event before */
    bool naked;                /* a NAK came since the latest request */
    bool rnr;                  /* ... for want of a receive WQE */
    uint32_t tries;            /* restarts since a response brought it on */
    bool waited;               /* the latest of these by timer */
};

/* Adds a wait that lasted at least `at_least` and at most `at_most` ns. */
static void note_wait(struct waits *w, uint64_t at_least, uint64_t at_most)
{
    if (w->cnt++ == 0 || at_most < w->least)
        w->least = at_most;
    if (at_least > w->most)
        w->most = at_least;
}

/* The wire shows a request again: with the same headers too, for one that is retransmitted as soon
 * as a timer may fire counts as a try. */
static bool is_copy(const struct inferred_setup *s, uint32_t a, uint32_t b)
{
    const struct trace_packet *x = event_packet(s, a), *y = event_packet(s, b);

    return trace_is_copy(x, y) && memcmp(x->data, y->data, x->cap_len) == 0;
}

static void on_answer(struct walk *w, uint32_t event, uint64_t time)
{
    const struct inferred_setup *s = w->s;

    if (event_executed_to(s, event) > w->acked) {
        w->acked = event_executed_to(s, event);
        w->start = time;
        w->tries = 0;
    }
    w->waited = false;
    if (!event_is_nak(s, event))
        return;
    w->naked = true;
    if (!event_is_syndrome(s, event, ROCE_SYN_RNR))
        return;
    w->rnr = true;
    w->rnr_cnt = w->rnr_rel == s->event[event].rel ? w->rnr_cnt + 1 : 1;
    w->rnr_rel = s->event[event].rel;
}

/* The requester goes back. */
static void on_restart(struct walk *w, int64_t rel, uint64_t time)
{
    uint64_t wait = time - w->start, longest = time - w->sent;

    w->start = w->sent = time;
    if (w->naked && w->rnr) {
        if (w->rnr_cnt > w->t->rnr_retries)
            w->t->rnr_retries = w->rnr_cnt;
        return;
    }
    /* In the middle of other packets it may have gone back for missing data (R140). A timer sends
     * the first that is not answered; others come late, or their responses were lost after here. */
    if (!w->naked && (rel != w->acked + 1 || time - w->before < wait / 4 * 3 ||
                      wait <= WAIT_MIN * w->s->min_response_ns || wait < UNIT_NS))
        return;
    if (!w->naked)
        note_wait(w->waited ? &w->again : &w->first, wait, longest);
    w->waited = !w->naked;
    if (++w->tries > w->t->retries)
        w->t->retries = w->tries;
}

static void on_request(struct walk *w, uint32_t event, uint64_t time)
{
    const struct inferred_setup *s = w->s;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    int64_t rel = s->event[event].rel;
    int64_t end = e ? e->rel + e->cnt - 1 : rel;

    if (w->high <= w->acked)
        w->start = w->sent = time; /* nothing was waited for */
    if (rel <= w->last && e && e->event != event) {
        if (w->request != EVENT_NONE && is_copy(s, w->request, event))
            return;
        on_restart(w, rel, time);
    }
    w->request = event;
    w->last = end;
    w->naked = w->rnr = false;
    if (end > w->high)
        w->high = end;
}

/* Returns whether nothing more came of the requester, although it had long to retransmit, and what
 * it sent last is not answered. */
static bool gave_up(const struct walk *w, uint64_t wait)
{
    const struct inferred_setup *s = w->s;

    return wait > 0 && w->high > w->acked && s->fatal_nak == EVENT_NONE &&
           s->trace->pkt[s->trace->cnt - 1].time - w->before > 2 * wait;
}

/* The codes that the waits allow. */
static void find_codes(struct inferred_timers *t, const struct waits *w)
{
    t->waits = w->cnt;
    if (w->cnt == 0)
        return;
    while (t->timeout_max < CODE_MAX &&
           UNIT_NS << (t->timeout_max + 1) <= w->least + w->least / JITTER)
        t->timeout_max++;
    while (t->timeout_min < t->timeout_max &&
           UNIT_NS << (t->timeout_min + 2) < w->most - w->most / JITTER)
        t->timeout_min++;
    if (t->timeout_max == 0)
        t->timeout_max = 1;
    if (t->timeout_min == 0)
        t->timeout_min = 1;
}

/* What our requester is set up with. A count that the recorded one is seen to exceed is wrong. */
static void choose_codes(struct inferred_setup *s)
{
    const struct inferred_timers *t = &s->timers;
    const struct recorded_cm *cm = &s->recorded->cm;

    if (t->waits && (t->sure || t->timeout_min > s->timeout))
        s->timeout = t->timeout_max;
    if (t->exhausted && t->retries <= COUNT_MAX)
        s->retry_cnt = (uint8_t)t->retries;
    if (t->rnr_exhausted && t->rnr_retries < COUNT_MAX)
        s->rnr_retry = (uint8_t)t->rnr_retries;
    if (!cm->timed)
        return;
    s->timeout = cm->timeout;
    s->retry_cnt = t->retries <= cm->retry_cnt ? cm->retry_cnt : COUNT_MAX;
    s->rnr_retry = t->rnr_retries <= cm->rnr_retry ? cm->rnr_retry : COUNT_MAX;
}

void infer_timers(struct inferred_setup *s)
{
    struct walk w = {.s = s,
                     .t = &s->timers,
                     .acked = s->first - 1,
                     .high = s->first - 1,
                     .last = s->first - 1,
                     .rnr_rel = INT64_MIN,
                     .request = EVENT_NONE};

    s->timers = (struct inferred_timers){0};
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        uint64_t time = event_packet(s, i)->time;

        if (!s->event[i].usable || s->event[i].before_first)
            continue;
        if (s->event[i].response)
            on_answer(&w, i, time);
        else
            on_request(&w, i, time);
        w.before = time;
    }
    s->timers.sure = w.again.cnt > 0;
    find_codes(&s->timers, w.again.cnt ? &w.again : &w.first);
    if (w.naked && w.rnr) {
        s->timers.rnr_exhausted = gave_up(&w, roce_rnr_ns(s->rnr_code));
        if (s->timers.rnr_exhausted)
            s->timers.rnr_retries = w.rnr_cnt - 1;
    } else if (w.waited && w.tries == s->timers.retries) {
        s->timers.exhausted = gave_up(&w, w.again.cnt ? w.again.most : w.first.most);
    }
    choose_codes(s);
}
