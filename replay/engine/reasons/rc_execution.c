/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_execution.h"

#include <stdlib.h>
#include "engine/base/diff.h"
#include "infer/infer_loss.h"
#include "infer/request_table.h"
#include "util/lower_bound.h"
#include "wire/codes.h"

/* If the network reorders responses and no IPv4 identification shows their order, a response can
 * overtake fewer than this number of responses. */
#define ORDER_WINDOW 64u

/* Number of packets before a response in which is_copied() searches for an equal response, the
 * original. The response may be its copy. */
#define COPY_WINDOW 16u

/* Maximum number of packets and requests that the searches of one direction may read. If a
 * direction needs more, it counts as impossible, so its differences are reported. */
#define EFFORT_MAX (1u << 22)

#define NO_EXECUTION SIZE_MAX

/* State of the responder while the responses are examined in order. `executed` is the lowest number
 * of executed requests that is compatible with the responses up to now. All numbers from `executed`
 * to `most` are compatible. */
struct execution {
    const struct inferred_setup *s;
    const uint8_t *mark;
    bool rxe;
    bool ordered;    /* the responses were captured in the order in which the responder sent them */
    size_t executed; /* number of executed requests, the index into setup.req of the request that
                      * the responder expects */
    bool naked;      /* the responder sent a sequence NAK for the expected request */
    bool over;       /* the responder sent a fatal NAK */
    size_t most;  /* maximum number of requests that the responder can have executed: a copy of each
                   * of them was sent before the current response */
    int64_t high; /* highest relative PSN of the requests sent up to now */
    uint32_t scanned;
    uint8_t *copies;    /* for each request packet: number of copies sent; 2 means 2 or
                         * more */
    uint8_t *responded; /* for each request packet: a response contains its data */
    size_t unseen;      /* number of elements of setup.executed_unseen that were already used */
    size_t recent[ORDER_WINDOW]; /* if not `ordered`: numbers of executed requests at the latest
                                  * responses */
    uint32_t responses;
    uint32_t effort;
    uint32_t duplicates; /* number of retransmitted copies of SENDs and WRITEs */
};

static enum roce_kind request_kind(const struct inferred_setup *s, size_t k)
{
    return event_opcode(s, s->req[k].event)->kind;
}

static bool request_fetches(const struct inferred_setup *s, size_t k)
{
    return event_fetches(s, s->req[k].event);
}

static uint32_t done_before(const struct inferred_setup *s, size_t executed)
{
    return executed ? s->req[executed - 1].msgs_done : 0;
}

/* Returns the smallest number of executed requests, from `least` to `most`, at which the responder
 * has completed `msgs` messages. Returns NO_EXECUTION if there is none. */
static size_t first_with(const struct inferred_setup *s, uint32_t msgs, size_t least, size_t most)
{
    size_t low = least, high = most + 1;

    if (least > most)
        return NO_EXECUTION;
    LOWER_BOUND(low, high, mid, done_before(s, mid) < msgs);
    return low <= most && done_before(s, low) == msgs ? low : NO_EXECUTION;
}

static void note_copy(struct execution *x, const struct request_pkt *e)
{
    const struct inferred_setup *s = x->s;
    size_t k = (size_t)(e - s->req);

    x->duplicates += x->copies[k] > 0 && !request_fetches(s, k);
    if (x->copies[k] < 2)
        x->copies[k]++;
    while (x->most < s->req_cnt && x->copies[x->most] && !s->req[x->most].invalid)
        x->most++;
}

/* Updates the state with the requests that were sent before response `event`. */
static void note_requests(struct execution *x, uint32_t event)
{
    const struct inferred_setup *s = x->s;
    uint32_t limit = infer_loss_race_limit(s, event, 0);

    for (; x->scanned <= limit; x->scanned++) {
        const struct pkt_event *at = &s->event[x->scanned];
        const struct request_pkt *e;

        if (at->response || at->before_first || !at->usable)
            continue;
        if (at->rel > x->high)
            x->high = at->rel;
        e = request_at(s, at->rel);
        if (e)
            note_copy(x, e);
    }
    for (; x->unseen < s->executed_unseen_cnt && s->executed_unseen[x->unseen].response <= event;
         x->unseen++) {
        const struct request_pkt *e =
            request_at(s, s->event[s->executed_unseen[x->unseen].event].rel);

        if (e)
            note_copy(x, e);
    }
}

