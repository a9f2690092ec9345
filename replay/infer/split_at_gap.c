/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/split_at_gap.h"

#include <string.h>

static bool take(struct side *side, uint32_t pkt)
{
    if (!VEC_GROW(side->pkt, side->cnt, side->cap))
        return false;
    side->pkt[side->cnt++] = pkt;
    return true;
}

/* The step with which a message begins after the gap, or step_cnt. */
static uint32_t next_message(const struct setup *s)
{
    uint32_t i = 0;

    while (i < s->step_cnt &&
           (s->step[i].response || s->step[i].damaged || s->step[i].rel <= s->gap ||
            !roce_opcode_is_request(setup_op(s, i)) || !roce_opcode_starts(setup_op(s, i))))
        i++;
    return i;
}

int stretch_split(const struct setup *s, struct side *head, struct side *rest)
{
    uint32_t from = next_message(s);
    bool open = true; /* answers after `from` may still belong to the head */

    *head = *s->side;
    head->pkt = NULL;
    head->cnt = head->cap = 0;
    *rest = *head;
    rest->cm.present = false; /* its PSN and MSN are of the connection's beginning */
    rest->resumed = true;
    rest->lacks = roce_psn_add(s->psn, (int32_t)s->gap).v;
    rest->lacks_after = from ? setup_packet(s, from - 1)->frame : 0;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        bool after = i >= from;

        /* What is sent again is played in the rest, if at all, and so are its answers. */
        open &= !after || step->response || step->rel > s->gap;
        if ((after ? open && step->response && step->rel < s->gap
                   : !step->response || step->rel < s->gap) &&
            !take(head, step->pkt))
            return -1;
        if (after && !take(rest, step->pkt))
            return -1;
    }
    return 0;
}
