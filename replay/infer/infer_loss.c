/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_loss.h"

#include <stdlib.h>
#include <string.h>
#include "infer/answers.h"
#include "infer/request_table.h"

/* Number of packets before and after a packet, usually a sequence NAK, in which each search of this
 * file finds related packets. */
#define LOST_WINDOW (1u << 15)

/* Shortest time without responses that counts as silence, as a multiple of the shortest response
 * time. */
#define SILENCE 8u

/* Maximum number of responses that find_ahead() examines as a proof that a request was executed.
 * Each test may read LOST_WINDOW events. */
#define PROOFS_MAX 4096u

/* REPEAT_WINDOW: number of packets after an ACK in which is_repeated() searches for copies of the
 * ACK. REPEATS_SURE: number of copies that prove that the responder sent the ACK. */
#define REPEAT_WINDOW 64u
#define REPEATS_SURE  3u

/* If the capture has no later copy of a NAKed request, went_back() searches for another sign of a
 * retransmission. It searches for at most this number of sequence NAKs, because each search may
 * read LOST_WINDOW events three times. */
#define SEARCHES_MAX 256u

/* Maximum number of events that executed_behind() reads for all RNR NAKs together. After this
 * limit, executed_behind() returns false for each further RNR NAK. */
#define BEHIND_READS_MAX (64u * LOST_WINDOW)

/* Jitter of response times, as a fraction 1/JITTER. A response is at most this fraction faster than
 * the fastest response for which the request is known. */
#define JITTER 8u

/* Stands for an event index if several copies of the request were captured. */
#define SENT_TWICE (EVENT_NONE - 1)

/* ---- requests that a NAK refused ---------------------------------------------------------------
 */

/* Returns whether a response before event `nak` contains data of READ or atomic `e`. A NAK of a
 * later copy of `e` then proves nothing: the responder refuses that copy if its program
 * deregistered the memory after the first execution. */
static bool is_answered_before(const struct inferred_setup *s, uint32_t nak,
                               const struct request_pkt *e)
{
    for (uint32_t i = nak; i-- > 0 && nak - i < LOST_WINDOW;)
        if (s->event[i].response && s->event[i].usable && s->event[i].rel >= e->rel &&
            s->event[i].rel < e->rel + e->cnt && event_opcode(s, i)->kind != ROCE_KIND_ACK)
            return true;
    return false;
}

/* Finds the NAK that ended the connection. A NAK qualifies only if no later response shows that the
 * responder executed the NAKed request. */
static void find_refusal(struct inferred_setup *s)
{
    int64_t later = INT64_MIN;

    s->fatal_nak = EVENT_NONE;
    for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
        const struct pkt_event *event = &s->event[i];
        const struct request_pkt *e = request_at(s, event->rel);

        if (!event->response || !event->usable || event->before_first)
            continue;
        /* The responder checks an R_Key in the packet that contains the key. This is the first
         * packet of a message (R084), or the packet with an IETH. */
        if (event_is_fatal_nak(s, i) && event->rel > later && request_table_msn_fits(s, i) && e &&
            !is_answered_before(s, i, e) &&
            (!event_is_nak_code(s, i, ROCE_NAK_REMOTE_ACCESS) ||
             e->msg_first == (uint32_t)(e - s->req) ||
             roce_opcode_has(event_opcode(s, e->event), ROCE_HDR_IETH)))
            s->fatal_nak = i;
        else if (!event_is_nak(s, i) && event->rel > later)
            later = event->rel;
    }
}

/* Captured copies of a request. */
struct copies {
    uint32_t latest; /* index in s->event */
    uint32_t more;   /* number of copies that no RNR NAK has refused yet */
};

/* Returns an array with one element for each event; NULL if out of memory. Each RNR NAK refuses one
 * copy of its request. An RNR NAK has a surplus copy if at least two captured copies of its request
 * were not refused by an earlier RNR NAK. The element of an RNR NAK with a surplus copy is the
 * index in s->event of the latest of these copies. All other elements are EVENT_NONE. The caller
 * frees the array. */
