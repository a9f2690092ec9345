/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_timers.h"

#include <string.h>
#include "infer/infer_setup.h"
#include "infer/request_table.h"

#define UNIT_NS UINT64_C(4096)

/* Largest code of a local ACK timeout, and largest retry count. */
#define CODE_MAX  31u
#define COUNT_MAX 7u

/* Relative error of a capture point's clock, as a fraction: 1/JITTER. */
#define JITTER 32u

/* Shortest wait that counts as a timeout, as a multiple of the shortest response time. */
#define WAIT_MIN 4u

/* Range of the waits that ended in an ACK timeout. Each wait is known only as a range, because the
 * capture does not show when the requester started its timer. */
struct waits {
    uint64_t least; /* shortest upper bound of a wait, ns */
    uint64_t most;  /* longest lower bound of a wait, ns */
    uint32_t cnt;
};

/* State of infer_timers() while it reads the packets of a direction in order. */
struct walk {
    const struct inferred_setup *s;
    struct inferred_timers *t;
    struct waits first, again; /* `first`: waits that do not directly follow another timeout.
                                * `again`: waits that directly follow another timeout */
    int64_t acked;             /* highest acknowledged PSN, relative to the first PSN */
    int64_t
        high; /* highest PSN of the requests up to the current event, relative to the first PSN */
    int64_t last;      /* last PSN of the latest request, relative to the first PSN */
    int64_t restart;   /* relative PSN of the latest go-back */
    int64_t rnr_rel;   /* relative PSN of the latest RNR NAK */
    uint32_t rnr_cnt;  /* number of consecutive RNR NAKs for rnr_rel */
    uint64_t start;    /* start of the ACK timer, ns, if responses restart the timer */
    uint64_t sent;     /* start of the ACK timer, ns, if only requests restart the timer */
    uint32_t request;  /* index into setup.event of the latest request, or EVENT_NONE */
    uint64_t before;   /* time of the previous event, ns */
    bool naked;        /* a NAK or RNR NAK was captured since the latest request */
    bool rnr;          /* an RNR NAK was captured since the latest request */
    uint32_t tries;    /* number of retries since a response last acknowledged a new PSN */
    uint32_t restarts; /* number of go-backs (retransmissions from an earlier PSN), for any
                        * reason, since a response last acknowledged a new PSN */
    bool moved;        /* true: `tries` and `restarts` count only the go-backs since a go-back to a
                        * later PSN, not all since a response last acknowledged a new PSN */
    bool waited;       /* the latest retry was caused by the ACK timeout */
    bool damaged;      /* a damaged request was captured since the latest undamaged packet */
};

/* Adds a wait that lasted at least `at_least` and at most `at_most` ns. */
static void note_wait(struct waits *w, uint64_t at_least, uint64_t at_most)
{
    if (w->cnt++ == 0 || at_most < w->least)
        w->least = at_most;
    if (at_least > w->most)
        w->most = at_least;
}

/* Returns whether request `b` is a copy that the network or the capture made of request `a`. All
 * bytes must be equal. A quick retransmission differs, for example, in its IPv4 identification. */
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
        w->tries = w->restarts = 0;
        w->moved = false;
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

/* Handles a go-back: at `event`, the requester retransmits from PSN `rel`. Counts a retry, and
 * measures the wait if the ACK timeout caused the retry. */
static void on_restart(struct walk *w, uint32_t event, int64_t rel, uint64_t time)
{
    uint64_t wait = time - w->start, longest = time - w->sent;

    w->start = w->sent = time;
    /* A go-back to a later PSN than the previous go-back shows progress: the requester received a
     * response in between. The captured copy of this response may be an earlier one, which was lost
     * between the capture point and the requester. So this go-back begins a new count. */
    if (rel > w->restart) {
        w->moved |= w->restarts > 0;
        w->tries = w->restarts = 0;
    }
    w->restart = rel;
    w->t->endless |= ++w->restarts > COUNT_MAX;
    if (w->naked && w->rnr) {
        if (w->rnr_cnt > w->t->rnr_retries)
            w->t->rnr_retries = w->rnr_cnt;
        return;
    }
    /* After a timeout the requester retransmits the first unacknowledged PSN (R140). So a
     * retransmission in the middle of other packets has another cause, such as missing READ data. A
     * retransmission after a wait that is too short for the timer also has another cause. */
    if (!w->naked && (rel != w->acked + 1 || time - w->before < wait / 4 * 3 ||
                      wait <= WAIT_MIN * w->s->min_response_ns || wait < UNIT_NS))
        return;
    if (!w->naked)
        note_wait(w->waited ? &w->again : &w->first, wait, longest);
    w->waited = !w->naked;
    if (++w->tries > w->t->retries)
        w->t->retries = w->tries;
    if (w->tries > COUNT_MAX && w->t->beyond == EVENT_NONE)
        w->t->beyond = event;
}

