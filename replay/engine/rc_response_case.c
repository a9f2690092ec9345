/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_response_case.h"

#include "engine/rc_match.h"

bool counts_messages(const struct inferred_setup *s, uint32_t event)
{
    const struct roce_opcode *op = event_opcode(s, event);

    return roce_opcode_has(op, ROCE_HDR_AETH) &&
           !(op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST);
}

bool sends_nak_at(const struct response_case *c, int64_t rel)
{
    return c->ours && c->ours->rel == rel && rc_match_is_nak(c->ours->opcode, c->ours->syndrome);
}
