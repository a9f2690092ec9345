/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/sent_order.h"

#include <string.h>

/* Maximum number of places by which sent_order_restore() moves a packet towards the start. */
#define MOVE_MAX 1024u

/* Limit of the steps of sent_order_restore(): STEPS_EACH for each packet, and STEPS_MIN more.
 * Beyond the limit, packets stay in capture order. */
#define STEPS_EACH 16u
#define STEPS_MIN  65536u

/* *latest is the packet of this direction that was sent last so far, or NULL. Returns true if the
 * packet was sent before *latest. If not, sets *latest to the packet. Ignores damaged packets,
 * because the damage may be in their IPv4 identification. */
static bool overtaken(const struct trace *trace, const struct trace_packet *p,
                      const struct trace_packet **latest)
{
    if (p->dropped)
        return false;
    if (*latest && trace_sent_before(trace, p, *latest))
        return true;
    *latest = p;
    return false;
}

bool sent_order_differs(const struct trace *trace, const struct recorded_direction *recorded)
{
    const struct trace_packet *latest[2] = {NULL, NULL}; /* latest request, latest response */

    for (size_t i = 0; i < recorded->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[recorded->pkt[i]];

        if (overtaken(trace, p, &latest[roce_opcode_is_response(roce_opcode(p->opcode))]))
            return true;
    }
    return false;
}

void sent_order_restore(struct inferred_setup *s, bool responses)
{
    const struct trace_packet *latest = NULL;
    uint64_t steps = STEPS_MIN + STEPS_EACH * (uint64_t)s->event_cnt;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event moved = s->event[i];
        uint32_t to = i;

        if (moved.response != responses || !overtaken(s->trace, event_packet(s, i), &latest))
            continue;
        for (uint32_t k = i; k-- > 0 && i - k <= MOVE_MAX && steps > 0; steps--) {
            if (s->event[k].response != responses || event_packet(s, k)->dropped)
                continue;
            if (trace_sent_before(s->trace, event_packet(s, i), event_packet(s, k)))
                to = k;
            else if (event_packet(s, k)->flow == event_packet(s, i)->flow)
                break; /* the packets before this one are in order already */
        }
        moved.sent_at = s->event[to].sent_at;
        memmove(&s->event[to + 1], &s->event[to], (i - to) * sizeof(moved));
        s->event[to] = moved;
    }
}