static uint32_t *find_surplus(const struct inferred_setup *s)
{
    uint32_t *surplus = malloc((s->event_cnt + 1) * sizeof(*surplus));
    struct copies *copies = calloc(s->req_cnt + 1, sizeof(*copies)); /* for each request packet */

    for (uint32_t i = 0; surplus && copies && i < s->event_cnt; i++) {
        const struct request_pkt *e = request_at(s, s->event[i].rel);
        struct copies *of = e && e->rel == s->event[i].rel ? &copies[e - s->req] : NULL;

        surplus[i] = EVENT_NONE;
        if (!of || !s->event[i].usable)
            continue;
        if (!s->event[i].response) {
            *of = (struct copies){.latest = i, .more = of->more + 1};
        } else if (event_is_syndrome(s, i, ROCE_SYN_RNR)) {
            if (of->more > 1)
                surplus[i] = of->latest;
            of->more -= of->more > 0;
        }
    }
    if (!copies) {
        free(surplus);
        surplus = NULL;
    }
    free(copies);
    return surplus;
}

/* Returns whether a response after RNR NAK `nak` shows that its request was executed. The response
 * must precede the next copy of the request, and its next RNR NAK. Then the responder executed the
 * surplus copy of `nak`, if there is one (find_surplus()). The requester had sent this copy before
 * it received the RNR NAK, because the round trip is longer than the ACK timeout. Reads at most
 * *left events and subtracts their number. */
static bool executed_behind(const struct inferred_setup *s, uint32_t nak, uint32_t *left)
{
    int64_t rel = s->event[nak].rel;

    for (uint32_t i = nak + 1; *left > 0 && i < s->event_cnt && i - nak < LOST_WINDOW; i++) {
        --*left;
        if (!s->event[i].usable)
            continue;
        if (s->event[i].rel == rel &&
            (!s->event[i].response || event_is_syndrome(s, i, ROCE_SYN_RNR)))
            return false;
        if (s->event[i].response && event_executed(s, i, rel) && request_table_msn_fits(s, i))
            return true;
    }
    return false;
}

uint32_t infer_loss_race_limit(const struct inferred_setup *s, uint32_t event, uint32_t earlier)
{
    uint64_t time = event_time(s, event);
    uint32_t limit = event;

    /* Begin at event `earlier` if it is in range: event times never decrease, so all events before
     * `earlier` are in range, too. */
    if (earlier > event && earlier - event <= REORDER_MAX_PACKETS &&
        event_time(s, earlier) - time <= REORDER_MAX_NS)
        limit = earlier;

    while (limit + 1 < s->event_cnt && limit - event < REORDER_MAX_PACKETS &&
           event_time(s, limit + 1) - time <= REORDER_MAX_NS)
        limit++;
    return limit;
}

bool infer_loss_raced(const struct inferred_setup *s, const struct request_pkt *e, uint32_t event)
{
    uint64_t time = event_time(s, event);

    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= REORDER_MAX_PACKETS &&
                                 event_time(s, i) - time <= REORDER_MAX_NS;
         i++)
        if (!s->event[i].response && s->event[i].rel == e->rel)
            return true;
    return false;
}

/* Sets no_recv_wqe of each request that found no receive WQE: the request that an RNR NAK names,
 * and all its earlier copies. Counts the RNR NAKs and finds their timer code. Returns false if out
 * of memory. */