/* Returns the number of requests that the responder had executed when it sent an ACK. Returns
 * NO_EXECUTION if no number fits the ACK and the responses before it. */
static size_t execution_of_ack(struct execution *x, uint32_t event, uint32_t msgs)
{
    const struct inferred_setup *s = x->s;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    bool equal = x->mark[event] == MARK_OK;
    size_t k, end, least = x->executed;

    if (!e && s->event[event].rel != s->first - 1)
        return NO_EXECUTION;
    k = e ? (size_t)(e - s->req) + 1 : 0;
    if (e && e->rel + e->cnt - 1 != s->event[event].rel)
        return NO_EXECUTION;
    if (done_before(s, k) == msgs && k >= least && k <= x->most &&
        (!e || !request_fetches(s, k - 1) ||
         ((x->duplicates || !x->rxe) && (equal || x->responded[k - 1]))))
        return k;
    /* Linux rxe acknowledges a duplicate with the PSN of the latest SEND, WRITE or atomic. The MSN
     * of this ACK also counts the READs after that request (D7). */
    for (end = k; x->rxe && x->duplicates && end < x->most && request_fetches(s, end);
         end++, x->effort++)
        if (s->req[end].msgs_done == msgs && end + 1 >= least)
            return end + 1;
    if (equal && k > 0 && x->copies[k - 1] > 1)
        return first_with(s, msgs, k > least ? k : least, x->most);
    return NO_EXECUTION;
}

/* Returns whether response `event` is a copy that the network made of an earlier response. Without
 * IPv4 identifications, only a response that equals ours counts as a copy, because the responder
 * itself may have sent any other response twice. */
static bool is_copied(const struct execution *x, uint32_t event)
{
    const struct inferred_setup *s = x->s;
    const struct trace_packet *p = event_packet(s, event);

    for (uint32_t i = event; i-- > 0 && event - i <= COPY_WINDOW;)
        if (s->event[i].response &&
            (trace_sent_once(s->trace, event_packet(s, i), p) ||
             (x->mark[event] == MARK_OK && trace_is_copy(event_packet(s, i), p))))
            return true;
    return false;
}

/* READ `e` may have been retransmitted from a later PSN. Of the READ requests that begin in READ
 * `e` before the PSN of response `event`, returns the number that the responder had answered
 * completely before `event`. Each response with the last PSN of the READ completes one request,
 * because the responses to a request are in PSN order (R105). Such a response is not counted if it
 * may complete a request that begins at the PSN of `event` or later. */
static uint32_t reads_over(struct execution *x, uint32_t event, const struct request_pkt *e)
{
    const struct inferred_setup *s = x->s;
    int64_t rel = s->event[event].rel, last = e->rel + e->cnt - 1;
    int32_t more = 0, least = 0; /* `more`: number of responses that end the READ, minus number
                                  * of requests that begin at the PSN of `event` or later, among
                                  * the packets from `i` to `event`. `least`: lowest value of
                                  * `more` so far */

    if (!x->ordered || event - e->event > LOOK_BACK)
        return 0;
    for (uint32_t i = event; i-- > e->event; x->effort++) {
        const struct pkt_event *at = &s->event[i];

        if (!at->usable || at->rel < rel || at->rel > last)
            continue;
        if (!at->response)
            more--;
        else if (at->rel == last && event_opcode(s, i)->kind == ROCE_KIND_READ_RESP &&
                 !is_copied(x, i))
            more++;
        least = more < least ? more : least;
    }
    return (uint32_t)(more - least);
}

/* Returns whether more READ requests than responses were sent before response `event`. Counts
 * only responses with the PSN of `event`. If `starts` is true, counts only requests that begin at
 * this PSN; otherwise, only requests that begin inside READ `e` at an earlier PSN. */
