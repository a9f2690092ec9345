/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/split_at_gap.h"

#include <stdlib.h>
#include <string.h>

static bool add_packet(struct recorded_direction *recorded, uint32_t pkt)
{
    if (!VEC_GROW(recorded->pkt, recorded->cnt, recorded->cap))
        return false;
    recorded->pkt[recorded->cnt++] = pkt;
    return true;
}

static int pkt_cmp(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sorts the packets of a direction in capture order. */
static void sort_captured(struct recorded_direction *recorded)
{
    if (recorded->cnt)
        qsort(recorded->pkt, recorded->cnt, sizeof(*recorded->pkt), pkt_cmp);
}

/* Returns the index in setup.event of the first packet after the gap that begins a message, or
 * event_cnt if there is none. */
static uint32_t next_message(const struct inferred_setup *s)
{
    uint32_t i = 0;

    while (i < s->event_cnt &&
           (s->event[i].response || s->event[i].damaged || s->event[i].rel <= s->gap ||
            !roce_opcode_is_request(event_opcode(s, i)) || !roce_opcode_starts(event_opcode(s, i))))
        i++;
    return i;
}

int split_at_gap(const struct inferred_setup *s, struct recorded_direction *head,
                 struct recorded_direction *rest)
{
    uint32_t from = next_message(s);
    bool open = true; /* true: a response captured after the start of the second part may still
                       * answer a request before the gap */

    *head = *s->recorded;
    head->pkt = NULL;
    head->cnt = head->cap = 0;
    *rest = *head;
    rest->cm.present = false; /* the PSN and MSN from the CM are valid only at the start of the
                               * connection */
    rest->after_gap = true;
    rest->gap_psn = roce_psn_add(s->psn, (int32_t)s->gap).v;
    rest->gap_after_frame = from ? event_packet(s, from - 1)->frame : 0;
    if (from == 0 && s->recorded->after_gap)
        return 0; /* *rest would be the direction itself, with the same gap again */
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];
        bool after = i >= from;

        /* After the gap, the requester may retransmit a request from before the gap. From that
         * retransmission on, all packets are played only in the second part. */
        open &= !after || event->response || event->rel > s->gap;
        if ((after ? open && event->response && event->rel < s->gap
                   : !event->response || event->rel < s->gap) &&
            !add_packet(head, event->pkt))
            return -1;
        if (after && !add_packet(rest, event->pkt))
            return -1;
    }
    sort_captured(head);
    sort_captured(rest);
    return 0;
}
