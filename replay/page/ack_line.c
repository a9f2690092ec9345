/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/ack_line.h"

void ack_line_find(const struct packet_runs *runs, unsigned direction,
                   void (*on_ack)(void *user, const struct packet_run *run, int64_t psn),
                   void *user)
{
    const struct packet_run *before = NULL;
    int64_t psn = 0, acked = INT64_MIN;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        const bool answers = packet_run_is_answer(run),
                   refuses = run->class == RUN_NAK || run->class == RUN_RNR_NAK;

        if (!packet_run_is_in(run, direction))
            continue;
        psn += before ? roce_psn_diff(roce_psn_of(run->psn), roce_psn_of(before->psn)) : 0;
        before = run;
        if (!(answers || refuses) || psn + (answers ? run->span : 0) <= acked)
            continue;
        acked = psn + (answers ? run->span : 0);
        on_ack(user, run, acked);
    }
}

const struct packet_run *ack_line_end(const struct packet_runs *runs, unsigned direction)
{
    const struct packet_run *before = NULL, *last = NULL;
    int64_t psn = 0, acked = INT64_MIN, sent = INT64_MIN;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        int64_t end;

        if (!packet_run_is_in(run, direction) || run->class == RUN_DROPPED)
            continue;
        psn += before ? roce_psn_diff(roce_psn_of(run->psn), roce_psn_of(before->psn)) : 0;
        before = run;
        end = psn + run->span;
        if (packet_run_is_request(run))
            sent = end > sent ? end : sent;
        if (packet_run_is_answer(run))
            acked = end > acked ? end : acked;
        if (packet_run_is_answer(run) || run->class == RUN_REPEATED_RESPONSE)
            last = run;
    }
    return acked >= sent ? last : NULL;
}