static bool read_begins(struct execution *x, uint32_t event, const struct request_pkt *e,
                        bool starts)
{
    const struct inferred_setup *s = x->s;
    int64_t rel = s->event[event].rel;
    bool equal = x->mark[event] == MARK_OK;
    uint32_t requests = 0, responses = 0;

    for (uint32_t i = x->scanned, n = 0; i-- > 0 && n <= LOOK_BACK && !(equal && requests > 0);
         n++, x->effort++) {
        const struct pkt_event *at = &s->event[i];

        if (!at->usable || at->rel < e->rel || at->rel > rel)
            continue;
        if (at->response)
            responses += i < event && at->rel == rel && !is_copied(x, i) &&
                         event_opcode(s, i)->kind == ROCE_KIND_READ_RESP &&
                         roce_opcode_starts(event_opcode(s, i)) == starts;
        /* Linux rxe answers a READ that restarts at `rel` with Middle or Last, too (D4). */
        else if (starts ? at->rel == rel : at->rel < rel || (x->rxe && rel > e->rel))
            requests++;
    }
    if (!equal && !starts) {
        uint32_t over = reads_over(x, event, e);

        responses = over > responses ? over : responses;
    }
    return equal ? requests > 0 : requests > responses;
}

/* Returns the number of requests that the responder had executed when it sent a READ response or
 * Atomic ACK. Returns NO_EXECUTION if no number fits this response and the responses before it. */
static size_t execution_of_data(struct execution *x, uint32_t event, uint32_t msgs)
{
    const struct inferred_setup *s = x->s;
    const struct roce_opcode *op = event_opcode(s, event);
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    bool atomic = op->kind == ROCE_KIND_ATOMIC_ACK, again;
    size_t k, least = x->executed, most, found;

    if (!e)
        return NO_EXECUTION;
    k = (size_t)(e - s->req);
    if (k >= x->most || (atomic ? !roce_opcode_is_atomic(event_opcode(s, e->event))
                                : !trace_draws_read_response(request_kind(s, k))))
        return NO_EXECUTION;
    if (!atomic && s->mtu_known &&
        roce_opcode_ends(op) != (s->event[event].rel == e->rel + e->cnt - 1))
        return NO_EXECUTION;
    if (!atomic && request_kind(s, k) != ROCE_KIND_READ && op->pos != ROCE_POS_ONLY)
        return NO_EXECUTION;
    if (!atomic && request_kind(s, k) == ROCE_KIND_READ &&
        !read_begins(x, event, e, roce_opcode_starts(op)))
        return NO_EXECUTION;
    again = x->copies[k] > 1 || x->responded[k];
    most = again || !x->rxe ? x->most : k + 1;
    least = k + 1 > least ? k + 1 : least;
    if (!roce_opcode_has(op, ROCE_HDR_AETH))
        return least <= most ? least : NO_EXECUTION;
    /* R103 allows the MSN of a READ response First not to count the READ yet: then one more message
     * was executed than the MSN counts. */
    found = first_with(s, msgs, least, most);
    return found == NO_EXECUTION && !counts_messages(s, event)
               ? first_with(s, msgs + 1, least, most)
               : found;
}

/* Returns whether a copy of the request that a sequence NAK names was captured after the NAK. */
static bool is_repeated(struct execution *x, uint32_t nak)
{
    const struct inferred_setup *s = x->s;

    for (uint32_t i = nak + 1; i < s->event_cnt && i - nak <= LOOK_BACK; i++, x->effort++)
        if (!s->event[i].response && s->event[i].usable && s->event[i].rel == s->event[nak].rel)
            return true;
    return false;
}

/* Returns the number of requests that the responder had executed when it sent a NAK or RNR NAK.
 * Returns NO_EXECUTION if no number fits the NAK and the responses before it. */