static bool find_rnr(struct inferred_setup *s)
{
    uint32_t codes[32] = {0};
    struct keymap refused;
    uint32_t spared = EVENT_NONE; /* index into setup.event of a copy that the responder executed,
                                   * although an RNR NAK follows it */
    uint32_t left = BEHIND_READS_MAX;
    uint32_t *surplus = find_surplus(s);
    const struct request_pkt *e;
    bool ok = surplus;

    keymap_init(&refused, sizeof(int64_t));
    for (uint32_t i = (uint32_t)s->event_cnt; ok && i-- > 0;) {
        struct pkt_event *event = &s->event[i];

        if (!event->response) {
            event->no_recv_wqe = i != spared && keymap_get(&refused, &event->rel) != KEYMAP_NONE;
        } else if (event->usable && !event->before_first && event_is_syndrome(s, i, ROCE_SYN_RNR)) {
            codes[roce_syndrome_code(event_packet(s, i)->syndrome)]++;
            s->rnr_naks++;
            spared = EVENT_NONE;
            if (surplus[i] != EVENT_NONE && executed_behind(s, i, &left))
                spared = surplus[i];
            if (!request_table_msn_fits(s, i))
                continue;
            ok = keymap_add(&refused, &event->rel) != KEYMAP_NONE;
            e = request_at(s, event->rel);
            if (e && e->event > i && infer_loss_raced(s, e, i))
                s->event[e->event].no_recv_wqe = true;
        }
    }
    free(surplus);
    keymap_free(&refused);
    for (uint8_t i = 0; i < 32; i++)
        if (codes[i] > codes[s->rnr_code])
            s->rnr_code = i;
    return ok;
}

/* Returns the index into s->event of the next retransmission after response `answer`, or
 * EVENT_NONE. `high` is the highest PSN requested before the response. A request up to the highest
 * PSN requested so far is a retransmission. */
static uint32_t goes_back(const struct inferred_setup *s, uint32_t answer, int64_t high)
{
    for (uint32_t i = answer + 1; i < s->event_cnt && i - answer < LOST_WINDOW; i++) {
        if (s->event[i].response || !s->event[i].usable)
            continue;
        if (s->event[i].rel <= high)
            return i;
        high = s->event[i].rel;
    }
    return EVENT_NONE;
}

/* Returns whether a request followed a response soon enough to be the requester's reaction to
 * the response. */
static bool obeyed(const struct inferred_setup *s, uint32_t answer, uint32_t request)
{
    return event_time(s, request) - event_time(s, answer) <= NAK_OBEYED_NS;
}

/* Returns whether the requester retransmitted the NAKed PSN after event `nak`, although no copy of
 * the request was captured. Returns true in two cases: the capture has the rest of the
 * retransmission, from the PSN after the NAKed PSN on; or the requester stopped before it could
 * retransmit the NAKed PSN. */
static bool went_back(const struct inferred_setup *s, uint32_t nak)
{
    int64_t rel = s->event[nak].rel, high = rel;
    int64_t latest = INT64_MIN; /* relative PSN of the latest request before the NAK */
    uint32_t back;

    for (uint32_t i = nak; i-- > 0 && nak - i < LOST_WINDOW;) {
        if (s->event[i].response)
            continue;
        if (latest == INT64_MIN)
            latest = s->event[i].rel;
        if (s->event[i].rel > high)
            high = s->event[i].rel;
    }
    if (high == rel)
        return false; /* no later request was captured, so no out-of-order request explains the NAK
                       */
    /* If the latest request before the NAK was a retransmission, the next requests continue this
     * retransmission, and are no reaction to the NAK. */
    back = goes_back(s, nak, latest > rel ? latest : high);
    if (back != EVENT_NONE && s->event[back].rel > rel)
        return s->event[back].rel == rel + 1 && obeyed(s, nak, back);
    for (uint32_t i = nak + 1; i < s->event_cnt && i - nak < LOST_WINDOW; i++)
        if (s->event[i].response && s->event[i].usable && event_executed(s, i, rel))
            return false;
    return true;
}

/* Returns the index into s->event of the first copy of request `rel` after event `event`, or
 * EVENT_NONE. */
static uint32_t copy_after(const struct inferred_setup *s, uint32_t event, int64_t rel)
{
    for (uint32_t i = event + 1; i < s->event_cnt && i - event < LOST_WINDOW; i++)
        if (!s->event[i].response && s->event[i].usable && s->event[i].rel == rel)
            return i;
    return EVENT_NONE;
}

/* Returns an array with one element for each event. The element is the index in s->event of the
 * next transmission of the request with the PSN of the event, or EVENT_NONE. The caller frees the
 * array. Returns NULL if out of memory. */
