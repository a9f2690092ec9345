/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Findings of a capture, grouped by connection and rule, with the first frames of each group. The
 * memory used is limited, because only a fixed number of groups and findings is kept. The counts of
 * a kept group are exact.
 */
#ifndef REPLAY_CHECK_BASE_FINDING_GROUPS_H
#define REPLAY_CHECK_BASE_FINDING_GROUPS_H

#include "flow/flow.h"
#include "util/keymap.h"

#define FINDING_GROUP_FRAMES 6 /* number of frames that a line of the report lists */

/* Findings that differ only in their frame. */
struct finding_group {
    struct roce_finding first;
    uint64_t cnt;
    /* Number of connections, if findings of several connections were merged into this group;
     * `first` then has no connection number. 0 if the findings belong to one connection or to
     * none. */
    uint32_t conns;
    uint32_t frame[FINDING_GROUP_FRAMES]; /* frame numbers of the first findings */
    /* First and last finding of this group in finding_groups.kept: index + 1, or 0 if there is
     * none. */
    uint32_t kept, kept_last;
};

struct kept_finding {
    struct roce_finding finding;
    uint32_t next;
};

struct finding_groups {
    struct finding_group
        *group; /* groups, in the order of their first findings until finding_groups_sort() */
    uint32_t group_cnt, group_cap;
    struct kept_finding *kept; /* every finding, if `keep` is set */
    uint32_t kept_cnt, kept_cap;
    bool keep;
    /* Number of findings that are in no group, because the limit GROUPS_MAX was reached or memory
     * ran out. */
    uint64_t not_kept;
    struct keymap index; /* maps connection, rule, severity and side to a group */
};

/* Initializes the groups. `keep`: keep every finding, not only the first frames of each group. */
void finding_groups_init(struct finding_groups *groups, bool keep);
void finding_groups_free(struct finding_groups *groups); /* Frees the groups, which may be
                                                          * zero-initialised. */

void finding_groups_add(struct finding_groups *groups, const struct roce_finding *finding);

/* Sorts the groups by connection, then severity, then frame. Known deviations follow the other
 * findings of their connection. Groups of no connection or of several connections are last. Call it
 * once after the last finding was added.
 * Before sorting, replaces each connection number by its final value. Unless `keep` is set, also
 * merges the groups for PAIR_UNKNOWN (directions that could not be paired) of all connections into
 * one group, because these findings have a common cause in the capture. */
void finding_groups_sort(struct finding_groups *groups, const struct roce_flow *flow);

/* Returns the first group of a connection. The groups of a connection are consecutive; *cnt
 * receives their number. Call it after finding_groups_sort(). */
const struct finding_group *finding_groups_of(const struct finding_groups *groups, uint32_t stream,
                                              uint32_t *cnt);

#endif
