/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/recorded_peer.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/play/rc_requester.h"

static int frame_cmp(const void *a, const void *b)
{
    const struct recorded_peer_frame *x = a, *y = b;

    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void add_frame(struct recorded_peer *r, uint32_t event, uint32_t when)
{
    r->frame[r->cnt] = (struct recorded_peer_frame){.step = event, .when = when, .order = r->cnt};
    r->cnt++;
}

int recorded_peer_init(struct recorded_peer *r, const struct inferred_setup *s, const uint8_t *fate)
{
    *r = (struct recorded_peer){.setup = s};
    r->frame = malloc((s->event_cnt + s->executed_unseen_cnt + 1) * sizeof(*r->frame));
    if (!r->frame)
        return -1;
    for (size_t i = 0; i < s->executed_unseen_cnt && !fate; i++)
        add_frame(r, s->executed_unseen[i].event, s->executed_unseen[i].response);
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (fate ? event->response && fate[i] == RESP_ACCEPTED
                 : !event->response && !event->before_first && !event->lost)
            add_frame(r, i, i);
    }
    if (r->cnt)
        qsort(r->frame, r->cnt, sizeof(*r->frame), frame_cmp);
    return 0;
}

void recorded_peer_free(struct recorded_peer *r)
{
    free(r->frame);
    memset(r, 0, sizeof(*r));
}

uint64_t recorded_peer_due(const struct recorded_peer *r)
{
    if (r->next == r->cnt)
        return UINT64_MAX;
    return event_time(r->setup, r->frame[r->next].when) - event_time(r->setup, 0);
}

size_t recorded_peer_next(struct recorded_peer *r, uint8_t *buf)
{
    return inject_frame(event_packet(r->setup, r->frame[r->next++].step), buf);
}