static uint32_t *find_copies(const struct inferred_setup *s)
{
    uint32_t *copy = malloc((s->event_cnt + 1) * sizeof(*copy));
    uint32_t *next = malloc((s->req_cnt + 1) * sizeof(*next)); /* for each request packet */

    if (copy && next) {
        memset(next, 0xFF, s->req_cnt * sizeof(*next));
        for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
            const struct request_pkt *e = request_at(s, s->event[i].rel);
            bool names = e && e->rel == s->event[i].rel;

            copy[i] = names ? next[e - s->req] : EVENT_NONE;
            if (names && !s->event[i].response && s->event[i].usable)
                next[e - s->req] = i;
        }
    } else {
        free(copy);
        copy = NULL;
    }
    free(next);
    return copy;
}

/* Captured copies of a READ or atomic, and the responses to them. */
struct answered_copies {
    uint32_t copies, answers;
    uint32_t next; /* index into setup.event of the copy that the next response answers */
};

/* Returns the shortest time, ns, between the capture of a READ or atomic and of its response, for
 * requests with as many responses as copies: the n-th response answers the n-th copy. Returns
 * UINT64_MAX if there are none, or if out of memory. */
static uint64_t quickest_of_copies(const struct inferred_setup *s)
{
    struct answered_copies *of = calloc(s->req_cnt + 1, sizeof(*of)); /* for each request packet */
    uint32_t *copy = find_copies(s);
    uint64_t best = UINT64_MAX;

    for (unsigned pass = 0; of && copy && pass < 2; pass++)
        for (uint32_t i = 0; i < s->event_cnt; i++) {
            const struct request_pkt *e =
                s->event[i].usable ? request_at(s, s->event[i].rel) : NULL;
            struct answered_copies *at = e ? &of[e - s->req] : NULL;

            if (!at)
                continue;
            if (!s->event[i].response) {
                if (pass == 0 && s->event[i].rel == e->rel && at->copies++ == 0)
                    at->next = i;
            } else if (answers_begin(s, i, e)) {
                at->answers += pass == 0;
                if (pass == 0 || at->answers != at->copies || at->next >= i)
                    continue;
                if (event_time(s, i) - event_time(s, at->next) < best)
                    best = event_time(s, i) - event_time(s, at->next);
                at->next = copy[at->next];
            }
        }
    free(of);
    free(copy);
    return best;
}

/* Sets min_response_ns to the shortest time from a captured request to its response, or to 0 if
 * unknown. Uses requests with one captured copy. If there are none, uses READs and atomics with as
 * many responses as copies. Returns false if out of memory. */
static bool find_quickest(struct inferred_setup *s)
{
    uint32_t *copy = malloc((s->req_cnt + 1) * sizeof(*copy)); /* for each request packet: index
                                                                * into setup.event of its only copy
                                                                * so far; EVENT_NONE: no copy so
                                                                * far; SENT_TWICE: several copies */
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};               /* shortest time of responses with
                                                                * data, and of ACKs; ns */

    if (!copy)
        return false;
    memset(copy, 0xFF, s->req_cnt * sizeof(*copy));
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        const struct request_pkt *e = event->usable ? request_at(s, event->rel) : NULL;
        uint32_t *at = e ? &copy[e - s->req] : NULL;

        if (!at)
            continue;
        if (!event->response && event->rel == e->rel) {
            *at = *at == EVENT_NONE ? i : SENT_TWICE;
        } else if (event->response && *at < SENT_TWICE && !event_is_nak(s, i)) {
            uint64_t took = event_time(s, i) - event_time(s, *at);
            bool ack = event_opcode(s, i)->kind == ROCE_KIND_ACK;

            if (took < best[ack])
                best[ack] = took;
        }
    }
    /* Prefer the time of responses with data: a responder may delay ACKs (delayed ACK), but not
     * READ responses. */
    if (best[0] == UINT64_MAX)
        best[0] = best[1];
    if (best[0] == UINT64_MAX)
        best[0] = quickest_of_copies(s);
    s->min_response_ns = best[0] == UINT64_MAX ? 0 : best[0] - best[0] / JITTER;
    free(copy);
    return true;
}

