/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/split_runs.h"

#include <stdlib.h>
#include <string.h>
#include "infer/split_at_gap.h"

static uint32_t device_of(struct drive *d, const struct trace_flow *flow)
{
    struct device *dev;

    for (size_t i = 0; i < d->device_cnt; i++)
        if (d->device[i].encap == flow->encap &&
            memcmp(d->device[i].addr, flow->dst, sizeof(flow->dst)) == 0)
            return (uint32_t)i;
    if (!VEC_GROW(d->device, d->device_cnt, d->device_cap))
        return KEYMAP_NONE;
    dev = &d->device[d->device_cnt];
    memset(dev, 0, sizeof(*dev));
    memcpy(dev->addr, flow->dst, sizeof(dev->addr));
    dev->encap = flow->encap;
    memory_init(&dev->memory);
    return (uint32_t)d->device_cnt++;
}

/* A run for a side or a stretch of one; `part` is NULL or given over. -1 without memory. */
static int add_run(struct drive *d, const struct side *side, struct side *part)
{
    struct run *run;

    if (!VEC_GROW(d->run, d->run_cnt, d->run_cap)) {
        if (part)
            side_free(part);
        free(part);
        return -1;
    }
    run = &d->run[d->run_cnt++];
    *run = (struct run){.part = part, .error_step = STEP_NONE};
    run->device = device_of(d, &d->trace->flow[side->req_flow]);
    return run->device == KEYMAP_NONE
               ? -1
               : setup_derive(&run->setup, d->trace, part ? part : side,
                              given_conn(d->given, d->run_cnt - 1), &d->device[run->device].memory);
}

/* Takes the last run back. */
static void drop_run(struct drive *d)
{
    struct run *run = &d->run[--d->run_cnt];

    setup_free(&run->setup);
    if (run->part)
        side_free(run->part);
    free(run->part);
}

/* Replaces the last run, whose requests have a gap, by runs of the stretches before and after it.
 */
static int part_run(struct drive *d, const struct side *side)
{
    struct side *head = calloc(1, sizeof(*head));
    struct side *rest = calloc(1, sizeof(*rest));
    int rc = -1;

    if (head && rest)
        rc = stretch_split(&d->run[d->run_cnt - 1].setup, head, rest);
    if (rc == 0 && (head->cnt > 0 || rest->cnt > 0)) {
        drop_run(d);
        if (head->cnt > 0) {
            rc = add_run(d, side, head);
            head = NULL;
        }
        if (rc == 0 && rest->cnt > 0) {
            rc = add_run(d, side, rest);
            rest = NULL;
        }
    }
    if (head)
        side_free(head);
    if (rest)
        side_free(rest);
    free(head);
    free(rest);
    return rc;
}

int runs_add_side(struct drive *d, const struct side *side)
{
    int rc = add_run(d, side, NULL);

    for (unsigned i = 0; rc == 0 && i < STRETCHES_MAX; i++) {
        const struct setup *s = &d->run[d->run_cnt - 1].setup;

        if (s->gap == GAP_NONE || d->run_cnt > SIDES_MAX)
            break;
        rc = part_run(d, side);
    }
    return rc;
}
