/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_response_case.h"

#include "util/lower_bound.h"
#include "wire/codes.h"

bool event_fetches(const struct inferred_setup *s, uint32_t event)
{
    const struct roce_opcode *op = roce_opcode(event_packet(s, event)->opcode);

    return trace_draws_read_response(op->kind) || roce_opcode_is_atomic(op);
}

bool response_is_nak(uint8_t opcode, uint8_t syndrome)
{
    return roce_opcode(opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(syndrome) != ROCE_SYN_ACK;
}

bool counts_messages(const struct inferred_setup *s, uint32_t event)
{
    return trace_counts_messages(event_opcode(s, event));
}

bool copy_may_be_late(const struct response_case *c, int64_t rel)
{
    const struct inferred_setup *s = setup_of(c);

    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        if (s->event[i].lost && s->event[i].rel == rel)
            return true;
    return false;
}

const struct epsn_advance *last_advance(const struct rc_direction *dir, uint32_t event)
{
    size_t low = 0, high = dir->advance_cnt;

    LOWER_BOUND(low, high, mid, dir->advance[mid].event < event);
    return low > 0 ? &dir->advance[low - 1] : NULL;
}

bool sends_nak_at(const struct response_case *c, int64_t rel)
{
    return c->ours && c->ours->rel == rel && response_is_nak(c->ours->opcode, c->ours->syndrome);
}