/* Returns whether response `i` follows copy `copy` of request `e` quickly, after a much longer time
 * without responses. The long time shows that no earlier request was waiting for a response, so `i`
 * answers `copy`. Returns false if the requester sent another copy of `e` in that time, because `i`
 * may be a slow response to the other copy. */
static bool broke_silence(const struct inferred_setup *s, uint32_t i, uint32_t copy,
                          const struct request_pkt *e)
{
    uint64_t time = event_time(s, copy);

    for (uint32_t k = copy; k-- > 0 && copy - k < LOST_WINDOW;) {
        if (s->event[k].response)
            return event_time(s, i) - time < (time - event_time(s, k)) / SILENCE;
        if (s->event[k].usable && s->event[k].rel >= e->rel && s->event[k].rel <= s->event[i].rel)
            return false;
    }
    return false;
}

/* Returns whether response `i` answers a READ or atomic that the requester repeated after event
 * `from`. The result is false for a READ response First, because its MSN may count the READ or not
 * (R103). */
static bool answers_repeat(const struct inferred_setup *s, uint32_t i, uint32_t from,
                           const uint32_t *executed)
{
    const struct roce_opcode *op = event_opcode(s, i);
    const struct request_pkt *e = request_at(s, s->event[i].rel);
    unsigned copies = 0, answers = 0;
    bool repeated = false;

    if (!e || (op->kind != ROCE_KIND_ATOMIC_ACK && op->kind != ROCE_KIND_READ_RESP) ||
        !roce_opcode_has(op, ROCE_HDR_AETH) || op->pos == ROCE_POS_FIRST)
        return false;
    /* The search ends at the executed copy: earlier copies arrived out of order, so the responder
     * did not answer them. */
    for (uint32_t k = i + 1; k-- > executed[e - s->req] && i - k < LOST_WINDOW;) {
        if (s->event[k].response) {
            answers += s->event[k].rel == s->event[i].rel && /* a damaged response counts too */
                       event_opcode(s, k)->kind == op->kind;
        } else if (s->event[k].usable && s->event[k].rel >= e->rel &&
                   s->event[k].rel <= s->event[i].rel && event_in_time(s, i, k)) {
            copies++;
            if (k <= from)
                continue;
            if (!repeated && broke_silence(s, i, k, e))
                return true;
            repeated = true;
        }
    }
    return repeated && answers >= copies;
}

bool infer_loss_is_shown(const struct inferred_setup *s, uint32_t from, uint32_t to, int64_t rel,
                         bool before)
{
    for (uint32_t i = from + 1; i < s->event_cnt && i - from < LOST_WINDOW &&
                                (i < to || (!before && !event_in_time(s, i, to)));
         i++)
        if (s->event[i].response && s->event[i].usable && !s->event[i].before_first &&
            event_executed(s, i, rel) && request_table_msn_fits(s, i))
            return true;
    return false;
}

/*
 * Returns the request packet that was lost between the capture point and the responder, as the MSN
 * of response `i` shows, or req_cnt.
 *
 * Response `i` answers a repeated READ or atomic. Its MSN counts fewer messages than the requester
 * had sent before the repetition. The first message that the MSN does not count was lost if two
 * conditions hold: the requester retransmitted it, and no earlier response shows its execution.
 */
static size_t uncounted(const struct inferred_setup *s, uint32_t i, size_t next,
                        const uint32_t *executed, int64_t proved)
{
    uint32_t count = (event_packet(s, i)->msn - s->msn) & ROCE_PSN_MASK;
    size_t k = next;
    uint32_t copy;

    if (!roce_opcode_has(event_opcode(s, i), ROCE_HDR_AETH) || next == 0 ||
        count >= s->req[next - 1].msgs_done)
        return s->req_cnt;
    while (k > 0 && s->req[k - 1].msgs_done > count)
        k--;
    if (k == 0 || s->req[k - 1].msgs_done != count || s->req[k].rel <= s->event[i].rel ||
        s->req[k].rel <= proved || !answers_repeat(s, i, executed[k], executed))
        return s->req_cnt;
    copy = copy_after(s, executed[k], s->req[k].rel);
    if (copy == EVENT_NONE || infer_loss_is_shown(s, executed[k], copy, s->req[k].rel, false))
        return s->req_cnt;
    return k;
}

