/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/match_responses.h"

#include <stdlib.h>
#include <string.h>

/* What is needed to link answers to requests. */
struct links {
    uint32_t *latest; /* request, per entry */
    uint32_t *before; /* earlier copy, per request */
    uint32_t *last;   /* answer, per request */
    uint32_t *claim;  /* answer, per place in an answer that was claimed: */
    size_t claim_cap;
    struct keymap claims; /* struct claim */
};

/* A place in the answer to a READ request. */
struct claim {
    int64_t rel;
    int64_t request;
};

static bool links_init(struct links *l, const struct setup *s)
{
    *l = (struct links){.latest = malloc((s->entry_cnt + 1) * sizeof(*l->latest)),
                        .before = malloc((s->step_cnt + 1) * sizeof(*l->before)),
                        .last = malloc((s->step_cnt + 1) * sizeof(*l->last))};
    keymap_init(&l->claims, sizeof(struct claim));
    if (!l->latest || !l->before || !l->last)
        return false;
    memset(l->latest, 0xFF, (s->entry_cnt + 1) * sizeof(*l->latest));
    memset(l->before, 0xFF, (s->step_cnt + 1) * sizeof(*l->before));
    memset(l->last, 0xFF, (s->step_cnt + 1) * sizeof(*l->last));
    return true;
}

static void links_free(struct links *l)
{
    free(l->latest);
    free(l->before);
    free(l->last);
    free(l->claim);
    keymap_free(&l->claims);
}

/* The latest copy of the READ, in time for the answer and with its PSN; where none is in time, the
 * latest with its PSN; STEP_NONE if there is none. */
static uint32_t asked_by(const struct setup *s, const struct links *l, const struct entry *e,
                         uint32_t answer)
{
    uint32_t any = STEP_NONE;
    unsigned tries = 0;

    for (uint32_t req = l->latest[e - s->entry]; req != STEP_NONE && tries < 16;
         req = l->before[req], tries++) {
        if (s->step[req].rel > s->step[answer].rel)
            continue;
        if (setup_in_time(s, answer, req))
            return req;
        if (any == STEP_NONE)
            any = req;
    }
    return any;
}

/* Whether the wire may have made two of one. */
static bool are_alike(const struct setup *s, uint32_t a, uint32_t b)
{
    const struct trace_packet *x = setup_packet(s, a), *y = setup_packet(s, b);

    return x->opcode == y->opcode && x->msn == y->msn && x->payload_len == y->payload_len &&
           memcmp(trace_payload(x), trace_payload(y), x->payload_len) == 0;
}

/* An answer takes its place. A responder answers in order: another that had this place came from
 * the copy before, unless that has such an answer too. False without memory. */
static bool take_place(struct setup *s, struct links *l, uint32_t answer, uint32_t request)
{
    struct claim key = {.rel = s->step[answer].rel, .request = request};
    uint32_t at = keymap_get(&l->claims, &key);

    if (at != KEYMAP_NONE) {
        uint32_t before = l->before[request];
        uint32_t was = l->claim[at];

        key.request = before;
        if (before != STEP_NONE && s->step[before].rel <= key.rel && !are_alike(s, was, answer) &&
            keymap_get(&l->claims, &key) == KEYMAP_NONE && !take_place(s, l, was, before))
            return false;
    } else {
        at = keymap_add(&l->claims, &key);
        if (at == KEYMAP_NONE || !VEC_GROW(l->claim, at, l->claim_cap))
            return false;
    }
    l->claim[at] = answer;
    s->step[answer].request = request;
    return true;
}

/* Which READ request each READ response answers. */
static bool link_requests(struct setup *s, struct links *l)
{
    size_t ahead = 0;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        const struct entry *e = setup_entry(s, step->rel);
        enum roce_kind kind = setup_op(s, i)->kind;
        uint32_t req;

        for (; ahead < s->ahead_cnt && s->ahead[ahead].at == i; ahead++) {
            const struct entry *a = setup_entry(s, s->step[s->ahead[ahead].step].rel);

            if (trace_draws_read_response(setup_op(s, s->ahead[ahead].step)->kind))
                l->latest[a - s->entry] = s->ahead[ahead].step;
        }
        if (!e || !step->usable)
            continue;
        if (!step->response && trace_draws_read_response(kind) &&
            setup_op(s, e->step)->kind == kind) {
            if (l->latest[e - s->entry] != i)
                l->before[i] = l->latest[e - s->entry];
            l->latest[e - s->entry] = i;
        }
        if (kind == ROCE_KIND_ATOMIC_ACK && e->answer == STEP_NONE)
            s->entry[e - s->entry].answer = i;
        if (kind != ROCE_KIND_READ_RESP || setup_is_nak(s, i))
            continue;
        req = asked_by(s, l, e, i);
        if (req != STEP_NONE && !take_place(s, l, i, req))
            return false;
    }
    return true;
}

bool links_find(struct setup *s)
{
    struct links l;
    bool ok = links_init(&l, s) && link_requests(s, &l);

    for (uint32_t i = 0; ok && i < s->step_cnt; i++) {
        uint32_t req = s->step[i].request;

        if (!s->step[i].response || req == STEP_NONE)
            continue;
        if (l.last[req] == STEP_NONE)
            s->step[req].answer = i;
        else
            s->step[l.last[req]].answer = i;
        l.last[req] = i;
    }
    links_free(&l);
    return ok;
}
