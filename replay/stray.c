/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "stray.h"

#include <stdio.h>
#include <string.h>
#include "fields.h"

/* Whether the capture has an answer with this PSN among the side's own. */
static bool answered(const struct setup *s, int64_t rel)
{
    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (s->step[i].response && s->step[i].rel == rel)
            return true;
    return false;
}

/* A packet that fits no connection, but is just what our RNIC answered at that moment except for
 * its destination QP or its opcode. */
int stray_compare(struct comparison *cmp, struct drive *drive, uint32_t idx)
{
    const struct trace *trace = drive->trace;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    bool response =
        trace_acknowledged(flow->svc) && roce_opcode_is_response(roce_opcode(p->opcode));

    if (p->dropped)
        return 0; /* the network did that to it */
    for (uint32_t r = 0; r < drive->run_cnt; r++) {
        struct run *run = &drive->run[r];
        size_t low = 0, high = run->answer_cnt;

        if (cmp->result[r].skip || trace->flow[run->setup.side->resp_flow].hosts != flow->hosts ||
            (!response && flow->dest_qp != run->setup.peer_qpn))
            continue;
        while (low < high) {
            size_t mid = low + (high - low) / 2;

            if (run->setup.step[run->answer[mid].step].pkt < idx)
                low = mid + 1;
            else
                high = mid;
        }
        for (size_t i = low; i-- > 0 && low - i <= COMPARE_RECENT;) {
            struct answer *a = &run->answer[i];
            struct diff diff = {.run = r, .pkt = idx, .request = run->setup.step[a->step].pkt};
            const struct field_diff *which;
            struct field_diffs d;

            if (a->used || a->psn != p->psn)
                continue;
            fields_compare(p, a, run->setup.read_first_msn, &d);
            which = fields_find(&d, response ? "bth.dest_qp" : "bth.opcode");
            /* Nothing was derived from it, so that more may differ; but then it must be the one
             * answer that is missing. */
            if (!which || (response && d.cnt > 1 &&
                           ((d.cnt > 2 && flow->cnt > 1) || answered(&run->setup, a->rel))))
                continue;
            diff.field = which->field;
            memcpy(diff.expected, which->expected, sizeof(diff.expected));
            memcpy(diff.actual, which->actual, sizeof(diff.actual));
            snprintf(diff.reason, sizeof(diff.reason),
                     "it fits no connection, but is what our RNIC answered but for this");
            a->used = true;
            cmp->result[r].diff_frames++;
            return comparison_add(cmp, &diff);
        }
    }
    return 0;
}
