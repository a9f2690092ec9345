/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/match_responses.h"

#include <stdlib.h>
#include <string.h>
#include "infer/infer_loss.h"
#include "infer/request_table.h"

/* Maximum number of copies of a READ request in which the search for the answered copy looks. */
#define COPIES_MAX 64u

/* Tables that link responses to requests. */
struct links {
    uint32_t *latest; /* for each request packet: index into setup.event of the latest copy of the
                       * request */
    uint32_t *before; /* for each request event: index into setup.event of the previous copy of the
                       * request */
    uint32_t *lower;  /* for each request event: latest earlier copy that begins at a lower PSN */
    uint32_t *older;  /* for each request event: latest earlier copy with a lower `msgs` */
    uint32_t *msgs;   /* for each request event: number of messages that the responder had completed
                       * when it received this copy. For each response event: maximum of `msgs` of
                       * the copies that the response can answer */
    uint32_t *last;  /* for each request event: index into setup.event of the last response to it */
    uint32_t *claim; /* one element for each key of `claims`: index into setup.event of the
                      * response that was assigned to the key */
    size_t claim_cap;
    struct keymap claims; /* keys of type struct claim */
};

/* PSN in the response to one READ request. At most one recorded response is assigned to this PSN of
 * this request. */
struct claim {
    int64_t rel;
    int64_t request;
};

static bool links_init(struct links *l, const struct inferred_setup *s)
{
    *l = (struct links){.latest = malloc((s->req_cnt + 1) * sizeof(*l->latest)),
                        .before = malloc((s->event_cnt + 1) * sizeof(*l->before)),
                        .lower = malloc((s->event_cnt + 1) * sizeof(*l->lower)),
                        .older = malloc((s->event_cnt + 1) * sizeof(*l->older)),
                        .msgs = malloc((s->event_cnt + 1) * sizeof(*l->msgs)),
                        .last = malloc((s->event_cnt + 1) * sizeof(*l->last))};
    keymap_init(&l->claims, sizeof(struct claim));
    if (!l->latest || !l->before || !l->lower || !l->older || !l->msgs || !l->last)
        return false;
    memset(l->latest, 0xFF, (s->req_cnt + 1) * sizeof(*l->latest));
    memset(l->before, 0xFF, (s->event_cnt + 1) * sizeof(*l->before));
    memset(l->msgs, 0xFF, (s->event_cnt + 1) * sizeof(*l->msgs));
    memset(l->last, 0xFF, (s->event_cnt + 1) * sizeof(*l->last));
    return true;
}

static void links_free(struct links *l)
{
    free(l->latest);
    free(l->before);
    free(l->lower);
    free(l->older);
    free(l->msgs);
    free(l->last);
    free(l->claim);
    keymap_free(&l->claims);
}

/* Packet of the response to a READ that count_messages() read last. The function reads the packets
 * in reverse order. */
struct train {
    int64_t rel;   /* relative PSN of the packet */
    uint32_t msgs; /* messages that the MSN of the response counts; UINT32_MAX if unknown */
};

/* Sets l->msgs of each READ response to the number of messages that its MSN counts. Most packets of
 * a READ response have no MSN, but the last one has. Returns false if out of memory. */
static bool count_messages(const struct inferred_setup *s, struct links *l)
{
    struct train *trains = malloc((s->req_cnt + 1) * sizeof(*trains)); /* for each request packet */

    if (!trains)
        return false;
    for (size_t i = 0; i < s->req_cnt; i++)
        trains[i].rel = INT64_MIN;
    for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
        const struct pkt_event *event = &s->event[i];
        const struct request_pkt *e = request_at(s, event->rel);
        struct train *next = e ? &trains[e - s->req] : NULL;

        if (!next || !event->response || !event->usable ||
            event_opcode(s, i)->kind != ROCE_KIND_READ_RESP)
            continue;
        if (trace_counts_messages(event_opcode(s, i)))
            next->msgs = (event_packet(s, i)->msn - s->msn) & ROCE_PSN_MASK;
        else if (next->rel != event->rel && next->rel != event->rel + 1)
            next->msgs = UINT32_MAX;
        next->rel = event->rel;
        l->msgs[i] = next->msgs;
    }
    free(trains);
    return true;
}

