/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_response_case.h"

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
    const struct roce_opcode *op = event_opcode(s, event);

    return roce_opcode_has(op, ROCE_HDR_AETH) &&
           !(op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST);
}

bool sends_nak_at(const struct response_case *c, int64_t rel)
{
    return c->ours && c->ours->rel == rel && response_is_nak(c->ours->opcode, c->ours->syndrome);
}
