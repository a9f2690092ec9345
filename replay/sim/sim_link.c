/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_link.h"

#include <stdlib.h>
#include <string.h>

/* The frames are few: what is on its way within some microseconds. A list does. */

/* A frame passes those that are held back. */
static void pass_held(struct link *link, const struct link_frame *by)
{
    for (size_t i = 0; i < link->cnt; i++) {
        struct link_frame *held = &link->frame[i];

        if (held->hold && held->to_responder == by->to_responder && held->order < by->order &&
            --held->hold == 0 && held->due > by->due) {
            held->due = by->due;
            held->order = link->order++;
        }
    }
}

int link_send(struct link *link, const struct edit_out *out, const struct link_to *to, uint64_t now)
{
    for (unsigned i = 0; i < out->copies; i++) {
        struct link_frame *frame;

        if (!VEC_GROW(link->frame, link->cnt, link->cap))
            return -1;
        frame = &link->frame[link->cnt];
        *frame = (struct link_frame){.due = now + LINK_DELAY_NS + out->delay,
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
            frame->due += LINK_HOLD_NS;
        link->cnt++;
        pass_held(link, frame);
    }
    return 0;
}

static size_t first(const struct link *link)
{
    size_t best = 0;

    for (size_t i = 1; i < link->cnt; i++) {
        const struct link_frame *a = &link->frame[i], *b = &link->frame[best];

        if (a->due < b->due || (a->due == b->due && a->order < b->order))
            best = i;
    }
    return best;
}

uint64_t link_due(const struct link *link)
{
    return link->cnt ? link->frame[first(link)].due : UINT64_MAX;
}

struct link_frame link_take(struct link *link)
{
    size_t at = first(link);
    struct link_frame frame = link->frame[at];

    link->frame[at] = link->frame[--link->cnt];
    return frame;
}

void link_free(struct link *link)
{
    for (size_t i = 0; i < link->cnt; i++) {
        free(link->frame[i].data);
        free(link->frame[i].note);
    }
    free(link->frame);
    memset(link, 0, sizeof(*link));
}