/* Returns whether the capture has, between the events `from` and `to`, a request with a later PSN
 * than `rel` and then another copy of request `rel`. If `from` is a lost copy of `rel`, the request
 * with the later PSN caused a sequence NAK, and the other copy of `rel` reached the responder. */
static bool came_again(const struct inferred_setup *s, uint32_t from, uint32_t to, int64_t rel)
{
    bool later = false;

    for (uint32_t i = from + 1; i < to && i - from < LOST_WINDOW; i++) {
        if (s->event[i].response || !s->event[i].usable)
            continue;
        if (later && s->event[i].rel == rel)
            return true;
        later |= s->event[i].rel > rel;
    }
    return false;
}

/* Returns whether the requester retransmitted the NAKed request earlier than the timer of an RNR
 * NAK permits. */
static bool is_hasty(const struct inferred_setup *s, uint32_t nak)
{
    uint32_t copy = copy_after(s, nak, s->event[nak].rel);

    return copy != EVENT_NONE &&
           event_time(s, copy) - event_time(s, nak) < roce_rnr_ns(s->rnr_code) / 2;
}

/* Returns whether an RNR NAK is the next response to the PSN of NAK `nak`, and no other copy of the
 * request was captured before that RNR NAK. */
static bool is_refused_next(const struct inferred_setup *s, uint32_t nak)
{
    int64_t rel = s->event[nak].rel;

    for (uint32_t i = nak + 1; i < s->event_cnt && i - nak < LOST_WINDOW; i++)
        if (s->event[i].usable && s->event[i].rel == rel)
            return s->event[i].response && event_is_syndrome(s, i, ROCE_SYN_RNR);
    return false;
}

/* Finds requests that were lost between the capture point and the responder. The evidence is a
 * sequence NAK for a PSN which, according to the capture, the responder had already received. Two
 * more conditions must hold: no earlier response shows that the PSN was executed, and the requester
 * retransmits the PSN. Returns false if out of memory. */
