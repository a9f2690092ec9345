/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/row.h"

enum monitor_state monitor_state(const struct monitor_row *row)
{
    const struct monitor_counts *s = &row->step;

    if (row->end != MONITOR_OK)
        return row->end;
    if (s->retransmitted || s->missing || s->rnr_naks || s->naks || s->damaged)
        return MONITOR_TROUBLE;
    return s->packets ? MONITOR_OK : MONITOR_IDLE;
}

const char *monitor_state_name(enum monitor_state state)
{
    static const char *const names[] = {"ok", "idle", "trouble", "closed", "failed"};

    return names[state];
}
