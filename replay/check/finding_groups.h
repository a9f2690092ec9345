/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Findings of a capture, grouped by connection and rule, with the first frames of each group.
 * Memory is bounded: the counts stay exact, but at most a fixed number of groups and findings is
 * kept.
 */
#ifndef REPLAY_CHECK_FINDING_GROUPS_H
#define REPLAY_CHECK_FINDING_GROUPS_H

#include "flow/flow.h"

#define FINDING_GROUP_FRAMES 6 /* frames that a line of a report shows */

/* Findings that differ only in their frame. */
struct finding_group {
    struct roce_finding first;
    uint64_t cnt;
    uint32_t conns; /* of so many connections it is; `first` has no stream then. 0: one, or none */
    uint32_t frame[FINDING_GROUP_FRAMES]; /* of the first findings */
    uint32_t kept, kept_last; /* index + 1 into finding_groups.kept, in their order; 0 none */
};

struct kept_finding {
    struct roce_finding finding;
    uint32_t next;
};

struct finding_groups {
    struct finding_group
        *group; /* in the order of their first finding, until finding_groups_sort() */
    uint32_t group_cnt, group_cap;
    struct kept_finding *kept; /* every finding, if `keep` is set */
    uint32_t kept_cnt, kept_cap;
    bool keep;
    uint64_t not_kept; /* findings without a group, for the limit or for lack of memory */
    uint32_t *slot;    /* hash table of group index + 1 */
};

/* `keep`: every single finding is wanted, not only the first frames of a group. */
void finding_groups_init(struct finding_groups *groups, bool keep);
void finding_groups_free(struct finding_groups *groups); /* fine after a zeroed one */

void finding_groups_add(struct finding_groups *groups, const struct roce_finding *finding);

/* At the end: streams become those of their connections; what is the same of many connections, for
 * it is of the capture, becomes one group, unless every finding is wanted; groups are sorted by
 * connection (those without one, or of many, last), then severity, then frame. Nothing can be added
 * afterwards. */
void finding_groups_sort(struct finding_groups *groups, const struct roce_flow *flow);

/* The first of the groups of a connection, after finding_groups_sort(); *cnt says how many follow
 * each other. */
const struct finding_group *finding_groups_of(const struct finding_groups *groups, uint32_t stream,
                                              uint32_t *cnt);

#endif
