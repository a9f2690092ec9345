/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/finding_groups.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 65536u            /* 10 MB; a report of more is read by programs: --json */
#define KEPT_MAX   262144u           /* 25 MB */
#define SLOTS      (2u * GROUPS_MAX) /* power of two; never more than half full */

void check_tally_init(struct check_tally *tally, bool keep)
{
    *tally = (struct check_tally){.keep = keep};
}

void check_tally_free(struct check_tally *tally)
{
    free(tally->group);
    free(tally->kept);
    free(tally->slot);
    *tally = (struct check_tally){0};
}

static bool same(const struct roce_finding *a, const struct roce_finding *b)
{
    return a->stream == b->stream && a->rule == b->rule && a->severity == b->severity &&
           a->side == b->side && a->known == b->known;
}

static uint32_t hash(const struct roce_finding *f)
{
    uint64_t h = ((uint64_t)f->stream << 16 | (uint64_t)f->rule) * UINT64_C(0x9E3779B97F4A7C15);

    return (uint32_t)(h >> 40) & (SLOTS - 1);
}

/* Doubles an array of `size` bytes an element up to `max` elements. */
static bool grow(void *vec, uint32_t cnt, uint32_t *cap, uint32_t max, size_t size)
{
    void *old, *grown;
    uint32_t want;

    if (cnt < *cap)
        return true;
    if (*cap == max)
        return false;
    want = *cap ? *cap * 2 : 64;
    memcpy(&old, vec, sizeof(old));
    grown = realloc(old, want * size);
    if (!grown)
        return false;
    memcpy(vec, &grown, sizeof(grown));
    *cap = want;
    return true;
}

static struct check_group *group_of(struct check_tally *tally, const struct roce_finding *f)
{
    uint32_t i = hash(f);

    if (!tally->slot)
        tally->slot = calloc(SLOTS, sizeof(*tally->slot));
    if (!tally->slot)
        return NULL;
    for (; tally->slot[i]; i = (i + 1) & (SLOTS - 1))
        if (same(&tally->group[tally->slot[i] - 1].first, f))
            return &tally->group[tally->slot[i] - 1];
    if (!grow(&tally->group, tally->group_cnt, &tally->group_cap, GROUPS_MAX,
              sizeof(*tally->group)))
        return NULL;
    tally->group[tally->group_cnt] = (struct check_group){.first = *f};
    tally->slot[i] = ++tally->group_cnt;
    return &tally->group[tally->group_cnt - 1];
}

static void keep(struct check_tally *tally, struct check_group *group, const struct roce_finding *f)
{
    if (!grow(&tally->kept, tally->kept_cnt, &tally->kept_cap, KEPT_MAX, sizeof(*tally->kept)))
        return;
    tally->kept[tally->kept_cnt++] = (struct check_kept){.finding = *f};
    if (group->kept_last)
        tally->kept[group->kept_last - 1].next = tally->kept_cnt;
    else
        group->kept = tally->kept_cnt;
    group->kept_last = tally->kept_cnt;
}

void check_tally_add(struct check_tally *tally, const struct roce_finding *finding)
{
    struct check_group *group = group_of(tally, finding);

    if (!group) {
        tally->not_kept++;
        return;
    }
    if (group->cnt < CHECK_GROUP_FRAMES)
        group->frame[group->cnt] = finding->frame;
    group->cnt++;
    if (tally->keep)
        keep(tally, group, finding);
}

static int order(const void *a, const void *b)
{
    const struct roce_finding *x = &((const struct check_group *)a)->first;
    const struct roce_finding *y = &((const struct check_group *)b)->first;
    const uint32_t keys[][2] = {
        {x->stream, y->stream},     {y->known == NULL, x->known == NULL},
        {y->severity, x->severity}, {x->frame, y->frame},
        {x->rule, y->rule},         {x->side, y->side},
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Makes one group of those of this rule. */
static void merge(struct check_tally *tally, enum roce_rule rule)
{
    uint32_t cnt = 0;
    struct check_group *one = NULL;

    for (uint32_t i = 0; i < tally->group_cnt; i++) {
        struct check_group *g = &tally->group[i];

        if (!one || g->first.rule != rule) {
            tally->group[cnt] = *g;
            if (g->first.rule == rule)
                one = &tally->group[cnt];
            cnt++;
            continue;
        }
        for (uint32_t k = 0; k < g->cnt && k < CHECK_GROUP_FRAMES; k++)
            if (one->cnt + k < CHECK_GROUP_FRAMES)
                one->frame[one->cnt + k] = g->frame[k];
        one->cnt += g->cnt;
        one->conns += one->conns ? 1 : 2;
        one->first.stream = ROCE_NO_STREAM;
    }
    tally->group_cnt = cnt;
}

void check_tally_sort(struct check_tally *tally, const struct roce_flow *flow)
{
    free(tally->slot);
    tally->slot = NULL;
    for (uint32_t i = 0; i < tally->group_cnt; i++) {
        struct roce_finding *f = &tally->group[i].first;
        uint32_t stream =
            f->stream == ROCE_NO_STREAM ? f->stream : roce_flow_stream(flow, f->stream);

        /* A direction that joined another connection sent as its side 0 before, and as side 1 of
         * that since. */
        if (stream != f->stream)
            f->side ^= 1;
        f->stream = stream;
    }
    if (!tally->keep)
        merge(tally, ROCE_RULE_PAIR_UNKNOWN);
    if (tally->group_cnt)
        qsort(tally->group, tally->group_cnt, sizeof(*tally->group), order);
}

const struct check_group *check_tally_of(const struct check_tally *tally, uint32_t stream,
                                         uint32_t *cnt)
{
    uint32_t low = 0, high = tally->group_cnt, end;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (tally->group[mid].first.stream < stream)
            low = mid + 1;
        else
            high = mid;
    }
    for (end = low; end < tally->group_cnt && tally->group[end].first.stream == stream; end++)
        ;
    *cnt = end - low;
    return *cnt ? tally->group + low : NULL;
}
