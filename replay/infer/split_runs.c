/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/split_runs.h"

#include <stdlib.h>
#include <string.h>
#include "infer/sent_order.h"
#include "infer/split_at_gap.h"

static uint32_t device_of(struct session *session, const struct trace_flow *flow)
{
    struct responder_host *dev;

    for (size_t i = 0; i < session->host_cnt; i++)
        if (session->host[i].encap == flow->encap &&
            memcmp(session->host[i].addr, flow->dst, sizeof(flow->dst)) == 0)
            return (uint32_t)i;
    if (!VEC_GROW(session->host, session->host_cnt, session->host_cap))
        return KEYMAP_NONE;
    dev = &session->host[session->host_cnt];
    memset(dev, 0, sizeof(*dev));
    memcpy(dev->addr, flow->dst, sizeof(dev->addr));
    dev->encap = flow->encap;
    shadow_init(&dev->memory);
    return (uint32_t)session->host_cnt++;
}

/* Infers the setup for the replay of the requester. Leaves the memory of the responder unchanged.
 * Returns 0, or -1 if out of memory. */
static int infer_other_setup(const struct session *session, struct rc_direction *dir,
                             const struct recorded_direction *recorded)
{
    struct shadow_memory memory;
    int rc = -1;

    shadow_init(&memory);
    dir->other_setup = malloc(sizeof(*dir->other_setup));
    if (dir->other_setup)
        rc = infer_setup(dir->other_setup, session->trace, recorded, session->read_bytes,
                         VIEW_OF_REQUESTER, &memory);
    shadow_free(&memory);
    return rc;
}

/* Adds a recorded direction, or its stretch `part` (split_at_gap.h), to the session, which then
 * owns `part`. `part` is NULL for the whole direction. Returns 0, or -1 if out of memory. */
static int add_direction(struct session *session, const struct recorded_direction *recorded,
                         struct recorded_direction *part)
{
    struct rc_direction *dir;
    int rc;

    if (!VEC_GROW(session->dir, session->dir_cnt, session->dir_cap)) {
        if (part)
            recorded_direction_free(part);
        free(part);
        return -1;
    }
    dir = &session->dir[session->dir_cnt++];
    *dir = (struct rc_direction){.stretch = part, .error_event = EVENT_NONE};
    dir->host = device_of(session, &session->trace->flow[recorded->req_flow]);
    if (dir->host == KEYMAP_NONE)
        return -1;
    recorded = part ? part : recorded;
    rc = infer_setup(&dir->setup, session->trace, recorded, session->read_bytes, VIEW_OF_RESPONDER,
                     &session->host[dir->host].memory);
    if (rc == 0 && !dir->setup.skip && sent_order_differs(session->trace, recorded))
        rc = infer_other_setup(session, dir, recorded);
    session->read_bytes += dir->setup.read_bytes;
    return rc;
}

void split_runs_free(struct rc_direction *dir)
{
    inferred_setup_free(&dir->setup);
    if (dir->other_setup)
        inferred_setup_free(dir->other_setup);
    free(dir->other_setup);
    if (dir->stretch)
        recorded_direction_free(dir->stretch);
    free(dir->stretch);
}

/* Removes the direction that was added last. */
static void drop_direction(struct session *session)
{
    struct rc_direction *dir = &session->dir[--session->dir_cnt];

    session->read_bytes -= dir->setup.read_bytes;
    split_runs_free(dir);
}

/* Replaces the last direction, which has a gap in its requests, by the stretches before and after
 * the gap. Sets *split to whether the direction was replaced. Returns 0, or -1 if out of memory. */
static int split_direction(struct session *session, const struct recorded_direction *recorded,
                           bool *split)
{
    struct recorded_direction *head = calloc(1, sizeof(*head));
    struct recorded_direction *rest = calloc(1, sizeof(*rest));
    int rc = -1;

    if (head && rest)
        rc = split_at_gap(&session->dir[session->dir_cnt - 1].setup, head, rest);
    *split = rc == 0 && (head->cnt > 0 || rest->cnt > 0);
    if (*split) {
        drop_direction(session);
        if (head->cnt > 0) {
            rc = add_direction(session, recorded, head);
            head = NULL;
        }
        if (rc == 0 && rest->cnt > 0) {
            rc = add_direction(session, recorded, rest);
            rest = NULL;
        }
    }
    if (head)
        recorded_direction_free(head);
    if (rest)
        recorded_direction_free(rest);
    free(head);
    free(rest);
    return rc;
}

int split_runs_add(struct session *session, const struct recorded_direction *recorded)
{
    int rc = add_direction(session, recorded, NULL);
    bool split = true;

    for (unsigned i = 0; rc == 0 && split && i < STRETCHES_MAX; i++) {
        const struct inferred_setup *s = &session->dir[session->dir_cnt - 1].setup;

        if (s->gap == GAP_NONE || session->dir_cnt > DIRECTIONS_MAX)
            break;
        rc = split_direction(session, recorded, &split);
    }
    return rc;
}
