/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_match.h"

#include <string.h>
#include "wire/codes.h"

void match_fields(const struct view *v, const struct trace_packet *p, const struct answer *ours,
                  struct field_diffs *d)
{
    fields_compare(p, ours, v->run->setup.read_first_msn, d);
}

int match_order(const void *a, const void *b)
{
    const struct by_rel *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

/* Index in by_rel of the first of ours that is not before answer `idx` at PSN `rel`. */
static size_t first_from(const struct view *v, int64_t rel, size_t idx)
{
    const struct by_rel key = {.rel = rel, .idx = (uint32_t)idx};
    size_t low = 0, high = v->run->answer_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (match_order(&v->by_rel[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool match_is_nak(uint8_t opcode, uint8_t syndrome)
{
    return roce_opcode(opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(syndrome) != ROCE_SYN_ACK;
}

/* READ responses, Atomic ACKs, NAKs and ACKs are sought among their like. */
static bool same_class(const struct trace_packet *p, const struct answer *a)
{
    return roce_opcode(p->opcode)->kind == roce_opcode(a->opcode)->kind &&
           match_is_nak(p->opcode, p->syndrome) == match_is_nak(a->opcode, a->syndrome);
}

struct answer *match_at(const struct view *v, uint32_t step, bool same, bool unused,
                        struct field_diffs *out)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    int64_t rel = v->run->setup.step[step].rel;
    struct answer *best = NULL;
    size_t end = first_from(v, rel, v->sent);

    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];
        struct field_diffs d;

        if ((same && !same_class(p, a)) || (unused && a->used))
            continue;
        match_fields(v, p, a, &d);
        if (!best || d.cnt < out->cnt) {
            best = a;
            *out = d;
        }
    }
    return best;
}

struct answer *match_recent(const struct view *v, uint32_t step, struct field_diffs *out)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct answer *best = NULL;

    for (size_t i = v->sent; i-- > 0 && v->sent - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[i];
        struct field_diffs d;

        match_fields(v, p, a, &d);
        if (!best || d.cnt < out->cnt || (d.cnt == out->cnt && best->used && !a->used)) {
            best = a;
            *out = d;
        }
    }
    return best;
}

bool match_is_used_up(const struct view *v, uint32_t step)
{
    int64_t rel = v->run->setup.step[step].rel;
    size_t end = first_from(v, rel, v->sent);

    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;)
        if (!v->run->answer[v->by_rel[i].idx].used)
            return false;
    return end > 0 && v->by_rel[end - 1].rel == rel;
}

bool match_has_other_psn(const struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);

    for (size_t i = v->sent; i-- > 0 && v->sent - i <= COMPARE_RECENT;) {
        const struct answer *a = &v->run->answer[i];
        struct field_diffs d;

        if (a->used)
            continue;
        match_fields(v, p, a, &d);
        if (d.cnt == 1 && fields_find(&d, "bth.psn"))
            return true;
    }
    return false;
}

/* How many recorded answers to one READ request have this PSN. */
static unsigned answers_at(const struct setup *s, uint32_t request, int64_t rel)
{
    unsigned cnt = 0;

    for (uint32_t a = s->step[request].answer; a != STEP_NONE && cnt < 2; a = s->step[a].answer)
        cnt += s->step[a].rel == rel;
    return cnt;
}

struct answer *match_continued(const struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    int64_t rel = v->run->setup.step[step].rel;
    size_t end = first_from(v, rel, v->sent);

    if (roce_opcode_starts(roce_opcode(p->opcode)) || v->latest_rel != rel - 1)
        return NULL;
    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];
        struct field_diffs d;

        if (a->step != v->latest || a->used || !same_class(p, a))
            continue;
        match_fields(v, p, a, &d);
        return d.cnt == 0 ? a : NULL;
    }
    return NULL;
}

struct answer *match_to_request(const struct view *v, uint32_t step, struct field_diffs *out)
{
    const struct setup *s = &v->run->setup;
    const struct step *at = &s->step[step];
    size_t end = first_from(v, at->rel, v->sent);

    if (at->request == STEP_NONE || answers_at(s, at->request, at->rel) > 1)
        return NULL;
    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == at->rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];

        if (a->step == at->request && !a->used &&
            roce_opcode(a->opcode)->kind == ROCE_KIND_READ_RESP) {
            match_fields(v, setup_packet(s, step), a, out);
            return a;
        }
    }
    return NULL;
}
