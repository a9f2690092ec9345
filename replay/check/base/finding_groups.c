/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/finding_groups.h"
#include "util/lower_bound.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 65536u  /* limit of groups, 10 MB; the option --json lists every finding */
#define KEPT_MAX   262144u /* limit of kept findings, 25 MB */

struct group_key {
    uint32_t conn, rule, severity, side, loss, zero;
    uint64_t known;
};

void finding_groups_init(struct finding_groups *groups, bool keep)
{
    *groups = (struct finding_groups){.keep = keep};
    keymap_init(&groups->index, sizeof(struct group_key));
}

void finding_groups_free(struct finding_groups *groups)
{
    free(groups->group);
    free(groups->kept);
    keymap_free(&groups->index);
    *groups = (struct finding_groups){0};
}

/* If an array of elements of `size` bytes is full, doubles its capacity, up to `max` elements.
 * Returns false if it stays full. */
static bool grow_array(void *vec, uint32_t cnt, uint32_t *cap, uint32_t max, size_t size)
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

static struct finding_group *group_of(struct finding_groups *groups, const struct roce_finding *f)
{
    const struct group_key key = {f->conn_index, f->rule, f->severity,        f->side,
                                  f->loss,       0,       (uintptr_t)f->known};
    uint32_t i = keymap_get(&groups->index, &key);

    if (i != KEYMAP_NONE)
        return &groups->group[i];
    if (!grow_array(&groups->group, groups->group_cnt, &groups->group_cap, GROUPS_MAX,
                    sizeof(*groups->group)) ||
        keymap_add(&groups->index, &key) == KEYMAP_NONE)
        return NULL;
    groups->group[groups->group_cnt] = (struct finding_group){.first = *f};
    return &groups->group[groups->group_cnt++];
}

static void keep_finding(struct finding_groups *groups, struct finding_group *group,
                         const struct roce_finding *f)
{
    if (!grow_array(&groups->kept, groups->kept_cnt, &groups->kept_cap, KEPT_MAX,
                    sizeof(*groups->kept)))
        return;
    groups->kept[groups->kept_cnt++] = (struct kept_finding){.finding = *f};
    if (group->kept_last)
        groups->kept[group->kept_last - 1].next = groups->kept_cnt;
    else
        group->kept = groups->kept_cnt;
    group->kept_last = groups->kept_cnt;
}

void finding_groups_add(struct finding_groups *groups, const struct roce_finding *finding)
{
    struct finding_group *group = group_of(groups, finding);

    if (!group) {
        groups->not_kept++;
        return;
    }
    if (group->cnt < FINDING_GROUP_FRAMES)
        group->frame[group->cnt] = finding->frame;
    group->cnt++;
    if (groups->keep)
        keep_finding(groups, group, finding);
}

static int compare_groups(const void *a, const void *b)
{
    const struct roce_finding *x = &((const struct finding_group *)a)->first;
    const struct roce_finding *y = &((const struct finding_group *)b)->first;
    const uint32_t keys[][2] = {
        {x->conn_index, y->conn_index},
        {y->known == NULL, x->known == NULL},
        {y->severity, x->severity},
        {x->frame, y->frame},
        {x->rule, y->rule},
        {x->side, y->side},
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Merges the groups of all connections for `rule` into one group. */
static void merge_groups(struct finding_groups *groups, enum roce_rule rule)
{
    uint32_t cnt = 0;
    struct finding_group *one = NULL;

    for (uint32_t i = 0; i < groups->group_cnt; i++) {
        struct finding_group *g = &groups->group[i];

        if (!one || g->first.rule != rule) {
            groups->group[cnt] = *g;
            if (g->first.rule == rule)
                one = &groups->group[cnt];
            cnt++;
            continue;
        }
        for (uint32_t k = 0; k < g->cnt && k < FINDING_GROUP_FRAMES; k++)
            if (one->cnt + k < FINDING_GROUP_FRAMES)
                one->frame[one->cnt + k] = g->frame[k];
        one->cnt += g->cnt;
        one->conns += one->conns ? 1 : 2;
        one->first.conn_index = ROCE_NO_CONN;
    }
    groups->group_cnt = cnt;
}

void finding_groups_sort(struct finding_groups *groups, const struct roce_flow *flow)
{
    keymap_free(&groups->index);
    for (uint32_t i = 0; i < groups->group_cnt; i++) {
        struct roce_finding *f = &groups->group[i].first;
        uint32_t stream = f->conn_index == ROCE_NO_CONN ? f->conn_index
                                                        : roce_flow_conn_index(flow, f->conn_index);

        /* The finding was reported for side 0 of connection f->conn_index. This connection was
         * later joined with the connection `stream`, in which side 0 has the index 1. */
        if (stream != f->conn_index)
            f->side ^= 1;
        f->conn_index = stream;
    }
    if (!groups->keep)
        merge_groups(groups, ROCE_RULE_PAIR_UNKNOWN);
    if (groups->group_cnt)
        qsort(groups->group, groups->group_cnt, sizeof(*groups->group), compare_groups);
}

const struct finding_group *finding_groups_of(const struct finding_groups *groups, uint32_t stream,
                                              uint32_t *cnt)
{
    uint32_t low = 0, high = groups->group_cnt, end;

    LOWER_BOUND(low, high, mid, groups->group[mid].first.conn_index < stream);
    for (end = low; end < groups->group_cnt && groups->group[end].first.conn_index == stream; end++)
        ;
    *cnt = end - low;
    return *cnt ? groups->group + low : NULL;
}
