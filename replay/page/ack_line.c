/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/ack_line.h"

#include "page/psn_axis.h"

void ack_line_find(const struct packet_runs *runs, unsigned direction,
                   void (*on_ack)(void *user, const struct packet_run *run, int64_t psn),
                   void *user)
{
    struct psn_axis axis = psn_axis_begin(runs, direction);
    int64_t acked = INT64_MIN;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        const bool answers = packet_run_is_answer(run),
                   refuses = run->class == RUN_NAK || run->class == RUN_RNR_NAK;
        int64_t psn;

        if (!packet_run_is_in(run, direction))
            continue;
        psn = psn_axis_next(&axis, run);
        if (packet_run_begins_use(run))
            acked = INT64_MIN;
        if (!(answers || refuses) || psn + (answers ? run->span : 0) <= acked)
            continue;
        acked = psn + (answers ? run->span : 0);
        on_ack(user, run, acked);
    }
}

const struct packet_run *ack_line_end(const struct packet_runs *runs, unsigned direction)
{
    struct psn_axis axis = psn_axis_begin(runs, direction);
    const struct packet_run *last = NULL;
    int64_t acked = INT64_MIN, sent = INT64_MIN;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        int64_t end;

        if (!packet_run_is_in(run, direction) || run->class == RUN_DROPPED)
            continue;
        end = psn_axis_next(&axis, run) + run->span;
        if (packet_run_begins_use(run))
            acked = sent = INT64_MIN;
        if (packet_run_is_request(run))
            sent = end > sent ? end : sent;
        if (packet_run_is_answer(run))
            acked = end > acked ? end : acked;
        if (packet_run_is_answer(run) || run->class == RUN_REPEATED_RESPONSE)
            last = run;
    }
    return acked >= sent ? last : NULL;
}
