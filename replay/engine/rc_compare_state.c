/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_compare_state.h"

int64_t view_epsn(const struct view *v)
{
    return v->moved ? v->run->progress[v->moved - 1].epsn : v->run->setup.first;
}

uint32_t view_msn(const struct view *v)
{
    return v->moved ? v->run->progress[v->moved - 1].msn : v->run->setup.msn;
}

bool view_fetches(const struct setup *s, uint32_t step)
{
    const struct roce_opcode *op = roce_opcode(setup_packet(s, step)->opcode);

    return trace_draws_read_response(op->kind) || roce_opcode_is_atomic(op);
}
