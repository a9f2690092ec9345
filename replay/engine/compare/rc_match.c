/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_match.h"

#include <string.h>
#include "engine/reasons/rc_response_case.h"
#include "wire/codes.h"

/* Number of latest responses that first_from() examines before its binary search. */
#define LATEST 4u

void rc_match_fields(const struct response_cmp *cmp, const struct trace_packet *p,
                     const struct tx_response *ours, struct field_diffs *d)
{
    field_diff_compare(p, ours, cmp->dir->setup.read_first_msn, d);
}

int rc_match_order(const void *a, const void *b)
{
    const struct response_by_psn *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

/* Returns the index of the first entry of by_psn that sorts at or after PSN `rel` and response
 * index `idx`. */
static size_t first_from(const struct response_cmp *cmp, int64_t rel, size_t idx)
{
    const struct response_by_psn key = {.rel = rel, .idx = (uint32_t)idx};
    size_t low = 0, high = cmp->dir->response_cnt, at = idx;

    /* It is usually one of the latest responses. */
    if (at == high || (at < high && rc_match_order(&cmp->by_psn[at], &key) >= 0)) {
        for (unsigned i = 0; i < LATEST && at > 0; i++, at--)
            if (rc_match_order(&cmp->by_psn[at - 1], &key) < 0)
                return at;
        high = at;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (rc_match_order(&cmp->by_psn[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Returns whether a recorded response and a response of our RNIC have the same class: READ
 * response, Atomic ACK, NAK or ACK. */
static bool same_class(const struct trace_packet *p, const struct tx_response *a)
{
    return roce_opcode(p->opcode)->kind == roce_opcode(a->opcode)->kind &&
           response_is_nak(p->opcode, p->syndrome) == response_is_nak(a->opcode, a->syndrome);
}

struct tx_response *rc_match_at(const struct response_cmp *cmp, uint32_t event, bool same,
                                bool unused, struct field_diffs *out)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    int64_t rel = cmp->dir->setup.event[event].rel;
    struct tx_response *best = NULL;
    size_t end = first_from(cmp, rel, cmp->responses_out);

    for (size_t i = end; i-- > 0 && cmp->by_psn[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct tx_response *a = &cmp->dir->response[cmp->by_psn[i].idx];
        struct field_diffs d;

        if ((same && !same_class(p, a)) || (unused && a->matched))
            continue;
        rc_match_fields(cmp, p, a, &d);
        if (!best || d.cnt < out->cnt) {
            best = a;
            field_diffs_copy(out, &d);
        }
    }
    return best;
}

struct tx_response *rc_match_recent(const struct response_cmp *cmp, uint32_t event,
                                    struct field_diffs *out)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    struct tx_response *best = NULL;

    for (size_t i = cmp->responses_out; i-- > 0 && cmp->responses_out - i <= COMPARE_RECENT;) {
        struct tx_response *a = &cmp->dir->response[i];
        struct field_diffs d;

        rc_match_fields(cmp, p, a, &d);
        if (!best || d.cnt < out->cnt || (d.cnt == out->cnt && best->matched && !a->matched)) {
            best = a;
            field_diffs_copy(out, &d);
        }
    }
    return best;
}

bool rc_match_is_used_up(const struct response_cmp *cmp, uint32_t event)
{
    int64_t rel = cmp->dir->setup.event[event].rel;
    size_t end = first_from(cmp, rel, cmp->responses_out);

    for (size_t i = end; i-- > 0 && cmp->by_psn[i].rel == rel && end - i <= COMPARE_RECENT;)
        if (!cmp->dir->response[cmp->by_psn[i].idx].matched)
            return false;
    return end > 0 && cmp->by_psn[end - 1].rel == rel;
}

bool rc_match_comes_later(const struct response_cmp *cmp, uint32_t event,
                          const struct tx_response *a)
{
    const struct inferred_setup *s = &cmp->dir->setup;

    for (uint32_t i = event + 1; i < s->event_cnt && i - event <= COMPARE_RECENT; i++) {
        struct field_diffs d;

        if (!s->event[i].response || !s->event[i].usable || s->event[i].rel != a->rel)
            continue;
        rc_match_fields(cmp, event_packet(s, i), a, &d);
        if (d.cnt == 0)
            return true;
    }
    return false;
}

bool rc_match_has_other_psn(const struct response_cmp *cmp, uint32_t event)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);

    for (size_t i = cmp->responses_out; i-- > 0 && cmp->responses_out - i <= COMPARE_RECENT;) {
        const struct tx_response *a = &cmp->dir->response[i];
        struct field_diffs d;

        if (a->matched || a->psn == p->psn || a->opcode != p->opcode || !same_class(p, a))
            continue; /* skip a matched response, a response with the same PSN, and a response of
                       * another kind */
        rc_match_fields(cmp, p, a, &d);
        if (d.cnt == 1 && field_diff_find(&d, "bth.psn") && !rc_match_comes_later(cmp, event, a))
            return true;
    }
    return false;
}

/* Returns how many recorded responses at PSN `rel` answer READ request `request`, at most 2. */
static unsigned answers_at(const struct inferred_setup *s, uint32_t request, int64_t rel)
{
    unsigned cnt = 0;

    for (uint32_t a = s->event[request].next_response; a != EVENT_NONE && cnt < 2;
         a = s->event[a].next_response)
        cnt += s->event[a].rel == rel;
    return cnt;
}

/* Returns whether the recorded response just before `event` belongs to the same READ and has the
 * previous PSN. */
static bool follows_recorded(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = event; i-- > 0 && event - i <= COMPARE_RECENT;)
        if (s->event[i].response)
            return s->event[i].usable && s->event[i].rel == s->event[event].rel - 1 &&
                   event_opcode(s, i)->kind == ROCE_KIND_READ_RESP &&
                   !roce_opcode_ends(event_opcode(s, i));
    return false;
}

struct tx_response *rc_match_continued(const struct response_cmp *cmp, uint32_t event)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    int64_t rel = cmp->dir->setup.event[event].rel;
    size_t end = first_from(cmp, rel, cmp->responses_out);
    bool follows = follows_recorded(&cmp->dir->setup, event);

    if (roce_opcode_starts(roce_opcode(p->opcode)) || (cmp->latest_rel != rel - 1 && !follows))
        return NULL;
    for (size_t i = end; i-- > 0 && cmp->by_psn[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct tx_response *a = &cmp->dir->response[cmp->by_psn[i].idx];
        struct field_diffs d;

        if ((a->event != cmp->latest && !follows) || a->matched || !same_class(p, a))
            continue;
        rc_match_fields(cmp, p, a, &d);
        if (d.cnt == 0)
            return a;
        if (a->event == cmp->latest)
            return NULL;
    }
    return NULL;
}

struct tx_response *rc_match_to_request(const struct response_cmp *cmp, uint32_t event,
                                        struct field_diffs *out)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct pkt_event *at = &s->event[event];
    size_t end = first_from(cmp, at->rel, cmp->responses_out);

    if (at->request == EVENT_NONE || answers_at(s, at->request, at->rel) > 1)
        return NULL;
    for (size_t i = end; i-- > 0 && cmp->by_psn[i].rel == at->rel && end - i <= COMPARE_RECENT;) {
        struct tx_response *a = &cmp->dir->response[cmp->by_psn[i].idx];

        if (a->event == at->request && !a->matched &&
            roce_opcode(a->opcode)->kind == ROCE_KIND_READ_RESP) {
            rc_match_fields(cmp, event_packet(s, event), a, out);
            return a;
        }
    }
    return NULL;
}