/* Adds the copy of READ `e` at event `copy`. `next` is the index of the request packet that the
 * responder expects after it. */
static void add_copy(const struct inferred_setup *s, struct links *l, const struct request_pkt *e,
                     uint32_t copy, size_t next)
{
    uint32_t before = l->latest[e - s->req], at = before;

    if (l->msgs[copy] != UINT32_MAX)
        return; /* the responder executed the request before this copy was captured */
    l->latest[e - s->req] = copy;
    l->msgs[copy] = next ? s->req[next - 1].msgs_done : 0;
    l->before[copy] = before;
    while (at != EVENT_NONE && s->event[at].rel >= s->event[copy].rel)
        at = l->lower[at];
    l->lower[copy] = at;
    for (at = before; at != EVENT_NONE && l->msgs[at] >= l->msgs[copy];)
        at = l->older[at];
    l->older[copy] = at;
}

/* Returns the latest copy, from `copy` on backwards, that contains the PSN of response `answer` and
 * that the responder received after at most `msgs` messages, or EVENT_NONE. */
static uint32_t latest_of(const struct inferred_setup *s, const struct links *l, uint32_t copy,
                          uint32_t answer, uint32_t msgs)
{
    for (unsigned tries = 0; copy != EVENT_NONE && tries < COPIES_MAX; tries++) {
        if (s->event[copy].rel > s->event[answer].rel)
            copy = l->lower[copy];
        else if (l->msgs[copy] > msgs)
            copy = l->older[copy];
        else
            return copy;
    }
    return EVENT_NONE;
}

/* Returns the index into s->event of the READ request that a response answers. `e` is the entry of
 * the READ in s->req. Prefers the latest copy of the READ that contains the PSN and precedes the
 * response by at least the shortest response time. Otherwise returns the latest copy with the PSN,
 * or EVENT_NONE. `msgs` is the number of messages that the MSN of the response counts. Ignores
 * copies that the responder received after it had completed more messages. */
static uint32_t asked_by(const struct inferred_setup *s, const struct links *l,
                         const struct request_pkt *e, uint32_t answer, uint32_t msgs)
{
    uint32_t any = EVENT_NONE, req = latest_of(s, l, l->latest[e - s->req], answer, msgs);

    for (unsigned tries = 0; req != EVENT_NONE && tries < COPIES_MAX; tries++) {
        if (event_in_time(s, answer, req) && !s->event[req].early)
            return req;
        if (any == EVENT_NONE || s->event[any].early)
            any = req;
        req = latest_of(s, l, l->before[req], answer, msgs);
    }
    /* If no copy fits the MSN, the MSN is wrong. Then search again without it. */
    return any == EVENT_NONE && msgs != UINT32_MAX ? asked_by(s, l, e, answer, UINT32_MAX) : any;
}

/* Returns whether the network may have made one of the two packets as a duplicate of the other. */
static bool are_alike(const struct inferred_setup *s, uint32_t a, uint32_t b)
{
    const struct trace_packet *x = event_packet(s, a), *y = event_packet(s, b);

    return x->opcode == y->opcode && x->msn == y->msn && x->payload_len == y->payload_len &&
           memcmp(trace_payload(x), trace_payload(y), x->payload_len) == 0;
}

static bool is_claimed(const struct links *l, int64_t rel, uint32_t request)
{
    const struct claim key = {.rel = rel, .request = request};

    return keymap_get(&l->claims, &key) != KEYMAP_NONE;
}

/* Returns the copy of a READ request that a response answers, if asked_by() returned `request`. If
 * earlier responses answer `request` and all copies before it, this response answers the next copy.
 * Such a response arrived faster than the shortest response time. */
