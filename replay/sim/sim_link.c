/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_link.h"

#include <stdlib.h>
#include <string.h>

/* The frames are few: what is on its way within some microseconds. A list does. */

/* A frame passes those that are held back. */
static void release_held(struct sim_link *link, const struct sim_link_frame *by)
{
    for (size_t i = 0; i < link->cnt; i++) {
        struct sim_link_frame *held = &link->frame[i];

        if (held->hold && held->to_responder == by->to_responder && held->order < by->order &&
            --held->hold == 0 && held->due > by->due) {
            held->due = by->due;
            held->order = link->order++;
        }
    }
}

int sim_link_send(struct sim_link *link, const struct impair_result *out,
                  const struct sim_link_dest *to, uint64_t now)
{
    for (unsigned i = 0; i < out->copies; i++) {
        struct sim_link_frame *frame;

        if (!VEC_GROW(link->frame, link->cnt, link->cap))
            return -1;
        frame = &link->frame[link->cnt];
        *frame = (struct sim_link_frame){.due = now + SIM_LINK_DELAY_NS + out->delay,
                                         .order = link->order++,
                                         .hold = out->hold,
                                         .to_responder = to->responder,
                                         .mark = to->mark,
                                         .forged = out->forged,
                                         .len = (uint32_t)out->len,
                                         .data = malloc(out->len),
                                         .note = out->note[0] ? strdup(out->note) : NULL};
        if (!frame->data || (out->note[0] && !frame->note)) {
            free(frame->data);
            free(frame->note);
            return -1;
        }
        memcpy(frame->data, out->data, out->len);
        if (frame->hold)
            frame->due += SIM_LINK_HOLD_NS;
        link->cnt++;
        release_held(link, frame);
    }
    return 0;
}

static size_t find_next(const struct sim_link *link)
{
    size_t best = 0;

    for (size_t i = 1; i < link->cnt; i++) {
        const struct sim_link_frame *a = &link->frame[i], *b = &link->frame[best];

        if (a->due < b->due || (a->due == b->due && a->order < b->order))
            best = i;
    }
    return best;
}

uint64_t sim_link_due(const struct sim_link *link)
{
    return link->cnt ? link->frame[find_next(link)].due : UINT64_MAX;
}

struct sim_link_frame sim_link_take(struct sim_link *link)
{
    size_t at = find_next(link);
    struct sim_link_frame frame = link->frame[at];

    link->frame[at] = link->frame[--link->cnt];
    return frame;
}

void sim_link_free(struct sim_link *link)
{
    for (size_t i = 0; i < link->cnt; i++) {
        free(link->frame[i].data);
        free(link->frame[i].note);
    }
    free(link->frame);
    memset(link, 0, sizeof(*link));
}
