/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_match.h"

#include <string.h>
#include "engine/reasons/rc_response_case.h"
#include "util/lower_bound.h"
#include "wire/codes.h"

/* Number of latest responses that end_of() examines before its binary search. */
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
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

enum response_group rc_match_group(uint8_t opcode, uint8_t syndrome)
{
    switch (roce_opcode(opcode)->kind) {
    case ROCE_KIND_READ_RESP: return GROUP_READ;
    case ROCE_KIND_ATOMIC_ACK: return GROUP_ATOMIC;
    default: return response_is_nak(opcode, syndrome) ? GROUP_NAK : GROUP_ACK;
    }
}

static enum response_group group_of(const struct trace_packet *p)
{
    return rc_match_group(p->opcode, p->syndrome);
}

/* Returns the index of the first entry of by_psn, from `low` to `high` - 1, that does not precede
 * `key` in the sort order, or `high` if there is none. */
static size_t first_from(const struct response_cmp *cmp, const struct response_by_psn *key,
                         size_t low, size_t high)
{
    LOWER_BOUND(low, high, mid, rc_match_order(&cmp->by_psn[mid], key) < 0);
    return low;
}

/* Returns the index after the last entry of by_psn with this PSN and group that our RNIC has sent
 * by the current event. If there is none, the entry before the index has another PSN or group. */
static size_t end_of(const struct response_cmp *cmp, int64_t rel, enum response_group group)
{
    const struct response_by_psn key = {
        .rel = rel, .group = group, .idx = (uint32_t)cmp->responses_out};
    size_t high = cmp->dir->response_cnt, at = cmp->responses_out;

    /* The last entry is usually one of the latest responses. */
    if (at == high || (at < high && rc_match_order(&cmp->by_psn[at], &key) >= 0)) {
        for (unsigned i = 0; i < LATEST && at > 0; i++, at--)
            if (rc_match_order(&cmp->by_psn[at - 1], &key) < 0)
                return at;
        high = at;
    }
    return first_from(cmp, &key, 0, high);
}

/* Returns the response at index `i` of by_psn if it is one of the latest COMPARE_RECENT responses
 * before index `end` with this PSN and group, else NULL. */
static struct tx_response *response_at(const struct response_cmp *cmp, size_t i, size_t end,
                                       int64_t rel, enum response_group group)
{
    const struct response_by_psn *by = &cmp->by_psn[i];

    return by->rel == rel && by->group == group && end - i <= COMPARE_RECENT
               ? &cmp->dir->response[by->idx]
               : NULL;
}

/* Returns the index after the last entry of by_psn, before `end`, that has this PSN, this group and
 * an MSN of at most `msn`. This search is needed if the recorded responder is slow: the recorded
 * response then answers an old copy of its request, and our RNIC has already sent many responses to
 * later copies. */
static size_t end_with_msn(const struct response_cmp *cmp, size_t end, int64_t rel,
                           enum response_group group, uint32_t msn)
{
    size_t low = first_from(cmp, &(struct response_by_psn){.rel = rel, .group = group}, 0, end);

    LOWER_BOUND(low, end, mid,
                roce_psn_diff(roce_psn_of(cmp->dir->response[cmp->by_psn[mid].idx].msn),
                              roce_psn_of(msn)) <= 0);
    return low;
}

/* Searches the responses with this PSN and group before index `end` of by_psn for one with fewer
 * differences from packet `p` than *best, or with the same number of differences but sent later. If
 * there is one, or if *best is NULL, sets *best to this response and *out to its differences. */
static void improve_best(const struct response_cmp *cmp, const struct trace_packet *p, size_t end,
                         int64_t rel, enum response_group group, bool unused,
                         struct tx_response **best, struct field_diffs *out)
{
    struct tx_response *a;

    for (size_t i = end; i-- > 0 && (a = response_at(cmp, i, end, rel, group)) != NULL;) {
        struct field_diffs d;

        if (unused && a->matched)
            continue;
        rc_match_fields(cmp, p, a, &d);
        if (!*best || d.cnt < out->cnt || (d.cnt == out->cnt && a > *best)) {
            *best = a;
            field_diffs_copy(out, &d);
        }
    }
}

struct tx_response *rc_match_at(const struct response_cmp *cmp, uint32_t event, bool same,
                                bool unused, struct field_diffs *out)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    int64_t rel = cmp->dir->setup.event[event].rel;
    struct tx_response *best = NULL;

    for (enum response_group group = 0; group < GROUPS; group++) {
        size_t end;

        if (same && group != group_of(p))
            continue;
        end = end_of(cmp, rel, group);
        improve_best(cmp, p, end, rel, group, unused, &best, out);
        if ((!best || out->cnt > 0) && same && end > COMPARE_RECENT &&
            counts_messages(&cmp->dir->setup, event))
            improve_best(cmp, p, end_with_msn(cmp, end, rel, group, p->msn), rel, group, unused,
                         &best, out);
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
    const struct tx_response *a;
    bool any = false;

    for (enum response_group group = 0; group < GROUPS; group++) {
        size_t end = end_of(cmp, rel, group);

        for (size_t i = end; i-- > 0 && (a = response_at(cmp, i, end, rel, group)) != NULL;) {
            if (!a->matched)
                return false;
            any = true;
        }
    }
    return any;
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

        if (a->matched || a->psn == p->psn || a->opcode != p->opcode ||
            rc_match_group(a->opcode, a->syndrome) != group_of(p))
            continue; /* skip responses that are already matched, have the same PSN, or are of
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
    size_t end = end_of(cmp, rel, group_of(p));
    bool follows = follows_recorded(&cmp->dir->setup, event);
    struct tx_response *a;

    if (roce_opcode_starts(roce_opcode(p->opcode)) || (cmp->latest_rel != rel - 1 && !follows))
        return NULL;
    for (size_t i = end; i-- > 0 && (a = response_at(cmp, i, end, rel, group_of(p))) != NULL;) {
        struct field_diffs d;

        if ((a->event != cmp->latest && !follows) || a->matched)
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
    size_t end = end_of(cmp, at->rel, GROUP_READ), low;
    struct tx_response *a;

    if (at->request == EVENT_NONE || answers_at(s, at->request, at->rel) > 1)
        return NULL;
    low = first_from(cmp, &(struct response_by_psn){.rel = at->rel, .group = GROUP_READ}, 0, end);
    while (low < end) {
        size_t mid = low + (end - low) / 2;

        a = &cmp->dir->response[cmp->by_psn[mid].idx];
        if (a->event == at->request && !a->matched) {
            rc_match_fields(cmp, event_packet(s, event), a, out);
            return a;
        }
        if (a->event < at->request)
            low = mid + 1;
        else
            end = mid;
    }
    return NULL;
}
