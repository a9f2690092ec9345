/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/packet_log.h"

#include <stdlib.h>
#include "util/sort.h"

bool event_is_nak_code(const struct inferred_setup *s, uint32_t event, enum roce_nak code)
{
    return event_is_syndrome(s, event, ROCE_SYN_NAK) &&
           roce_syndrome_code(event_packet(s, event)->syndrome) == code;
}

bool event_is_fatal_nak(const struct inferred_setup *s, uint32_t event)
{
    return event_is_syndrome(s, event, ROCE_SYN_NAK) &&
           !event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);
}

bool event_in_time(const struct inferred_setup *s, uint32_t answer, uint32_t request)
{
    return event_time(s, answer) - event_time(s, request) >= s->min_response_ns;
}

static int copy_cmp(const void *a, const void *b)
{
    const struct request_copy *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    if (x->damaged != y->damaged)
        return x->damaged ? 1 : -1;
    return (x->event > y->event) - (x->event < y->event);
}

struct request_copy *packet_log_copies(const struct inferred_setup *s, bool usable_only,
                                       size_t *cnt)
{
    struct request_copy *copy = malloc((s->event_cnt + 1) * sizeof(*copy));

    *cnt = 0;
    for (uint32_t i = 0; copy && i < s->event_cnt; i++) {
        const struct pkt_event *e = &s->event[i];

        if (!e->response && e->rel >= s->first && (e->usable || !usable_only))
            copy[(*cnt)++] = (struct request_copy){e->rel, i, !usable_only && e->damaged};
    }
    if (copy)
        sort_if_needed(copy, *cnt, sizeof(*copy), copy_cmp);
    return copy;
}