static void on_request(struct walk *w, uint32_t event, uint64_t time)
{
    const struct inferred_setup *s = w->s;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    int64_t rel = s->event[event].rel;
    int64_t end = e ? e->rel + e->cnt - 1 : rel;

    if (w->high <= w->acked)
        w->start = w->sent = time; /* the timer was not running, because no request was
                                    * outstanding */
    if (rel <= w->last && e && e->event != event) {
        if (w->request != EVENT_NONE && is_copy(s, w->request, event))
            return;
        on_restart(w, event, rel, time);
    }
    w->request = event;
    w->last = end;
    /* Only the retransmission of the refused request ends the wait that the RNR NAK demands.
     * Requests that were in flight when the RNR NAK arrived do not. */
    if (!w->rnr || rel <= w->rnr_rel || w->acked >= w->rnr_rel)
        w->naked = w->rnr = false;
    if (end > w->high)
        w->high = end;
}

/* Returns whether the requester gave up. Its last request then has no response, and the capture
 * continues for more than twice `wait` ns after the last packet of the direction. If the last
 * packet is a damaged request, the capture does not show the number of retries. */
static bool gave_up(const struct walk *w, uint64_t wait)
{
    const struct inferred_setup *s = w->s;

    return wait > 0 && w->high > w->acked && s->fatal_nak == EVENT_NONE && !w->damaged &&
           s->trace->pkt[s->trace->cnt - 1].time - w->before > 2 * wait;
}

/* Sets the range of timeout codes that the waits allow. */
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

/* Sets the timeout code and the retry counts of our requester. Ignores a count from the CM messages
 * if the recorded requester exceeded that count. */
static void choose_codes(struct inferred_setup *s)
{
    const struct inferred_timers *t = &s->timers;
    const struct recorded_cm *cm = &s->recorded->cm;

    if (t->waits && (t->sure || t->timeout_min > s->timeout))
        s->timeout = t->timeout_max;
    if (t->exhausted)
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
                     .restart = INT64_MIN,
                     .rnr_rel = INT64_MIN,
                     .request = EVENT_NONE};

    s->timers = (struct inferred_timers){.beyond = EVENT_NONE};
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        uint64_t time = event_time(s, i);

        if (!s->event[i].usable || s->event[i].before_first) {
            w.damaged |= !s->event[i].response && s->event[i].damaged;
            continue;
        }
        w.damaged = false;
        if (s->event[i].response)
            on_answer(&w, i, time);
        else
            on_request(&w, i, time);
        w.before = time;
    }
    s->timers.sure = w.again.cnt > 0;
    find_codes(&s->timers, w.again.cnt ? &w.again : &w.first);
    if (w.naked && w.rnr) {
        /* The requester gave up after w.rnr_cnt RNR NAKs for one PSN. If it continued after as many
         * RNR NAKs for an earlier PSN, its RNR retry count is unknown. */
        s->timers.rnr_exhausted =
            w.rnr_cnt > s->timers.rnr_retries && gave_up(&w, roce_rnr_ns(s->rnr_code));
        if (s->timers.rnr_exhausted)
            s->timers.rnr_retries = w.rnr_cnt - 1;
    } else if (w.waited && w.tries == s->timers.retries && w.tries == w.restarts &&
               w.tries <= COUNT_MAX && !w.moved) {
        /* The retry count is known only if the requester certainly counted all go-backs since its
         * latest progress as retries, and did not count earlier ones. */
        s->timers.exhausted = gave_up(&w, w.again.cnt ? w.again.most : w.first.most);
    }
    choose_codes(s);
}