static uint32_t next_unanswered(const struct inferred_setup *s, const struct links *l,
                                const struct request_pkt *e, uint32_t answer, uint32_t request)
{
    int64_t rel = s->event[answer].rel;
    uint32_t found = request, req = request;
    unsigned tries = 0;
    struct claim key = {.rel = rel, .request = request};
    uint32_t at = keymap_get(&l->claims, &key);

    if (at == KEYMAP_NONE || are_alike(s, l->claim[at], answer))
        return request;
    for (; req != EVENT_NONE && tries < COPIES_MAX; req = l->before[req], tries++)
        if (s->event[req].rel <= rel && !s->event[req].early && !is_claimed(l, rel, req))
            return request; /* take_place() moves the earlier response to copy `req` */
    tries = 0;
    for (req = l->latest[e - s->req]; req != EVENT_NONE && req != request && tries < COPIES_MAX;
         req = l->before[req], tries++)
        if (s->event[req].rel <= rel && l->msgs[req] <= l->msgs[answer] && !s->event[req].early &&
            !is_claimed(l, rel, req))
            found = req;
    return found;
}

/* Records `answer` as the response to `request` for its PSN. If `request` already has a response
 * for this PSN, the earlier response must answer the previous copy of the request, because a
 * responder answers in order. So the function moves the earlier response to the previous copy,
 * unless the previous copy has a response. Returns false if out of memory. */
static bool take_place(struct inferred_setup *s, struct links *l, uint32_t answer, uint32_t request)
{
    struct claim key = {.rel = s->event[answer].rel, .request = request};
    uint32_t at = keymap_get(&l->claims, &key);

    if (at != KEYMAP_NONE) {
        uint32_t before = l->before[request];
        uint32_t was = l->claim[at];

        key.request = before;
        if (before != EVENT_NONE && s->event[before].rel <= key.rel && !are_alike(s, was, answer) &&
            keymap_get(&l->claims, &key) == KEYMAP_NONE && !take_place(s, l, was, before))
            return false;
    } else {
        at = keymap_add(&l->claims, &key);
        if (at == KEYMAP_NONE || !VEC_GROW(l->claim, at, l->claim_cap))
            return false;
    }
    l->claim[at] = answer;
    s->event[answer].request = request;
    return true;
}

/* Finds the READ request that each READ response answers. Returns false if out of memory. */
static bool link_requests(struct inferred_setup *s, struct links *l)
{
    size_t ahead = 0;
    size_t next = 0; /* index of the request packet that the responder expects */

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        const struct request_pkt *e = request_at(s, event->rel);
        enum roce_kind kind = event_opcode(s, i)->kind;
        uint32_t req;

        for (; ahead < s->executed_unseen_cnt && s->executed_unseen[ahead].response == i; ahead++) {
            const struct request_pkt *a =
                request_at(s, s->event[s->executed_unseen[ahead].event].rel);

            if ((size_t)(a - s->req) >= next)
                next = (size_t)(a - s->req) + 1;
            if (trace_draws_read_response(event_opcode(s, s->executed_unseen[ahead].event)->kind))
                add_copy(s, l, a, s->executed_unseen[ahead].event, next);
        }
        if (!e || !event->usable)
            continue;
        if (!event->response && !event->lost && !event->no_recv_wqe && !event->before_first &&
            next < s->req_cnt && event->rel == s->req[next].rel)
            next++;
        s->event[i].early = !event->response && (size_t)(e - s->req) >= next;
        if (!event->response && !event->lost && trace_draws_read_response(kind) &&
            event_opcode(s, e->event)->kind == kind)
            add_copy(s, l, e, i, next);
        if (kind == ROCE_KIND_ATOMIC_ACK && e->first_response == EVENT_NONE)
            s->req[e - s->req].first_response = i;
        if (kind != ROCE_KIND_READ_RESP || event_is_nak(s, i))
            continue;
        req = asked_by(s, l, e, i, l->msgs[i]);
        if (req == EVENT_NONE && e->event > i && infer_loss_raced(s, e, i))
            req = e->event;
        if (req != EVENT_NONE && !take_place(s, l, i, next_unanswered(s, l, e, i, req)))
            return false;
    }
    return true;
}

bool match_responses(struct inferred_setup *s)
{
    struct links l;
    bool ok = links_init(&l, s) && count_messages(s, &l) && link_requests(s, &l);

    for (uint32_t i = 0; ok && i < s->event_cnt; i++) {
        uint32_t req = s->event[i].request;

        if (!s->event[i].response || req == EVENT_NONE)
            continue;
        if (l.last[req] == EVENT_NONE)
            s->event[req].next_response = i;
        else
            s->event[l.last[req]].next_response = i;
        l.last[req] = i;
    }
    links_free(&l);
    return ok;
}