static size_t execution_of_nak(struct execution *x, uint32_t event, uint32_t msgs)
{
    const struct inferred_setup *s = x->s;
    int64_t rel = s->event[event].rel;
    const struct request_pkt *e = request_at(s, rel), *before = request_at(s, rel - 1);
    const struct roce_opcode *op = e ? event_opcode(s, e->event) : NULL;
    size_t k;

    if (e ? e->rel != rel : rel != s->first && !before)
        return NO_EXECUTION;
    k = e ? (size_t)(e - s->req) : before ? (size_t)(before - s->req) + 1 : 0;
    if (event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ)) {
        if (x->high <= rel || (x->ordered && x->naked && k == x->executed) ||
            (x->mark[event] != MARK_OK && !(x->ordered && is_repeated(x, event))))
            return NO_EXECUTION;
    } else if (!e || !x->copies[k] ||
               (event_is_syndrome(s, event, ROCE_SYN_RNR) && !roce_opcode_uses_rq(op))) {
        return NO_EXECUTION;
    }
    return done_before(s, k) == msgs && k >= x->executed && k <= x->most ? k : NO_EXECUTION;
}

/* Returns whether the responder can have sent response `event` after the responses before it: there
 * is a number of executed requests that explains all these responses. If so, updates the state. */
static bool explain_response(struct execution *x, uint32_t event)
{
    const struct inferred_setup *s = x->s;
    const struct roce_opcode *op = event_opcode(s, event);
    uint32_t msgs = (event_packet(s, event)->msn - s->msn) & ROCE_PSN_MASK;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    size_t found;

    if (x->over)
        return false;
    if (op->kind != ROCE_KIND_ACK)
        found = execution_of_data(x, event, msgs);
    else if (event_is_syndrome(s, event, ROCE_SYN_ACK))
        found = execution_of_ack(x, event, msgs);
    else
        found = execution_of_nak(x, event, msgs);
    if (found == NO_EXECUTION)
        return false;
    if (op->kind != ROCE_KIND_ACK)
        x->responded[e - s->req] = 1;
    if (!x->ordered) {
        size_t *slot = &x->recent[x->responses++ % ORDER_WINDOW], old = *slot;

        *slot = found;
        if (x->responses > ORDER_WINDOW && old > x->executed)
            x->executed = old;
        return true;
    }
    if (found > x->executed || event_is_syndrome(s, event, ROCE_SYN_RNR))
        x->naked = false;
    x->executed = found;
    x->naked |= event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);
    x->over = event_is_fatal_nak(s, event);
    return true;
}

/* Returns whether the MSN decreases among the responses that equal ours, which shows that the
 * network reordered them. */
static bool equal_decrease(const struct inferred_setup *s, const uint8_t *mark)
{
    uint32_t before = EVENT_NONE;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        if (!s->event[i].response || mark[i] != MARK_OK || !counts_messages(s, i))
            continue;
        if (before != EVENT_NONE && roce_psn_diff(roce_psn_of(event_packet(s, i)->msn),
                                                  roce_psn_of(event_packet(s, before)->msn)) < 0)
            return true;
        before = i;
    }
    return false;
}

int rc_execution_find(const struct inferred_setup *s, const uint8_t *mark, bool rxe, bool reorders,
                      uint32_t *impossible)
{
    struct execution x = {
        .s = s,
        .mark = mark,
        .rxe = rxe,
        .ordered = s->trace->flow[s->recorded->resp_flow].numbered ||
                   !(reorders || equal_decrease(s, mark)),
        .high = INT64_MIN,
        .copies = calloc(s->req_cnt + 1, 1),
        .responded = calloc(s->req_cnt + 1, 1),
    };
    int rc = x.copies && x.responded ? 0 : -1;

    *impossible = EVENT_NONE;
    for (uint32_t i = 0; rc == 0 && i < s->event_cnt; i++) {
        if (!s->event[i].response || !s->event[i].usable || s->event[i].before_first)
            continue;
        note_requests(&x, i);
        if (mark[i] == MARK_KNOWN || mark[i] == MARK_NOTE || is_copied(&x, i))
            continue;
        if (!explain_response(&x, i) || x.effort > EFFORT_MAX) {
            *impossible = i;
            break;
        }
    }
    free(x.copies);
    free(x.responded);
    return rc;
}
