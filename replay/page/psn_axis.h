/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PSN axis: the place of each packet run on the PSN axis of its direction. Each use of the QP pair
 * begins again at 0, because a new use has another start PSN. Called by the files of replay/page
 * that follow the PSNs of a direction. */
#ifndef REPLAY_PAGE_PSN_AXIS_H
#define REPLAY_PAGE_PSN_AXIS_H

#include "page/packet_runs.h"
#include "wire/codes.h"

/* Initialize `base` with the PSN at which the first use begins, and `at` with 0. */
struct psn_axis {
    uint32_t base; /* PSN at position 0 of the axis */
    int64_t at;    /* place of the latest run, counted without wrap at 2^24 */
};

/* Returns the place of the next run of a direction. */
static inline int64_t psn_axis_next(struct psn_axis *axis, const struct packet_run *run)
{
    if (packet_run_begins_use(run))
        *axis = (struct psn_axis){.base = run->psn};
    axis->at += roce_psn_diff(roce_psn_of(run->psn), roce_psn_of(axis->base + (uint32_t)axis->at));
    return axis->at;
}

/* Returns an axis on which the first run of a direction is 0. */
static inline struct psn_axis psn_axis_begin(const struct packet_runs *runs, unsigned direction)
{
    for (uint32_t i = 0; i < runs->cnt; i++)
        if (packet_run_is_in(&runs->run[i], direction))
            return (struct psn_axis){.base = runs->run[i].psn};
    return (struct psn_axis){.base = 0};
}

#endif