static bool find_lost(struct inferred_setup *s)
{
    uint32_t *executed =
        malloc((s->req_cnt + 1) * sizeof(*executed)); /* for each request packet: index into
                                                       * setup.event of the copy that was
                                                       * executed */
    uint32_t *copy = find_copies(s);
    unsigned searches = 0;
    uint64_t effort = 0;
    uint32_t waiting = EVENT_NONE; /* index into setup.event of a copy of request `next` that found
                                    * no receive WQE, as an RNR NAK shows; EVENT_NONE if there is
                                    * none */
    uint32_t before = EVENT_NONE;  /* index into setup.event of an earlier copy than `waiting` that
                                    * also found no receive WQE, or EVENT_NONE */
    size_t asked = SIZE_MAX;       /* index of the request packet that lost a copy last */
    int64_t proved = INT64_MIN;
    size_t next = 0; /* index of the request packet that the responder expects */
    uint8_t *owed = calloc(s->req_cnt + 1, 1); /* for each request packet: the responder has yet to
                                                * send a sequence NAK for it, because a later
                                                * request arrived first */
    bool stalled = false; /* a request after `next` was captured before `next` (out of order) */
    bool naked = false;   /* the responder has sent a sequence NAK for request `next` */

    if (!executed || !owed || !copy) {
        free(executed);
        free(owed);
        free(copy);
        return false;
    }
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event *event = &s->event[i];
        const struct request_pkt *e;

        if (!event->usable || event->before_first)
            continue;
        if (!event->response) {
            if (next < s->req_cnt && event->rel == s->req[next].rel && !event->lost &&
                event->no_recv_wqe) {
                before = waiting;
                waiting = i;
            }
            if (next < s->req_cnt && event->rel == s->req[next].rel && !event->lost &&
                !event->no_recv_wqe) {
                owed[next] = stalled && !naked;
                naked = false;
                executed[next++] = i;
                stalled = false;
                before = waiting = EVENT_NONE;
            }
            stalled |= next < s->req_cnt && event->rel > s->req[next].rel;
            continue;
        }
        if (!event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) || !request_table_msn_fits(s, i)) {
            size_t k = uncounted(s, i, next, executed, proved);

            if (k < s->req_cnt && effort < LOST_WINDOW * UINT64_C(64)) {
                s->event[executed[k]].lost = true;
                effort += i - executed[k];
                next = k;
                i = executed[k];
                stalled = false;
                continue;
            }
            if (event_executed_to(s, i) > proved &&
                (event_opcode(s, i)->kind != ROCE_KIND_ACK || request_table_msn_fits(s, i)))
                proved = event_executed_to(s, i);
            if (event_is_syndrome(s, i, ROCE_SYN_RNR))
                before = waiting = EVENT_NONE;
            continue;
        }
        e = request_at(s, event->rel);
        naked |= e && (size_t)(e - s->req) == next;
        /* The retransmitted request found no receive WQE, according to the capture, so the
         * responder should have sent an RNR NAK. Instead the responder sent a sequence NAK. So the
         * retransmitted copy was lost, and a later request caused the sequence NAK. But if an RNR
         * NAK follows, the retransmitted copy arrived after that later request, and only the
         * previous copy was lost. */
        if (e && waiting != EVENT_NONE && event->rel == s->event[waiting].rel &&
            (stalled || is_hasty(s, i))) {
            if (before != EVENT_NONE && is_refused_next(s, i)) {
                s->event[before].lost = true;
                before = EVENT_NONE;
                continue;
            }
            s->event[waiting].lost = true;
            waiting = EVENT_NONE;
            continue;
        }
        if (!e || e->rel != event->rel || (size_t)(e - s->req) >= next || proved >= e->rel ||
            (copy[i] == EVENT_NONE && copy[executed[e - s->req]] > i &&
             (stalled || ++searches > SEARCHES_MAX || !went_back(s, i))))
            continue;
        /* This sequence NAK does not show a loss: a later request was captured before the NAKed
         * request, so the responder had to send the NAK. */
        if (owed[e - s->req]) {
            owed[e - s->req] = 0;
            continue;
        }
        /* Ignore this NAK if a later response shows that the responder executed the copy captured
         * before the NAK. One cause is that an earlier copy was lost, and a request after the lost
         * copy caused the NAK. The other cause is that the network delayed the copy, so that a
         * later request overtook it. In the second case, the response must precede the next
         * copy. */
        if (!came_again(s, executed[e - s->req], i, e->rel) &&
            infer_loss_is_shown(s, i, copy[i], e->rel, (size_t)(e - s->req) != asked))
            continue;
        if (effort <= LOST_WINDOW * UINT64_C(64) &&
            answers_show_arrival(s, executed[e - s->req], i, copy[i], &effort)) {
            event->needless = true;
            continue;
        }
        next = asked = (size_t)(e - s->req);
        s->event[executed[next]].lost = true;
        /* The requests captured after the lost copy reached the responder out of order, so examine
         * them again. */
        effort += i - executed[next];
        if (effort > LOST_WINDOW * UINT64_C(64))
            break;
        i = executed[next];
        stalled = false;
    }
    s->may_arrive_late = next == asked;
    free(owed);
    free(executed);
    free(copy);
    return true;
}

/* Returns whether at least REPEATS_SURE copies of this ACK follow it. Several equal ACKs are not
 * the result of one altered packet. */
static bool is_repeated(const struct inferred_setup *s, uint32_t event)
{
    const struct trace_packet *p = event_packet(s, event);
    unsigned same = 0;

    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= REPEAT_WINDOW; i++)
        same += s->event[i].response && s->event[i].usable &&
                s->event[i].rel == s->event[event].rel && event_is_syndrome(s, i, ROCE_SYN_ACK) &&
                event_packet(s, i)->msn == p->msn;
    return same >= REPEATS_SURE;
}

/*
 * Returns whether a response proves the execution of the requests that its PSN and MSN acknowledge.
 * An altered response proves nothing, so all of these conditions must hold.
 *
 * - The PSN and the MSN of the response agree.
 * - The kind of the response fits the request.
 * - For an ACK or NAK: all requests up to its PSN were captured before.
 * - After an ACK, the requester does not retransmit acknowledged requests. After a NAK, the
 *   requester retransmits the NAKed PSN.
 */
static bool is_proof(const struct inferred_setup *s, uint32_t event, int64_t high, int64_t expected)
{
    const struct request_pkt *e = request_at(s, event_executed_to(s, event));
    const struct roce_opcode *op = event_opcode(s, event);
    int64_t rel = s->event[event].rel;
    uint32_t back;

    if (!request_table_msn_fits(s, event) || !e)
        return false;
    if (op->kind == ROCE_KIND_READ_RESP)
        return trace_draws_read_response(event_opcode(s, e->event)->kind);
    if (op->kind == ROCE_KIND_ATOMIC_ACK)
        return roce_opcode_is_atomic(event_opcode(s, e->event));
    if (rel > high)
        return false;
    /* An ACK inside a message repeats the MSN of the previous message, so that MSN proves
     * nothing. */
    if (event_is_syndrome(s, event, ROCE_SYN_ACK) && !event_packet(s, e->event)->ackreq &&
        event_packet(s, event)->msn == request_table_msn(s, expected - 1) && !is_repeated(s, event))
        return false;
    back = goes_back(s, event, high);
    if (back == EVENT_NONE || !obeyed(s, event, back))
        return true;
    if (event_is_syndrome(s, event, ROCE_SYN_RNR))
        return s->event[back].rel <= rel;
    return (s->event[back].rel == rel) == event_is_nak(s, event);
}

/* Finds requests that, according to a response, were executed before any copy of them was captured.
 * Adds these requests to executed_unseen. Returns false if out of memory. */
static bool find_ahead(struct inferred_setup *s)
{
    size_t next = 0; /* index of the request packet that the responder expects next */
    int64_t high = INT64_MIN;
    unsigned looks = 0;

    for (uint32_t i = 0; i < s->event_cnt && next < s->req_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        bool response = event->response;

        if (!event->usable || event->before_first)
            continue;
        if (!response && event->rel > high)
            high = event->rel;
        if (!response && !event->lost && !event->no_recv_wqe && event->rel == s->req[next].rel &&
            ++next == s->req_cnt)
            break;
        if (!response || s->req[next].rel > event_executed_to(s, i) || ++looks > PROOFS_MAX ||
            !is_proof(s, i, high, s->req[next].rel))
            continue;
        while (next < s->req_cnt && s->req[next].rel <= event_executed_to(s, i) &&
               !s->req[next].invalid && !infer_loss_raced(s, &s->req[next], i)) {
            if (!VEC_GROW(s->executed_unseen, s->executed_unseen_cnt, s->executed_unseen_cap))
                return false;
            s->executed_unseen[s->executed_unseen_cnt++] =
                (struct executed_unseen){.event = s->req[next].event, .response = i};
            next++;
        }
    }
    return true;
}

/* Returns whether all requests were captured once and in PSN order, and no response is a NAK. Then
 * the responder refused no request, and no request was lost between the capture point and the
 * responder. */
static bool is_clean(const struct inferred_setup *s)
{
    int64_t high = INT64_MIN;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        const struct request_pkt *e;

        if (event->response && event_is_nak(s, i))
            return false;
        if (event->response)
            continue;
        e = request_at(s, event->rel);
        if (!event->usable || event->rel <= high || !e || e->event != i)
            return false;
        high = event->rel;
    }
    return true;
}

bool infer_loss(struct inferred_setup *s)
{
    if (is_clean(s)) {
        s->fatal_nak = EVENT_NONE;
        s->may_arrive_late = false;
        return find_quickest(s) && find_ahead(s);
    }
    find_refusal(s);
    return find_quickest(s) && find_rnr(s) && find_lost(s) && find_ahead(s);
}
